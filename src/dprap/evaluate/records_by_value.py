"""Records by value, of the private table (NOT PRIVATE) and of a published one.

Codes hide what happened inside a bin, and what a policy did to a value before it got its code.
Ordered columns are therefore compared by the numbers that the records hold, read value by value as
the column reads them, but neither clipped nor put into bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dprap.array_types import Float64
from dprap.encoding import Codes, check_columns, encode_batch, open_table
from dprap.encoding.objects import PlacedType
from dprap.errors import DataError
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.values import Unplaced, plain
from dprap.sources.locate import find_files

Numbers: TypeAlias = Float64[np.ndarray, " records"]
"""Values of an ordered column in the unit of its edges; NaN where a value is null or not
readable.
"""

# Figures of this many records are exact to about a thousandth, and models train in seconds.
MOST_RECORDS = 200_000


@dataclass(frozen=True)
class TableValues:
    """Records of a table, or a random part of them.

    Args:
        schema: The schema that read them.
        codes: Their codes, by the schema's policies.
        numbers: The values of ordered columns; columns of objects, which have no type, are left
            out.
        beyond: For these, the share of values that the column cannot read or that lie outside its
            bounds, which a policy has clipped or made null.
        rows: The number of records of the whole table.
    """

    schema: Schema
    codes: Codes
    numbers: Mapping[str, Numbers]
    beyond: Mapping[str, float]
    rows: int


def read_values(
    table: Any,
    schema: Schema,
    *,
    ignored: Sequence[str] = (),
    most_records: int = MOST_RECORDS,
    seed: int = 0,
) -> TableValues:
    """Records of a table in memory, a file, a folder or a glob; a random part if there are many.

    Args:
        table: What `dprap.synthesize` takes, but no address and no Spark data frame.
        schema: The schema to read it by.
        ignored: Columns outside the schema that the table has too, such as ids of persons.
        most_records: How many records are kept at most.
        seed: Seed of the choice.

    Returns:
        The records by value.

    Raises:
        DataError: If there is no record, or a file lacks a column.

    """
    rng = np.random.default_rng([seed, 1])  # a stream of its own, whatever seed made the table
    kept: list[pa.RecordBatch] = []
    keys = np.zeros(0)
    rows, is_text = 0, False
    for batch, is_text in _batches(table, schema, ignored):  # noqa: B007 - all batches of a table agree
        rows += batch.num_rows
        drawn = rng.random(batch.num_rows)
        if rows > most_records:
            below = _threshold(np.concatenate([keys, drawn]), most_records)
            batch = batch.filter(pa.array(drawn <= below))
            drawn = drawn[drawn <= below]
        kept.append(batch)
        keys = np.concatenate([keys, drawn])
    if not rows:
        raise DataError("the table has no records. There is nothing to compare.")
    records = pa.Table.from_batches(kept)
    chosen = np.flatnonzero(keys <= _threshold(keys, most_records))
    records = records.take(pa.array(chosen)).combine_chunks()
    numbers: dict[str, Numbers] = {}
    beyond: dict[str, float] = {}
    for name, column in schema.columns.items():
        array = records.column(name)
        if isinstance(column, BinnedColumn) and not isinstance(array.type, PlacedType):
            null_texts = schema.null_texts(name) if is_text else ()
            numbers[name], beyond[name] = _numbers(column, array, null_texts)
    codes = Codes(schema.domain, encode_batch(records, schema, is_text=is_text))
    return TableValues(schema, codes, numbers, beyond, rows)


def _threshold(keys: np.ndarray, most: int) -> float:
    """The key below which `most` records lie."""
    return np.inf if len(keys) <= most else float(np.partition(keys, most - 1)[most - 1])


def _batches(
    table: Any, schema: Schema, ignored: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, bool]]:
    tables = [file.path for file in find_files(table)] if isinstance(table, str | Path) else [table]
    for each in tables:
        source = open_table(each, schema)
        check_columns([name for name in source.names if name not in ignored], schema)
        for batch in source.read():
            yield batch.select(list(schema.columns)), source.is_text


def _numbers(
    column: BinnedColumn, array: pa.ChunkedArray, null_texts: Sequence[str]
) -> tuple[Numbers, float]:
    """What `column.read` gives for each value, read once for each distinct one; and what is
    beyond.
    """
    encoded = pa.concat_arrays([chunk for chunk in array.chunks if len(chunk)])
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    values, is_beyond = [], []
    first, end = column.bin_edges[0], column.bin_edges[-1]
    for value in encoded.dictionary:
        found = plain(value)
        is_null = found is Unplaced.MISSING or found in null_texts
        at = None if is_null or isinstance(found, Unplaced) else column.read(found)
        values.append(np.nan if at is None else _as_float(at))
        is_beyond.append(not is_null and (at is None or not first <= at < end))
    indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.array([*values, np.nan])[indices], float(
        np.array([*is_beyond, False])[indices].mean()
    )


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return np.inf if value > 0 else -np.inf
