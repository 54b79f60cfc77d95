"""What a front end may show the steward of a private table before there is a schema, and the
example to try things with.

A preview is NOT PRIVATE: it is for the steward's eyes alone, and nothing that is published follows
from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dprap.encoding.csv_dialect import recognise_csv
from dprap.encoding.tables import csv_form, is_text_file, open_csv, open_table
from dprap.errors import DataError, one_line
from dprap.schema import Schema
from dprap.schema.file_layout import Csv

_LONGEST_TEXT = 60
_LOOKED_AT_BYTES = 1 << 18


@dataclass(frozen=True)
class Preview:
    """The first records of a table as texts. NOT PRIVATE."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    form: Csv | None = None


def preview(
    table: Path, schema: Schema | None, *, csv: Mapping[str, Any] | None = None, rows: int = 6
) -> Preview:
    """The first records of a file, for the steward's eyes alone.

    Args:
        table: The file.
        schema: Its schema, which says how the file is written; None before there is one.
        csv: How a CSV file is written, where somebody knows it and there is no schema; the rest is
            recognised.
        rows: How many records.

    Returns:
        Names and records; only columns that are described where there is a schema and the file says
        their types. For a CSV file also the form in which it was read.

    Raises:
        DataError: If the file cannot be read.
    """
    form = _form_of(table, schema, csv or {})
    try:
        with _beginning_of(table) as beginning:
            return _first_records(beginning, schema, form, rows)
    except DataError:
        # a record across the cut, or something that is wrong with the file itself: its message
        # names the file
        return _first_records(table, schema, form, rows)


def _form_of(table: Path, schema: Schema | None, given: Mapping[str, Any]) -> Csv | None:
    """How a CSV file is written: as its schema says, else as somebody says, else as it looks."""
    if not is_text_file(table):
        return None
    return csv_form(table, recognise_csv(table, given) if schema is None else schema.csv)


@contextmanager
def _beginning_of(table: Path) -> Iterator[Path]:
    """A file with the first records of a long text file, so that a look does not read gigabytes;
    others as they are.
    """
    is_text = {".csv", ".tsv"} & {suffix.lower() for suffix in table.suffixes[-1:]}
    if not is_text or table.stat().st_size <= _LOOKED_AT_BYTES:
        yield table
        return
    # private, as the folder of the table is
    with TemporaryDirectory(dir=table.parent, prefix=".look-") as folder:
        part = Path(folder) / f"part{table.suffix}"
        with table.open("rb") as whole:
            part.write_bytes(whole.read(_LOOKED_AT_BYTES).rpartition(b"\n")[0] + b"\n")
        yield part


def _first_records(table: Path, schema: Schema | None, form: Csv | None, rows: int) -> Preview:
    source = open_table(table, schema, batch_rows=rows) if form is None else open_csv(table, form)
    batch = next(iter(source.read()), None)
    names = source.names if batch is None else tuple(batch.schema.names)
    if batch is None:
        return Preview(names, (), form)
    columns = [
        batch.column(position).slice(0, rows).to_pylist() for position in range(batch.num_columns)
    ]
    records = islice(zip(*columns, strict=True), rows)
    return Preview(
        names, tuple(tuple(_shown(value) for value in record) for record in records), form
    )


def _shown(value: object) -> str | None:
    text = None if value is None else one_line(str(value))
    return text if text is None or len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def is_csv(table: Path) -> bool:
    """Whether a table is a CSV file, whose form may be told."""
    return is_text_file(table)


def write_example(path: Path, rows: int) -> None:
    """Write the embedded, invented table as a CSV file."""
    from dprap.datasets import example, example_schema
    from dprap.encoding.write_tables import write_table

    write_table(example(rows), path, example_schema())
