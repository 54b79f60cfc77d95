"""Quotes in CSV files, checked before a file is read.

Arrow's reader takes a quote that is never closed, and text behind a closing quote. Both move the
ends of records: one bad record would then take in others, and change how they are read. A file in
which that happens is refused as a whole.
"""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from dprap.errors import DataError

# Arrow refuses longer records, so a longer field is a quote that was left open.
_LONGEST_FIELD = 1 << 21

_CHUNK_BYTES = 1 << 22


def check_quotes(path: Path, delimiter: str) -> None:
    """Refuse a CSV file with a quote that is left open, or with text behind a closing quote.

    Raises:
        DataError: if there is one; the message has no value of the file.

    """
    facts = path.stat()
    _check(path, delimiter, (facts.st_size, facts.st_mtime_ns, facts.st_ino))


# A file is opened once for each pass over it, and its quotes need to be looked at once.
@lru_cache(maxsize=1 << 12)
def _check(path: Path, delimiter: str, version: tuple[int, int, int]) -> None:  # noqa: ARG001
    if not _has_quotes(path):
        return
    with pa.input_stream(path) as raw:  # decompresses .gz and the like
        lines = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="")
        previous = csv.field_size_limit(_LONGEST_FIELD)
        try:
            for _ in csv.reader(lines, delimiter=delimiter, strict=True):
                pass
        except csv.Error:
            raise DataError(
                f"{path}: has a quote that is not closed, or text behind a closing quote. Close quotes before "
                "the delimiter, and double those inside a field."
            ) from None
        finally:
            csv.field_size_limit(previous)


def _has_quotes(path: Path) -> bool:
    with pa.input_stream(path) as raw:
        while chunk := raw.read(_CHUNK_BYTES):
            if b'"' in chunk:
                return True
    return False
