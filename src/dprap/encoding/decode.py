"""Codes back to values in the declared types. Draws inside bins and groups use public randomness only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from dprap.array_types import CodeColumn
from dprap.encoding.codes import Codes
from dprap.errors import SchemaError
from dprap.schema import Column, Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.constraints import OrderedCodes

# Values that break an order are drawn again this often.
_REDRAWS = 16


def decode(codes: Codes, schema: Schema, *, seed: int | Sequence[int]) -> pa.Table:
    """A table in the schema's column types whose values encode to exactly these codes.

    >>> schema = Schema.of({"columns": {"age": {"type": "integer", "min": 0, "max": 99, "width": 50}}})
    >>> table = decode(Codes.of(schema.domain, {"age": [0, 1, 1]}), schema, seed=0)
    >>> [age // 50 for age in table["age"].to_pylist()]
    [0, 1, 1]
    """
    return next(decode_chunks([codes], schema, seed=seed))


def decode_chunks(chunks: Iterable[Codes], schema: Schema, *, seed: int | Sequence[int]) -> Iterator[pa.Table]:
    """Tables of consecutive records, chunk by chunk, as `decode` gives them: chunks draw from one stream for each column."""
    # each column has its own stream: dropping one leaves the others as they were
    streams = [np.random.default_rng([*np.atleast_1d(seed), position]) for position in range(len(schema.columns))]
    redraws = np.random.default_rng([*np.atleast_1d(seed), 1 << 20])
    for codes in chunks:
        if codes.domain != schema.domain:
            raise SchemaError("the codes are of another schema. Decode with the schema that encoded them.")
        columns = zip(schema.columns.items(), codes.columns, streams, strict=True)
        arrays = {name: decode_column(column, part, rng) for (name, column), part, rng in columns}
        for constraint in schema.code_constraints:
            if isinstance(constraint, OrderedCodes):
                _put_in_order(arrays, constraint, codes, schema, redraws)
        yield pa.table(arrays)


def _put_in_order(
    arrays: dict[str, pa.Array], constraint: OrderedCodes, codes: Codes, schema: Schema, rng: np.random.Generator
) -> None:
    """Draw values again, inside their bins, that break an order: the draw is then given that the order holds."""
    smaller, larger = constraint.columns
    for attempt in range(_REDRAWS + 1):
        wrong = np.flatnonzero(_above(arrays, constraint, schema))
        least, largest = constraint.least[codes.column(smaller)[wrong]], constraint.largest[codes.column(larger)[wrong]]
        wrong = wrong[least <= largest]
        if not wrong.size:
            return
        for name, last in ((smaller, False), (larger, True)):
            column = schema.columns[name]
            assert isinstance(column, BinnedColumn)  # noqa: S101 - only these have an order
            here = codes.column(name)[wrong]
            if attempt < _REDRAWS:
                drawn = decode_column(column, here, rng)
            else:  # hardly any draw is in order: the ends of both bins are
                drawn = column.draw_end(here.astype(np.int64), last=last)
            chosen = np.arange(len(arrays[name]))
            chosen[wrong] = len(arrays[name]) + np.arange(len(wrong))
            arrays[name] = pa.concat_arrays([arrays[name], drawn]).take(pa.array(chosen))


def _above(arrays: dict[str, pa.Array], constraint: OrderedCodes, schema: Schema) -> Bool[np.ndarray, " records"]:
    """Which records break an order; those with a missing value break nothing."""
    values, missing = [], np.zeros(len(next(iter(arrays.values()))), dtype=bool)
    for name in constraint.columns:
        column = schema.columns[name]
        assert isinstance(column, BinnedColumn)  # noqa: S101 - only these have an order
        values.append(column.in_units(arrays[name]))
        missing |= np.asarray(arrays[name].is_null().to_numpy(zero_copy_only=False), dtype=bool)
    return np.asarray((values[0] > values[1]) & ~missing)


def decode_column(column: Column, codes: CodeColumn, rng: np.random.Generator) -> pa.Array:
    """Values of one column."""
    is_null = codes == column.null_code if column.null_code is not None else np.zeros(len(codes), dtype=bool)
    positions = np.where(is_null, 0, codes).astype(np.int64)
    return column.draw(positions, is_null, rng)
