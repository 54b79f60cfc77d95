"""One pass over a table for a draft, in memory that does not grow with it: values and their counts,
and a sample.

A column with few different values is counted exactly. One with more is known by a sample of
records.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.encoding.tables import TableBatches
from dprap.schema.values import is_number_type, is_text_type

# Above so many different values a column is known by the sample.
_MAX_DISTINCT = 2_000
_MAX_SAMPLE_ROWS = 100_000
_MAX_SAMPLE_VALUES = 3_000_000


@dataclass
class ColumnProfile:
    """What was seen of one column."""

    name: str
    kind: pa.DataType
    rows: int = 0
    nulls: int = 0
    counts: Counter[Any] | None = field(default_factory=Counter)
    """Different values and their numbers, None where there are too many."""

    def add(self, array: pa.Array) -> None:
        """Take the values of one batch."""
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        self.rows += len(array)
        self.nulls += array.null_count
        if pa.types.is_floating(array.type):
            self.nulls += int(pc.sum(pc.is_nan(array)).as_py() or 0)
        if self.counts is None or pa.types.is_null(array.type) or pa.types.is_nested(array.type):
            return
        found = pc.value_counts(array)
        if len(found) > 10 * _MAX_DISTINCT:
            self.counts = None
            return
        for value, count in zip(
            found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True
        ):
            if value is not None and value == value:
                self.counts[value] += count
        if len(self.counts) > _MAX_DISTINCT:
            self.counts = None


@dataclass
class Profile:
    """What was seen of a table."""

    columns: dict[str, ColumnProfile]
    sample: pa.Table
    rows: int

    @property
    def is_whole(self) -> bool:
        """Whether the sample is the table."""
        return bool(self.sample.num_rows == self.rows)

    def seen(self, name: str) -> tuple[dict[Any, int], bool]:
        """Different values of a column and how often each was seen; and whether these are all
        records.
        """
        column = self.columns[name]
        if column.counts is not None:
            return dict(column.counts), True
        found = pc.value_counts(_plain(self.sample.column(name)))
        values = zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)
        counted = {value: count for value, count in values if value is not None and value == value}
        return counted, self.is_whole


def profile_table(source: TableBatches) -> Profile:
    """Read a table once."""
    most = int(np.clip(_MAX_SAMPLE_VALUES // max(1, len(source.names)), 5_000, _MAX_SAMPLE_ROWS))
    rng = np.random.default_rng(0)  # which records a draft looks at is nobody's secret
    columns: dict[str, ColumnProfile] = {}
    kept: list[pa.Table] = []
    keys: list[np.ndarray] = []
    threshold, rows = 1.0, 0
    for batch in source.read():
        rows += batch.num_rows
        table = pa.Table.from_batches([batch])
        for name in table.column_names:
            array = table.column(name).combine_chunks()
            array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
            profile = columns.setdefault(name, ColumnProfile(name, array.type))
            _agree(profile, array.type)
            profile.add(
                array
                if profile.kind == array.type or pa.types.is_null(array.type)
                else _as_kind(array, profile.kind)
            )
        drawn = rng.random(batch.num_rows)
        chosen = drawn < threshold
        kept.append(table.filter(pa.array(chosen)))
        keys.append(drawn[chosen])
        if sum(map(len, keys)) > 2 * most:
            threshold = float(np.partition(np.concatenate(keys), most)[most])
            kept = [
                part.filter(pa.array(key < threshold)) for part, key in zip(kept, keys, strict=True)
            ]
            keys = [key[key < threshold] for key in keys]
    sample = pa.table({name: _joined(kept, name, columns[name].kind) for name in columns})
    return Profile(columns, sample, rows)


def _agree(profile: ColumnProfile, kind: pa.DataType) -> None:
    """Find a type for batches of different types, as untyped files have them: numbers, or else
    text.
    """
    if kind == profile.kind or pa.types.is_null(kind):
        return
    if pa.types.is_null(profile.kind):
        profile.kind = kind
        return
    wider = pa.float64() if is_number_type(kind) and is_number_type(profile.kind) else pa.string()
    if profile.counts is not None and wider == pa.string() and not is_text_type(profile.kind):
        texts: Counter[Any] = Counter()
        for value, count in profile.counts.items():
            texts[_text(value)] += count
        profile.counts = texts
    profile.kind = wider


def _as_kind(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(kind) and is_number_type(array.type):
        return array.cast(kind, safe=False)
    if is_text_type(kind) and not is_text_type(array.type):
        return pa.array(
            [None if value is None else _text(value) for value in array.to_pylist()], kind
        )
    return array.cast(kind, safe=False)


def _text(value: Any) -> str:
    return (
        str(int(value))
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        else str(value)
    )


def _joined(parts: list[pa.Table], name: str, kind: pa.DataType) -> pa.ChunkedArray:
    chunks = [chunk for part in parts for chunk in part.column(name).chunks]
    return pa.chunked_array(
        [chunk if chunk.type == kind else _as_kind(chunk, kind) for chunk in chunks], kind
    )


def _plain(array: pa.ChunkedArray) -> pa.Array:
    joined = array.combine_chunks()
    joined = pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
    return joined.cast(joined.type.value_type) if pa.types.is_dictionary(joined.type) else joined
