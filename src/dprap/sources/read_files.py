"""Files as encoded records, batch by batch: the same for every engine whose processes read files
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from dprap.array_types import CodeColumn
from dprap.encoding import check_columns, code_dtype, open_table
from dprap.encoding.column_codes import encode_column, encode_text
from dprap.encoding.tables import OfObjects, TableBatches, placed_or_guessed
from dprap.errors import DprapError
from dprap.schema import Schema
from dprap.sources.locate import DataFile

_CHUNK_BYTES = 1 << 22


def open_file(
    file: DataFile, schema: Schema, *, of_objects: OfObjects = placed_or_guessed
) -> TableBatches:
    """The table in one file, its columns checked; messages show no partition value."""
    with hidden_partitions(file):
        table = open_table(file.path, schema, of_objects=of_objects)
        in_path = [name for name, _ in file.partitions if name not in table.names]
        check_columns([*table.names, *in_path], schema)
    return table


def expected_records(file: DataFile, table: TableBatches) -> int:
    """How many records a file has, nearly: as many as Parquet says, or as there are lines below a
    header.
    """
    if table.part_rows is not None:
        return sum(table.part_rows)
    try:
        with pa.input_stream(file.path) as raw:  # decompresses .gz and the like
            lines = sum(
                int(chunk.count(b"\n")) for chunk in iter(lambda: raw.read(_CHUNK_BYTES), b"")
            )
    except (OSError, pa.ArrowException):  # damaged: reading it says so
        return 1
    return max(1, lines - 1)


def read_files(
    files: Sequence[DataFile], schema: Schema
) -> Iterator[tuple[tuple[CodeColumn, ...], float]]:
    """Codes batch by batch, with the share of all bytes that is done."""
    total = max(1, sum(file.size for file in files))
    done = 0
    for file in files:
        table = open_file(file, schema)
        share_of = _shares(file, table)
        for batch in _batches(file, table):
            yield _encode(batch, table, file, schema), (done + file.size * share_of(batch)) / total
        done += file.size


def read_parts(
    file: DataFile, schema: Schema, parts: Sequence[int] | None
) -> Iterator[tuple[CodeColumn, ...]]:
    """Codes of some parts of one file, or of the whole of it, batch by batch."""
    table = open_file(file, schema)
    for batch in _batches(file, table, parts):
        yield _encode(batch, table, file, schema)


def _batches(
    file: DataFile, table: TableBatches, parts: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    with hidden_partitions(file):
        yield from table.read(parts)


def _encode(
    batch: pa.RecordBatch, table: TableBatches, file: DataFile, schema: Schema
) -> tuple[CodeColumn, ...]:
    in_path = {name: value for name, value in file.partitions if name not in table.names}
    encoded = []
    for name, column in schema.columns.items():
        if name in in_path:
            # one value for the whole file, and text whatever the kind of file
            code = encode_text(name, column, in_path[name], null_texts=schema.null_texts(name))
            encoded.append(np.full(batch.num_rows, code, dtype=code_dtype(column.size)))
        else:
            null_texts = schema.null_texts(name) if table.is_text else None
            encoded.append(encode_column(name, column, batch.column(name), null_texts=null_texts))
    return tuple(encoded)


def _shares(file: DataFile, table: TableBatches) -> Callable[[pa.RecordBatch], float]:
    """A function that takes the batches of a file one by one and tells which share of the file is
    done.
    """
    total = file.size if table.part_rows is None else sum(table.part_rows)
    done = 0

    def share_of(batch: pa.RecordBatch) -> float:
        nonlocal done
        # text: Arrow keeps an offset of four bytes where the file has a delimiter of one
        done += (
            batch.nbytes - 3 * batch.num_rows * batch.num_columns
            if table.is_text
            else batch.num_rows
        )
        return float(min(1.0, done / max(1, total)))

    return share_of


@contextmanager
def hidden_partitions(file: DataFile) -> Iterator[None]:
    """Take partition values, which are values of records, out of the messages about a file."""
    try:
        yield
    except DprapError as error:
        raise type(error)(str(error).replace(str(file.path), file.shown)) from None
