"""Codes back to values in the declared types. Draws inside bins and groups use public randomness only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dprap.array_types import CodeColumn
from dprap.encoding.codes import Codes
from dprap.errors import SchemaError
from dprap.schema import Column, Schema


def decode(codes: Codes, schema: Schema, *, seed: int | Sequence[int]) -> pa.Table:
    """A table in the schema's column types whose values encode to exactly these codes.

    >>> schema = Schema.of({"columns": {"age": {"type": "integer", "min": 0, "max": 99, "width": 50}}})
    >>> table = decode(Codes.of(schema.domain, {"age": [0, 1, 1]}), schema, seed=0)
    >>> [age // 50 for age in table["age"].to_pylist()]
    [0, 1, 1]
    """
    if codes.domain != schema.domain:
        raise SchemaError("the codes are of another schema. Decode with the schema that encoded them.")
    arrays = {}
    for position, (name, column) in enumerate(schema.columns.items()):
        # each column has its own stream: dropping one leaves the others as they were
        rng = np.random.default_rng([*np.atleast_1d(seed), position])
        arrays[name] = decode_column(column, codes.columns[position], rng)
    return pa.table(arrays)


def decode_column(column: Column, codes: CodeColumn, rng: np.random.Generator) -> pa.Array:
    """Values of one column."""
    is_null = codes == column.null_code if column.null_code is not None else np.zeros(len(codes), dtype=bool)
    positions = np.where(is_null, 0, codes).astype(np.int64)
    return column.draw(positions, is_null, rng)
