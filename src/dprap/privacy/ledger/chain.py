"""An append-only file of JSON lines in which each line seals all before it.

Every line carries the hash of its predecessor, and a small file beside it, `NAME.head`, remembers
how many lines there were, so an edited, reordered or shortened file is noticed. A line and then the
head are on the disk before `append` returns. A torn last line (the machine died while writing it)
never took effect and is cut off on the next opening.

The hashes have no key: they reveal accidents and careless edits, not a forger who computes all of
them anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from dprap.errors import LedgerError

_GENESIS = "0" * 64

_LINE_START = b'{"body": {'
# Every line begins like this (keys are sorted). A last line that does not is no torn line of ours.

_KEYS = {"index", "kind", "body", "previous", "hash"}

_READ_ATTEMPTS = 100

# Said wherever a user is told to restore a ledger.
RESTORE = (
    "Restore the newest copy of all its files: an older one goes unnoticed without an anchor, and"
    " forgets charges."
)

Head = tuple[int, str]
"""How many lines a chain has, and the hash of the last one."""


class ChainedFile:
    """One locked, open chain of records. Readers use `read_chain`."""

    def __init__(
        self,
        path: Path,
        file: BinaryIO,
        records: list[dict[str, Any]],
        size: int,
        *,
        is_new: bool,
        folder_is_new: bool,
    ) -> None:
        self.path = path
        self.records = records
        self.is_new = is_new
        """Whether this opening created the file."""
        self._file = file
        self._size = size
        self._folder_is_new = folder_is_new
        self._usable = True

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> ChainedFile:
        """Open for appending; refuse a damaged file or one that is in use.

        Args:
            path: The file of the chain.
            create: Whether to create the file, and its folder, if it is absent.

        """
        try:
            folder_is_new = create and not path.parent.exists()
            if folder_is_new:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file, is_new = _locked(path, create=create)
        except OSError as error:
            raise LedgerError(
                f"cannot open ledger {path}: {error.strerror}. Name a file in a place that can be"
                " written to: --ledger FILE."
            ) from error
        try:
            head = _read_head(path)
            content = file.read()
            # another process may have been faster with its first lines
            is_new = is_new and not content
            records, intact_bytes = _verified(path, content, head)
            file.truncate(intact_bytes)
            file.seek(intact_bytes)
            sync_folder(path.parent)
            if records and head != _head(records[-1]):
                # A crash came between a line and its head. Left behind, the head would lag by two
                # after the next one.
                write_durably(_head_path(path), _head(records[-1]))
        except BaseException:
            if is_new and os.fstat(file.fileno()).st_size == 0:
                path.unlink(missing_ok=True)
            file.close()
            raise
        return cls(path, file, records, intact_bytes, is_new=is_new, folder_is_new=folder_is_new)

    @property
    def head(self) -> Head:
        """The number of lines and the hash of the last one."""
        return len(self.records), self.records[-1]["hash"] if self.records else _GENESIS

    @property
    def is_usable(self) -> bool:
        """Whether the last line was written whole, so that the file and the records agree."""
        return self._usable

    def holds(self, head: Head) -> bool:
        """Whether the chain had this head at some time."""
        count, last_hash = head
        return count == 0 or (
            count <= len(self.records) and self.records[count - 1]["hash"] == last_hash
        )

    def remove(self) -> None:
        """Delete the file, its head and, if this opening created it, its folder.

        For a chain that says nothing yet.
        """
        self.path.unlink(missing_ok=True)
        _head_path(self.path).unlink(missing_ok=True)
        if self._folder_is_new:
            with contextlib.suppress(OSError):  # something of somebody else's is in it
                self.path.parent.rmdir()

    def append(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        """Write one record and return it only when it is durable.

        Whatever goes wrong on the way (disk full, a file system that went read-only) ends the use
        of this chain: how much reached the disk is then unknown, and only a new opening can tell.
        """
        if not self._usable:
            raise LedgerError(
                f"ledger {self.path} is closed or could not be written to before. Open it again."
            )
        self._require_in_place()
        record: dict[str, Any] = {
            "index": len(self.records),
            "kind": kind,
            "body": body,
            "previous": self.head[1],
        }
        record["hash"] = _hash(record)
        line = _canonical(record) + b"\n"
        size = self._size + len(line)
        self._usable = False
        try:
            while line:  # an unbuffered write may take a part only
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
            write_durably(_head_path(self.path), _head(record))
        except OSError as error:
            raise LedgerError(
                f"cannot write ledger {self.path}: {error.strerror}. Make room, or mend what"
                " is wrong, and start or resume the run again."
            ) from error
        self.records.append(record)
        self._size = size
        self._require_in_place()  # else the line went into a file that nobody will read again
        self._usable = True
        return record

    def _require_in_place(self) -> None:
        """Refuse to go on with a file that was removed, replaced or written to by somebody else
        meanwhile.

        The lock keeps other processes of dprap out, not `rm`, `mv`, an editor or a restored backup.
        """
        ours = os.fstat(self._file.fileno())
        try:
            there = self.path.stat()
        except OSError:
            there = None
        expected = _head(self.records[-1]) if self.records else None
        if (
            there is None
            or (there.st_dev, there.st_ino, ours.st_size) != (ours.st_dev, ours.st_ino, self._size)
            or _read_head(self.path) != expected
        ):
            self._usable = False
            raise LedgerError(
                f"ledger {self.path} was removed, replaced or changed while it was in use. Nothing"
                f" more is spent. {RESTORE}"
            )

    def close(self) -> None:
        """Release the lock."""
        self._usable = False
        self._file.close()


def _locked(path: Path, *, create: bool) -> tuple[BinaryIO, bool]:
    """The file, open and locked, and whether it was created.

    One that was removed meanwhile is opened again.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK
    while True:
        is_new = False
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            if not create:
                raise
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600))
                is_new = True
            descriptor = os.open(path, flags)
        file = os.fdopen(descriptor, "r+b", buffering=0)
        ours = os.fstat(file.fileno())
        if not stat.S_ISREG(ours.st_mode):
            file.close()
            raise LedgerError(f"cannot open ledger {path}: it is no file.")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise LedgerError(
                f"ledger {path} is in use by another process. Wait for it to finish."
            ) from None
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == ours.st_ino:
                return file, is_new
        file.close()


def read_chain(path: Path) -> list[dict[str, Any]]:
    """Verify a ledger file and return its records, without locking it, also while a run is writing
    to it.
    """
    for _ in range(_READ_ATTEMPTS):
        try:
            head = _read_head(path)
            if path.exists() and not path.is_file():
                raise LedgerError(
                    f"cannot read ledger {path}: it is no file. Name the ledger's own file, or the"
                    " table beside which it stands."
                )
            content = path.read_bytes()
        except OSError as error:
            raise LedgerError(f"cannot read ledger {path}: {error.strerror}.") from error
        # else a run wrote in between, and the two need not belong together
        if _read_head(path) == head:
            return _verified(path, content, head)[0]
    raise LedgerError(f"ledger {path} is being written to all the time. Try again.")


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file's content; after a crash it has the old content or the new, never a
    mixture.
    """
    temporary = path.with_name(path.name + ".part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def _verified(path: Path, content: bytes, head: bytes | None) -> tuple[list[dict[str, Any]], int]:
    """Records and number of bytes of the intact part; raises where more than a torn last line is
    wrong.
    """
    intact, newline, torn = content.rpartition(b"\n")
    if torn[: len(_LINE_START)] != _LINE_START[: len(torn)]:
        raise LedgerError(
            f"{path} is not a ledger, or its end was overwritten. It was left as it is."
        )
    records: list[dict[str, Any]] = []
    last_hash = _GENESIS
    for number, line in enumerate(intact.split(b"\n") if newline else []):
        record = _record(line)
        if record is None or record["index"] != number or record["previous"] != last_hash:
            raise LedgerError(
                f"ledger {path} is damaged at line {number + 1}: it was edited or corrupted."
                f" Nothing more will be spent from it. {RESTORE}"
            )
        records.append(record)
        last_hash = record["hash"]
    _check_head(path, records, head)
    return records, len(intact) + len(newline)


def _check_head(path: Path, records: list[dict[str, Any]], head: bytes | None) -> None:
    """Compare with the head file, which is written after each line: it may lag behind by one line,
    never lead.
    """
    if head is None and len(records) <= 1:
        # the head appears after the first line; more lines than that without a head mean it was
        # taken away
        return
    count, head_hash = -1, ""
    with contextlib.suppress(ValueError):
        count_text, head_hash = (head or b"").decode("ascii").split()
        count = int(count_text)
    in_step = 1 <= count <= len(records) <= count + 1 and records[count - 1]["hash"] == head_hash
    if not in_step:
        raise LedgerError(
            f"ledger {path} is shorter than it was or not the one its head file"
            f" {_head_path(path).name} belongs to. Nothing more will be spent from it. {RESTORE}"
        )


def _read_head(path: Path) -> bytes | None:
    try:
        return _head_path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"cannot read {_head_path(path)}: {error.strerror}.") from error


def _record(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None unless it is written as we write, sealed by its own hash."""
    with contextlib.suppress(ValueError, RecursionError):
        record = json.loads(line)
        if isinstance(record, dict) and record.keys() == _KEYS and line == _canonical(record):
            return record if record["hash"] == _hash(record) else None
    return None


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def _hash(record: dict[str, Any]) -> str:
    sealed = {key: value for key, value in record.items() if key != "hash"}
    return hashlib.sha256(
        json.dumps(sealed, sort_keys=True, ensure_ascii=True).encode()
    ).hexdigest()


def _head(last: dict[str, Any]) -> bytes:
    return f"{last['index'] + 1} {last['hash']}\n".encode()


def _head_path(path: Path) -> Path:
    return Path(f"{path}.head")  # also of a path without a name, such as ".", which is no file


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
