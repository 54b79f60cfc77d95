"""Records by value, of the private table (NOT PRIVATE) and of a published one.

Codes hide what happened inside a bin, and what a policy did to a value before it got its code.
Ordered columns are therefore compared by the numbers that the records hold, read value by value as
the column reads them, but neither clipped nor put into bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dprap.array_types import Bool, CodeColumn, Float64
from dprap.encoding import Codes, check_columns, open_table
from dprap.encoding.column_codes import codes_of, positions_of
from dprap.encoding.frames import Convert
from dprap.encoding.objects import for_each_object, place_objects, placed_array
from dprap.encoding.tables import placed_or_guessed
from dprap.errors import DataError
from dprap.schema import Column, Schema
from dprap.schema.arrays import Positions
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.values import Unplaced, plain
from dprap.sources.locate import find_files
from dprap.sources.read_files import hidden_partitions, open_file

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
        numbers: The values of ordered columns.
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
    codes: dict[str, list[CodeColumn]] = {name: [] for name in schema.columns}
    numbers: dict[str, list[Numbers]] = {
        name: [] for name, column in schema.columns.items() if isinstance(column, BinnedColumn)
    }
    beyond: dict[str, list[Bool[np.ndarray, " records"]]] = {name: [] for name in numbers}
    keys = np.zeros(0)
    rows = 0
    for batch, null_texts in _batches(table, schema, ignored):
        rows += batch.num_rows
        drawn = rng.random(batch.num_rows)
        if rows > most_records:
            below = _threshold(np.concatenate([keys, drawn]), most_records)
            batch = batch.filter(pa.array(drawn <= below))
            drawn = drawn[drawn <= below]
        keys = np.concatenate([keys, drawn])
        for name, column in schema.columns.items():
            array = batch.column(name)
            positions = _positions(name, column, array, null_texts.get(name))
            codes[name].append(codes_of(name, column, positions))
            if isinstance(column, BinnedColumn):
                found = _numbers(column, array)
                is_null = positions == Unplaced.MISSING
                first, end = column.bin_edges[0], column.bin_edges[-1]
                numbers[name].append(np.where(is_null, np.nan, found))
                beyond[name].append(~is_null & ~((first <= found) & (found < end)))
    if not rows:
        raise DataError("the table has no records. There is nothing to compare.")
    chosen = keys <= _threshold(keys, most_records)
    return TableValues(
        schema,
        Codes(schema.domain, tuple(np.concatenate(each)[chosen] for each in codes.values())),
        {name: np.concatenate(each)[chosen] for name, each in numbers.items()},
        {name: float(np.concatenate(each)[chosen].mean()) for name, each in beyond.items()},
        rows,
    )


def _threshold(keys: np.ndarray, most: int) -> float:
    """The key below which `most` records lie."""
    return np.inf if len(keys) <= most else float(np.partition(keys, most - 1)[most - 1])


def _batches(
    table: Any, schema: Schema, ignored: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, Mapping[str, tuple[str, ...]]]]:
    """The records of a table, and the texts that mean null in those columns that are all text."""
    known = schema.model_copy(update={"ignore_columns": (*schema.ignore_columns, *ignored)})
    texts = {name: schema.null_texts(name) for name in schema.columns}
    if not isinstance(table, str | Path):
        source = open_table(table, schema, of_objects=_by_value)
        check_columns(source.names, known)
        for batch in source.read():
            yield batch, texts if source.is_text else {}
        return
    for file in find_files(table):
        source = open_file(file, known, of_objects=_by_value)
        in_path = {
            name: value
            for name, value in file.partitions
            if name not in source.names and name in schema.columns
        }
        with hidden_partitions(file):
            for batch in source.read():
                for name, value in in_path.items():  # one text for all records of the file
                    repeated = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
                    batch = batch.append_column(name, repeated)
                yield batch, {name: texts[name] for name in (texts if source.is_text else in_path)}


class _ReadType(pa.ExtensionType):  # type: ignore[misc]
    """The type of a column of objects that were read one by one: positions, as of `PlacedType`, and
    numbers.
    """

    def __init__(self) -> None:
        fields = [("position", pa.int64()), ("number", pa.float64())]
        super().__init__(pa.struct(fields), "dprap.read")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> _ReadType:
        return cls()


def _by_value(name: str, schema: Schema | None) -> Convert:
    """Columns of objects with the number that each value of an ordered one is."""
    column = None if schema is None else schema.columns.get(name)
    if not isinstance(column, BinnedColumn):
        return placed_or_guessed(name, schema)

    def convert(values: Iterable[Any]) -> pa.Array:
        objects = list(values)
        positions = place_objects(column, objects)
        numbers = for_each_object(lambda value: _number(column, value), objects, np.float64)
        fields = [pa.array(positions), pa.array(numbers)]
        storage = pa.StructArray.from_arrays(fields, fields=list(_ReadType().storage_type))
        return pa.ExtensionArray.from_storage(_ReadType(), storage)

    return convert


def _positions(
    name: str, column: Column, array: pa.Array, null_texts: tuple[str, ...] | None
) -> Positions:
    if isinstance(array.type, _ReadType):
        array = placed_array(array.storage.flatten()[0])
    return positions_of(name, column, array, null_texts)


def _numbers(column: BinnedColumn, array: pa.Array) -> Numbers:
    """What `column.read` gives for each value, read once for each distinct one."""
    if isinstance(array.type, _ReadType):
        return np.asarray(array.storage.flatten()[1].to_numpy(zero_copy_only=False))
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    values = [_number(column, value) for value in encoded.dictionary]
    indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(np.array([*values, np.nan])[indices])


def _number(column: BinnedColumn, value: Any) -> float:
    """What `column.read` gives for a value; NaN where it is null or not readable."""
    found = plain(value)
    at = None if isinstance(found, Unplaced) else column.read(found)
    return np.nan if at is None else _as_float(at)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return np.inf if value > 0 else -np.inf
