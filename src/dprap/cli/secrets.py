"""Passwords on the command line: used by this process, and taken out before anything can keep or
show them.

A password in an address is on the screen, in the shell's history and, for everybody on the machine,
in the list of processes. dprap cannot undo the first two. It moves the password to the environment
of its own process, hands the commands an address without it (so that no message, job file or
traceback has it), and blots it out of the list.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dprap.address import is_address, looks_like_address, split_secrets
from dprap.errors import SettingsError

_ARGUMENTS_START, _ARGUMENTS_END = 47, 48
"""Places of the two addresses in /proc/self/stat, counted from 0: proc(5) counts from 1."""


@contextmanager
def passwords_taken(arguments: list[str]) -> Iterator[None]:
    """Take passwords out of the arguments, in place, and give them to the database driver by
    PGPASSWORD meanwhile.

    Raises:
        SettingsError: for an address that cannot be read, or has a secret other than a password; it
            is not quoted.
    """
    positions = [number for number, text in enumerate(arguments) if _is_address(text)]
    if not positions:
        yield
        return
    _hide_arguments([arguments[number] for number in positions])
    password = None
    for number in positions:
        arguments[number], found = _split(arguments[number])
        password = found or password
    previous = os.environ.get("PGPASSWORD")
    try:
        if password is not None:
            os.environ["PGPASSWORD"] = password
        yield
    finally:
        if password is not None:
            os.environ.pop("PGPASSWORD")
            os.environ |= {} if previous is None else {"PGPASSWORD": previous}


def _is_address(text: str) -> bool:
    return is_address(text) or (looks_like_address(text) and "@" in text)


def _split(address: str) -> tuple[str, str | None]:
    from dprap.cli.output import note

    clean, secrets = split_secrets(address)
    if set(secrets) - {"password"}:
        raise SettingsError(
            "a database address on the command line may not hold keys. Put them into a service"
            " file."
        )
    if secrets:
        note(
            "the address holds a password, which others on this machine may have seen. It is used"
            " now and not kept; next time give it by PGPASSWORD, a password file or a service."
        )
    return clean, secrets.get("password")


def _hide_arguments(texts: list[str]) -> None:
    """Overwrite these texts where the system keeps the arguments of this process, on Linux;
    elsewhere nothing.
    """
    import ctypes

    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        # the name of the program, before the parenthesis, may hold blanks: it and the number before
        # it are not counted
        start, end = (int(fields[place - 2]) for place in (_ARGUMENTS_START, _ARGUMENTS_END))
        shown = Path("/proc/self/cmdline").read_bytes()
        if not 0 < start < end or len(shown) != end - start:
            return
        for text in texts:
            at = shown.find(os.fsencode(text))
            if at >= 0 and sys.platform == "linux":
                ctypes.memset(start + at, ord("*"), len(os.fsencode(text)))
