"""Synthetic tables to files, written as the schema's CSV files are: null texts, delimiter and date
formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from dprap.errors import DataError
from dprap.schema import Schema


def write_table(table: pa.Table, path: str | Path, schema: Schema) -> None:
    """Write a decoded table as .csv, .tsv or .parquet; encoding the file again gives the same
    codes.
    """
    write_chunks([table], path, schema)


def write_chunks(chunks: Iterable[pa.Table], path: str | Path, schema: Schema) -> None:
    """Write the chunks of a decoded table, one below the other; one at a time is in memory.

    There is at least one.
    """
    path = Path(path)
    rest = iter(chunks)
    begin = list(islice(rest, 2))
    try:
        with _writer(begin, path, schema) as write:
            for chunk in chain(begin, rest):
                write(chunk)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}). Check the folder."
        ) from None


@contextmanager
def _writer(
    begin: list[pa.Table], path: Path, schema: Schema
) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends a chunk, by the file's ending; `begin` are the first two, or the only
    one.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        with pa.parquet.ParquetWriter(path, begin[0].schema) as parquet:
            yield parquet.write_table
    elif suffix in (".csv", ".tsv"):
        options = pa.csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else schema.csv.delimiter)
        texts = (
            _as_texts(begin[0], schema).schema if len(begin) == 1 else _csv_schema(begin[0], schema)
        )
        with pa.csv.CSVWriter(path, texts, write_options=options) as text:
            yield lambda chunk: text.write_table(_as_texts(chunk, schema).cast(texts))
    else:
        raise DataError(
            f"{path}: tables are written as .csv, .tsv or .parquet. Choose one of these endings."
        )


def _csv_schema(first: pa.Table, schema: Schema) -> pa.Schema:
    """Types in which all chunks are written as text: a chunk with nulls has texts where another has
    numbers.
    """
    plain = {
        name: column.as_csv(first.column(name).slice(0, 0)).type
        for name, column in schema.columns.items()
    }
    return pa.schema(
        [
            (name, pa.string() if column.nullable and _null_text(schema, name) else plain[name])
            for name, column in schema.columns.items()
        ]
    )


def _null_text(schema: Schema, name: str) -> str:
    return next(iter(schema.null_texts(name)), "")


def _as_texts(table: pa.Table, schema: Schema) -> pa.Table:
    """The columns with what Arrow would write differently from how the schema reads it: own texts,
    formats, nulls.
    """
    columns = {}
    for name, column in schema.columns.items():
        array = column.as_csv(table.column(name))
        null_text = _null_text(schema, name)
        if array.null_count and null_text:
            array = pc.fill_null(array.cast(pa.string()), null_text)
        columns[name] = array
    return pa.table(columns)
