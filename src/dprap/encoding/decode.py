"""Codes back to values in the declared types.

Draws inside bins and groups use public randomness only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from dprap.array_types import CodeColumn
from dprap.encoding.codes import Codes
from dprap.errors import SchemaError
from dprap.schema import Column, Schema
from dprap.schema.code_constraints import Broken
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.relations import Relations

# Values that break an order or a sum are drawn again this often.
_REDRAWS = 16


def decode(codes: Codes, schema: Schema, *, seed: int | Sequence[int]) -> pa.Table:
    """A table in the schema's column types whose values encode to exactly these codes.

    >>> schema = Schema.of(
    ...     {"columns": {"age": {"type": "integer", "min": 0, "max": 99, "width": 50}}}
    ... )
    >>> table = decode(Codes.of(schema.domain, {"age": [0, 1, 1]}), schema, seed=0)
    >>> [age // 50 for age in table["age"].to_pylist()]
    [0, 1, 1]
    """
    return next(decode_chunks([codes], schema, seed=seed))


def decode_chunks(
    chunks: Iterable[Codes], schema: Schema, *, seed: int | Sequence[int]
) -> Iterator[pa.Table]:
    """Tables of consecutive records, chunk by chunk, as `decode` gives them: chunks draw from one
    stream for each column.
    """
    # each column has its own stream: dropping one leaves the others as they were
    streams = [
        np.random.default_rng([*np.atleast_1d(seed), position])
        for position in range(len(schema.columns))
    ]
    redraws = np.random.default_rng([*np.atleast_1d(seed), 1 << 20])
    relations = Relations(schema.columns, schema.code_constraints)
    for codes in chunks:
        if codes.domain != schema.domain:
            raise SchemaError(
                "the codes are of another schema. Decode with the schema that encoded them."
            )
        columns = zip(schema.columns.items(), codes.columns, streams, strict=True)
        arrays = {name: decode_column(column, part, rng) for (name, column), part, rng in columns}
        if relations.rules:
            _relate(arrays, relations, codes, schema, redraws)
        yield pa.table(arrays)


def _relate(
    arrays: dict[str, pa.Array],
    relations: Relations,
    codes: Codes,
    schema: Schema,
    rng: np.random.Generator,
) -> None:
    """Draw values again, inside their bins, that break an order or a sum: the draw is then given
    that all of them hold.

    Where hardly any draw is possible, as for sums, the values drawn last are moved to the nearest
    ones that are.
    """
    columns = {name: _ordered(schema, name) for name in relations.names}
    held = {name: codes.column(name) for name in relations.names}
    missing = relations.missing(held)
    values = {
        name: column.in_units(arrays[name]).astype(np.float64) for name, column in columns.items()
    }
    wrong = np.flatnonzero(relations.violated(values, missing))
    changed = wrong
    for _ in range(_REDRAWS):
        if not wrong.size:
            break
        for name, column in columns.items():
            drawn = decode_column(column, held[name][wrong], rng)  # type: ignore[arg-type]
            values[name][wrong] = column.in_units(drawn)
        again = relations.violated(
            {name: each[wrong] for name, each in values.items()}, _part(missing, wrong)
        )
        wrong = wrong[again]
    for start in ("drawn", "middle"):
        if wrong.size:
            here = {name: each[wrong] for name, each in held.items()}
            wanted = (
                {name: each[wrong] for name, each in values.items()} if start == "drawn" else None
            )
            settled, is_found = relations.settled(here, wanted)
            for name in columns:
                values[name][wrong[is_found]] = settled[name][is_found]
            wrong = wrong[~is_found]
    for name, column in columns.items():
        moved = changed[~missing[name][changed]]
        if moved.size:
            chosen = np.arange(len(arrays[name]))
            chosen[moved] = len(arrays[name]) + np.arange(len(moved))
            fresh = column.as_drawn(values[name][moved])
            arrays[name] = pa.concat_arrays([arrays[name], fresh.cast(arrays[name].type)]).take(
                pa.array(chosen)
            )


def _part(missing: dict[str, Broken], at: np.ndarray) -> dict[str, Broken]:
    return {name: each[at] for name, each in missing.items()}


def _ordered(schema: Schema, name: str) -> BinnedColumn:
    column = schema.columns[name]
    assert isinstance(column, BinnedColumn)  # noqa: S101 - only these have an order
    return column


def decode_column(column: Column, codes: CodeColumn, rng: np.random.Generator) -> pa.Array:
    """Values of one column."""
    is_null = (
        codes == column.null_code
        if column.null_code is not None
        else np.zeros(len(codes), dtype=bool)
    )
    positions = np.where(is_null, 0, codes).astype(np.int64)
    return column.draw(positions, is_null, rng)
