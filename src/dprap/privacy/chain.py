"""An append-only file of JSON lines in which each line seals all before it.

Every line carries the hash of its predecessor, and a small file beside it, `NAME.head`, remembers how many lines there were, so
an edited, reordered or shortened file is noticed. A line is on the disk before `append` returns. A torn last line (the
machine died while writing it) never took effect and is cut off on the next opening.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dprap.errors import LedgerError

_GENESIS = "0" * 64


class ChainedFile:
    """One locked, open chain of records. Readers use `read_chain`."""

    def __init__(self, path: Path, file: BinaryIO, records: list[dict[str, Any]], last_hash: str) -> None:
        self.path = path
        self.records = records
        self._file = file
        self._last_hash = last_hash

    @classmethod
    def open(cls, path: Path) -> ChainedFile:
        """Open for appending, creating the file if it is absent; refuse a damaged file or one that is in use."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LedgerError(f"cannot open ledger {path}: {error.strerror}.") from error
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise LedgerError(f"ledger {path} is in use by another process. Wait for it to finish.") from None
        try:
            records, last_hash, intact_bytes = _verified(path, file.read())
            file.truncate(intact_bytes)
            file.seek(intact_bytes)
            _sync_folder(path.parent)
        except BaseException:
            file.close()
            raise
        return cls(path, file, records, last_hash)

    def append(self, kind: str, body: dict[str, Any]) -> None:
        """Write one record and return only when it is durable."""
        record: dict[str, Any] = {"index": len(self.records), "kind": kind, "body": body, "previous": self._last_hash}
        record["hash"] = _hash(record)
        line = json.dumps(record, sort_keys=True, ensure_ascii=True).encode() + b"\n"
        self._file.write(line)
        os.fsync(self._file.fileno())
        self.records.append(record)
        self._last_hash = record["hash"]
        write_durably(_head_path(self.path), f"{len(self.records)} {self._last_hash}\n".encode())

    def close(self) -> None:
        """Release the lock."""
        self._file.close()


def read_chain(path: Path) -> list[dict[str, Any]]:
    """Verify a ledger file and return its records, without locking it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LedgerError(f"cannot read ledger {path}: {error.strerror}.") from error
    return _verified(path, content)[0]


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file's content; after a crash it has the old content or the new, never a mixture."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def _verified(path: Path, content: bytes) -> tuple[list[dict[str, Any]], str, int]:
    """Records, last hash and number of bytes of the intact part; raises where more than a torn last line is wrong."""
    intact, _, _torn = content.rpartition(b"\n")
    records: list[dict[str, Any]] = []
    last_hash = _GENESIS
    lines = intact.split(b"\n") if intact else []
    for number, line in enumerate(lines):
        record = _record(line)
        if (
            record is None
            or record.get("index") != number
            or record.get("previous") != last_hash
            or record.get("hash") != _hash(record)
        ):
            raise LedgerError(
                f"ledger {path} is damaged at line {number + 1}: it was edited or corrupted. Nothing more will be spent "
                "from it; restore it from a backup."
            )
        records.append(record)
        last_hash = record["hash"]
    _check_head(path, records)
    return records, last_hash, len(intact) + 1 if intact else 0


def _check_head(path: Path, records: list[dict[str, Any]]) -> None:
    """Compare with the head file, which is written after each line: it may lag behind by one line, never lead."""
    try:
        count_text, head_hash = _head_path(path).read_text().split()
        count = int(count_text)
    except FileNotFoundError:
        # The head appears after the first line; more lines than that without a head mean it was taken away.
        if len(records) <= 1:
            return
        count, head_hash = -1, ""
    except ValueError:
        count, head_hash = -1, ""
    in_step = 1 <= count <= len(records) <= count + 1 and records[count - 1]["hash"] == head_hash
    if not in_step:
        raise LedgerError(
            f"ledger {path} is shorter than it was or not the one its head file {_head_path(path).name} belongs to. "
            "Nothing more will be spent from it; restore both from a backup."
        )


def _record(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        record = json.loads(line)
        if isinstance(record, dict):
            return record
    return None


def _hash(record: dict[str, Any]) -> str:
    sealed = {key: value for key, value in record.items() if key != "hash"}
    return hashlib.sha256(json.dumps(sealed, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _head_path(path: Path) -> Path:
    return path.with_name(path.name + ".head")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[ChainedFile]:
    """Open a chain for the length of a `with` block."""
    chain = ChainedFile.open(path)
    try:
        yield chain
    finally:
        chain.close()
