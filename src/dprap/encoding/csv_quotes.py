"""Quotes in CSV files, checked before a file is read.

Arrow's reader takes a quote that is never closed, and text behind a closing quote. Both move the
ends of records: one bad record would then take in others, and change how they are read. A file in
which that happens is refused as a whole.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from dprap.errors import DataError
from dprap.schema.file_layout import Csv

# Arrow refuses longer records, so a longer field is a quote that was left open.
_LONGEST_FIELD = 1 << 21

_CHUNK_BYTES = 1 << 22


def check_quotes(path: Path, form: Csv) -> None:
    """Refuse a CSV file with a quote that is left open, or with text behind a closing quote.

    Raises:
        DataError: if there is one; the message has no value of the file.

    """
    facts = path.stat()
    _check(path, form.model_dump_json(), (facts.st_size, facts.st_mtime_ns, facts.st_ino))


def check_line_quotes(lines: pa.Array, delimiter: str, shown: str) -> None:
    """Refuse CSV lines with a quote that is left open at the line's end, or with text behind a
    closing quote.

    Raises:
        DataError: if there is one; the message has no value of the table.
    """
    with_quotes = lines.filter(pc.match_substring(lines.cast(pa.binary()), '"'))
    with _strict():
        try:
            for line in with_quotes.cast(pa.binary()).to_pylist():
                for _ in csv.reader(
                    [line.decode("utf-8", "replace")], delimiter=delimiter, strict=True
                ):
                    pass
        except csv.Error:
            raise DataError(
                f"{shown}: has a line whose quotes are not closed, or text behind a closing quote."
                " Here a line is a record: write line breaks inside fields otherwise, or convert"
                " the table to Parquet."
            ) from None


# A file is opened once for each pass over it, and its quotes need to be looked at once.
@lru_cache(maxsize=1 << 12)
def _check(path: Path, settings: str, version: tuple[int, int, int]) -> None:  # noqa: ARG001
    form = Csv.model_validate_json(settings)
    if not _has_quotes(path, form.quote.encode()):
        return
    with pa.input_stream(path) as raw, _strict():  # decompresses .gz and the like
        lines = io.TextIOWrapper(raw, encoding=form.encoding, errors="replace", newline="")
        for _ in range(form.skip_lines):
            lines.readline()
        try:
            for _ in csv.reader(lines, delimiter=form.delimiter, quotechar=form.quote, strict=True):
                pass
        except csv.Error:
            raise DataError(
                f"{path}: has a quote that is not closed, or text behind a closing quote. Close"
                " quotes before the delimiter, and double those inside a field."
            ) from None


@contextmanager
def _strict() -> Iterator[None]:
    previous = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(previous)


def _has_quotes(path: Path, quote: bytes) -> bool:
    with pa.input_stream(path) as raw:
        while chunk := raw.read(_CHUNK_BYTES):
            if quote in chunk:
                return True
    return False
