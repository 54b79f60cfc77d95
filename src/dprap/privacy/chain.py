"""An append-only file of JSON lines in which each line seals all before it.

Every line carries the hash of its predecessor, and a small file beside it, `NAME.head`, remembers how many lines there were, so
an edited, reordered or shortened file is noticed. A line and then the head are on the disk before `append` returns. A
torn last line (the machine died while writing it) never took effect and is cut off on the next opening.

The hashes have no key: they reveal accidents and careless edits, not a forger who computes all of them anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from dprap.errors import LedgerError

_GENESIS = "0" * 64

_LINE_START = b'{"body": {'
# Every line begins like this (keys are sorted). A last line that does not is no torn line of ours.

_READ_ATTEMPTS = 100


class ChainedFile:
    """One locked, open chain of records. Readers use `read_chain`."""

    def __init__(self, path: Path, file: BinaryIO, records: list[dict[str, Any]], last_hash: str) -> None:
        self.path = path
        self.records = records
        self._file = file
        self._last_hash = last_hash
        self._usable = True

    @classmethod
    def open(cls, path: Path) -> ChainedFile:
        """Open for appending, creating the file if it is absent; refuse a damaged file or one that is in use."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerError(f"cannot open ledger {path}: {error.strerror}.") from error
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise LedgerError(f"ledger {path} is in use by another process. Wait for it to finish.") from None
        try:
            head = _read_head(path)
            records, last_hash, intact_bytes = _verified(path, file.read(), head)
            file.truncate(intact_bytes)
            file.seek(intact_bytes)
            _sync_folder(path.parent)
            if records and head != _head(records[-1]):
                # A crash came between a line and its head. Left behind, the head would lag by two after the next one.
                write_durably(_head_path(path), _head(records[-1]))
        except BaseException:
            file.close()
            raise
        return cls(path, file, records, last_hash)

    def append(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        """Write one record and return it only when it is durable.

        Whatever goes wrong on the way (disk full, a file system that went read-only) ends the use of this chain: how much
        reached the disk is then unknown, and only a new opening can tell.
        """
        if not self._usable:
            raise LedgerError(f"ledger {self.path} is closed or could not be written to before. Open it again.")
        record: dict[str, Any] = {"index": len(self.records), "kind": kind, "body": body, "previous": self._last_hash}
        record["hash"] = _hash(record)
        line = _canonical(record) + b"\n"
        self._usable = False
        try:
            while line:  # an unbuffered write may take a part only
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
            write_durably(_head_path(self.path), _head(record))
        except OSError as error:
            raise LedgerError(f"cannot write ledger {self.path}: {error.strerror}. Nothing was drawn.") from error
        self._usable = True
        self.records.append(record)
        self._last_hash = record["hash"]
        return record

    def close(self) -> None:
        """Release the lock."""
        self._usable = False
        self._file.close()


def read_chain(path: Path) -> list[dict[str, Any]]:
    """Verify a ledger file and return its records, without locking it, also while a run is writing to it."""
    for _ in range(_READ_ATTEMPTS):
        try:
            head = _read_head(path)
            content = path.read_bytes()
        except OSError as error:
            raise LedgerError(f"cannot read ledger {path}: {error.strerror}.") from error
        if _read_head(path) == head:  # else a run wrote in between, and the two need not belong together
            return _verified(path, content, head)[0]
    raise LedgerError(f"ledger {path} is being written to all the time. Try again.")


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file's content; after a crash it has the old content or the new, never a mixture."""
    temporary = path.with_name(path.name + ".part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def _verified(path: Path, content: bytes, head: bytes | None) -> tuple[list[dict[str, Any]], str, int]:
    """Records, last hash and number of bytes of the intact part; raises where more than a torn last line is wrong."""
    intact, newline, torn = content.rpartition(b"\n")
    if torn[: len(_LINE_START)] != _LINE_START[: len(torn)]:
        raise LedgerError(f"{path} is not a ledger, or its end was overwritten. It was left as it is.")
    records: list[dict[str, Any]] = []
    last_hash = _GENESIS
    for number, line in enumerate(intact.split(b"\n") if newline else []):
        record = _record(line)
        if (
            record is None
            or record.get("index") != number
            or record.get("previous") != last_hash
            or record.get("hash") != _hash(record)
            or line != _canonical(record)
        ):
            raise LedgerError(
                f"ledger {path} is damaged at line {number + 1}: it was edited or corrupted. Nothing more will be spent "
                "from it; restore it from a backup."
            )
        records.append(record)
        last_hash = record["hash"]
    _check_head(path, records, head)
    return records, last_hash, len(intact) + len(newline)


def _check_head(path: Path, records: list[dict[str, Any]], head: bytes | None) -> None:
    """Compare with the head file, which is written after each line: it may lag behind by one line, never lead."""
    if head is None and len(records) <= 1:
        return  # the head appears after the first line; more lines than that without a head mean it was taken away
    count, head_hash = -1, ""
    with contextlib.suppress(ValueError):
        count_text, head_hash = (head or b"").decode("ascii").split()
        count = int(count_text)
    in_step = 1 <= count <= len(records) <= count + 1 and records[count - 1]["hash"] == head_hash
    if not in_step:
        raise LedgerError(
            f"ledger {path} is shorter than it was or not the one its head file {_head_path(path).name} belongs to. "
            "Nothing more will be spent from it; restore both from a backup."
        )


def _read_head(path: Path) -> bytes | None:
    try:
        return _head_path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"cannot read {_head_path(path)}: {error.strerror}.") from error


def _record(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):
        record = json.loads(line)
        if isinstance(record, dict):
            _canonical(record)  # raises for numbers that are not finite, which no line of ours has
            return record
    return None


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def _hash(record: dict[str, Any]) -> str:
    sealed = {key: value for key, value in record.items() if key != "hash"}
    return hashlib.sha256(json.dumps(sealed, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _head(last: dict[str, Any]) -> bytes:
    return f"{last['index'] + 1} {last['hash']}\n".encode()


def _head_path(path: Path) -> Path:
    return path.with_name(path.name + ".head")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
