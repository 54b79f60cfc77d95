"""Which files a path, a folder or a glob means, and the partition values that stand in their
folders' names.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote

from dprap.errors import DataError

_HIVE = re.compile(r"([^=/]+)=([^/]*)")
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

LEDGER_SUFFIX = ".dprap"
"""Folders of this ending hold ledgers (`dprap.privacy.ledger.default_location`) and are never read
as data.
"""


@dataclass(frozen=True)
class DataFile:
    """One file of a table, as it was when the table was opened."""

    path: Path
    shown: str
    """The path for messages: partition values are values of records, so they are left out."""
    partitions: tuple[tuple[str, str | None], ...]
    """Columns that stand in the names of the folders, with their value in this file."""
    size: int
    modified_ns: int

    def require_unchanged(self) -> None:
        """Raise DataError unless size and time of the file are what they were."""
        if _size_and_time(self.path, self.shown) != (self.size, self.modified_ns):
            raise changed(self.shown)


def changed(shown: str) -> DataError:
    """The error for data that are not what was checked."""
    return DataError(
        f"{shown}: changed while it was in use. Nothing was charged for it: start again on data at"
        " rest."
    )


def find_files(location: str | Path) -> list[DataFile]:
    """The files of a table, in the order of their paths: one file, all below a folder, or all that
    match a glob.

    Below a folder, names that start with a dot or an underscore are no data (`_SUCCESS`,
    `.part.crc`), nor are folders of ledgers.
    """
    root = Path(location)
    if root.is_dir():
        found = [(path, root) for path in _below(root)]
    elif not root.exists() and glob.has_magic(str(location)):
        base = _fixed_part(root)
        matches = sorted(base.glob(str(root.relative_to(base))))
        paths = {
            path: None
            for match in matches
            for path in (_below(match) if match.is_dir() else [match])
        }
        found = [(path, base) for path in paths if not _is_hidden(path.relative_to(base))]
    else:
        found = [(root, root.parent)]
    if not found:
        raise DataError(f"{location}: holds no CSV or Parquet file. Check the path.")
    return [_data_file(path, base) for path, base in found]


def table_root(location: str | Path) -> Path:
    """The file or folder that a table lives in: the path itself, or the fixed part of a glob."""
    root = Path(location)
    try:
        exists = root.exists()
    except OSError as error:
        raise DataError(
            f"{str(location)[:60]}…: cannot be read ({error.strerror}). Check the path."
        ) from None
    return _fixed_part(root) if not exists and glob.has_magic(str(location)) else root


def would_read(location: str | Path, written: str | Path) -> bool:
    """Whether a folder or glob would take a file or folder that is about to be written, or what it
    will hold, for a part of the table.

    >>> would_read("/data/*.csv", "/data/out"), would_read("/data/*", "/data/out")
    (False, True)
    """
    root, base = Path(location), table_root(location)
    if not root.is_dir() and base == root:
        return False
    top, place = (Path(os.path.realpath(path)) for path in (base, written))
    if not place.is_relative_to(top) or _is_hidden(place.relative_to(top)):
        return False
    return _leads_to(root.relative_to(base).parts, place.relative_to(top).parts)


def _leads_to(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether a glob may match a path, a folder that it lies in, or something in it."""
    if not pattern or not path:
        return True
    if pattern[0] == "**":
        return _leads_to(pattern[1:], path) or _leads_to(pattern, path[1:])
    return fnmatch(path[0], pattern[0]) and _leads_to(pattern[1:], path[1:])


def _below(folder: Path) -> list[Path]:
    paths = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]
    return sorted(path for path in paths if not _is_hidden(path.relative_to(folder)))


def _is_hidden(relative: Path) -> bool:
    is_marked = any(
        part.startswith((".", "_")) and not _HIVE.fullmatch(part) for part in relative.parts
    )
    return is_marked or any(part.endswith(LEDGER_SUFFIX) for part in relative.parts)


def _fixed_part(pattern: Path) -> Path:
    """The folder above the first part of a pattern that has a wildcard."""
    parts: list[str] = []
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            break
        parts.append(part)
    return Path(*parts)


def hive_value(folder: str) -> tuple[str, str | None] | None:
    """The column and value in the name of a folder, or None where the name has none.

    >>> hive_value("region=a%20b"), hive_value("2024")
    (('region', 'a b'), None)
    """
    hive = _HIVE.fullmatch(folder)
    return hive and (unquote(hive[1]), None if hive[2] == _HIVE_NULL else unquote(hive[2]))


def _data_file(path: Path, base: Path) -> DataFile:
    relative = path.relative_to(base)
    partitions = []
    shown = []
    for part in relative.parts[:-1]:
        hive = hive_value(part)
        if hive:
            partitions.append(hive)
        shown.append(f"{part.partition('=')[0]}=…" if hive else part)
    text = str(Path(base, *shown, relative.name))
    size, modified = _size_and_time(path, text)
    return DataFile(path, text, tuple(partitions), size, modified)


def _size_and_time(path: Path, shown: str) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DataError(f"{shown}: there is no such file. Check the path.") from None
    except OSError as error:
        raise DataError(
            f"{shown}: cannot be read ({error.strerror}). Check its permissions."
        ) from None
    return status.st_size, status.st_mtime_ns
