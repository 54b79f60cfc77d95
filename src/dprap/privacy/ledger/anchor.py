"""An anchor: a place outside a ledger's folder that remembers the last line of its chain.

From inside its folder a ledger cannot see that an older copy of *all* its files was put back, or
that all of them were deleted. An anchor can: after every charge, before its noise is drawn, it is
handed the number of lines and the hash of the last one, and before the next charge it must still
say so. It is only as good as its distance: another machine, another account, a medium that the
owner of the ledger cannot turn back.

A place is a file, or `command:PROGRAM ARGUMENTS`. The program is called with one more argument:
`put` with `COUNT HASH` on its standard input, or `get`, and then prints the last such line, or
nothing. No shell is involved.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from pathlib import Path

from dprap.errors import LedgerError
from dprap.privacy.ledger.chain import Head, write_durably

_COMMAND = "command:"

# A notary over the network answers within seconds; a run must not hang on one that does not.
_COMMAND_SECONDS = 60

_LINE = re.compile(rb"([0-9]{1,12}) ([0-9a-f]{64})\n?")
_LONGEST_LINE = 12 + 1 + 64 + 1


class Anchor:
    """One place that remembers the head of a chain.

    Args:
        place: A file, or `command:PROGRAM ARGUMENTS`.
        ledger: The file of the ledger. An anchor in its folder would be lost with it, and is
            refused.

    Raises:
        LedgerError: If the place is in the ledger's folder or is no command line.
    """

    def __init__(self, place: str | Path, ledger: Path) -> None:
        text = str(place)
        self.is_command = text.startswith(_COMMAND)
        if self.is_command:
            try:
                self._command = shlex.split(text.removeprefix(_COMMAND))
            except ValueError:
                self._command = []
            if not self._command:
                raise LedgerError(
                    f"the anchor {text!r} names no program: write command:PROGRAM ARGUMENTS."
                )
            self.place = text
            return
        try:
            file = Path(os.path.realpath(text))
        except ValueError:
            raise LedgerError(
                "the anchor holds a sign that no file's name can have. Check the path."
            ) from None
        if file.is_relative_to(os.path.realpath(ledger.parent)):
            raise LedgerError(
                f"the anchor {text} stands in the ledger's folder, so it would be lost or restored"
                " together with it. Name a place outside."
            )
        self.place = str(file)

    def read(self) -> Head | None:
        """The head that the place remembers; None if it has seen none yet."""
        if self.is_command:
            content = self._call("get", b"")
        else:
            try:
                content = self._content()
            except FileNotFoundError:
                return None
            except OSError as error:
                raise LedgerError(
                    f"cannot read the anchor {self.place}: {error.strerror}."
                ) from error
        if not content.strip():
            return None
        line = _LINE.fullmatch(content)
        if line is None:
            raise LedgerError(
                f"the anchor {self.place} holds something else than a line of a ledger. It was not"
                " touched."
            )
        return int(line[1]), line[2].decode()

    def _content(self) -> bytes:
        """The beginning of the file, which is more than a line if it is no anchor."""
        # a device may have no end, and a pipe would be waited for
        if not stat.S_ISREG(os.stat(self.place).st_mode):  # noqa: PTH116 - as `os.path` above
            raise LedgerError(
                f"the anchor {self.place} is no file. Name a file, or command:PROGRAM ARGUMENTS."
            )
        with Path(self.place).open("rb") as file:
            return file.read(_LONGEST_LINE + 1)

    def write(self, head: Head) -> None:
        """Hand a head over; it is kept when this returns."""
        content = f"{head[0]} {head[1]}\n".encode()
        if self.is_command:
            self._call("put", content)
            return
        try:
            write_durably(Path(self.place), content)
        except OSError as error:
            raise LedgerError(
                f"cannot write the anchor {self.place}: {error.strerror}. Nothing was drawn."
            ) from error

    def _call(self, verb: str, content: bytes) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command, named on this call
                [*self._command, verb],
                input=content,
                capture_output=True,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            reason = (
                "it took too long"
                if isinstance(error, subprocess.TimeoutExpired)
                else "it cannot be run"
            )
            raise LedgerError(
                f"the anchor's command {self._command[0]} {verb} failed: {reason}."
            ) from error
        if done.returncode != 0:
            raise LedgerError(
                f"the anchor's command {self._command[0]} {verb} failed with code"
                f" {done.returncode}."
            )
        return done.stdout
