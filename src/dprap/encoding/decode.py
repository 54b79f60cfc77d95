"""Codes back to values: draws inside bins and groups, and the declared types. Public randomness only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int64

from dprap.array_types import CodeColumn
from dprap.encoding.codes import Codes
from dprap.errors import SchemaError
from dprap.schema import Boolean, Categorical, Column, Date, Datetime, Integer, Number, Schema
from dprap.schema.binned import BinnedColumn, Edges


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
    if isinstance(column, Categorical):
        return _categorical(column, positions, is_null, rng)
    if isinstance(column, Boolean):
        return _boolean(column, positions, is_null)
    if isinstance(column, Number):
        return _number(column, positions, is_null, rng)
    return _stepped(column, positions, is_null, rng)


def _categorical(column: Categorical, positions: CodeColumn, is_null: np.ndarray, rng: np.random.Generator) -> pa.Array:
    labels = pa.array([*column.members, *([] if column.other is None else [column.other])])
    sizes = np.array([len(group) for group in column.member_groups] + [1])
    starts = np.concatenate([[0], np.cumsum(sizes[:-1])])
    if column.decode == "representative":
        place = {member: index for index, member in enumerate(column.members)}
        chosen = np.array([place[value] for value in column.representatives or ()] + [len(column.members)])
        indices = chosen[positions]
    elif (sizes == 1).all():
        indices = starts[positions]
    else:
        indices = starts[positions] + rng.integers(0, sizes[positions])
    dictionary = pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32), mask=is_null), labels)
    if column.storage == "dictionary":
        return dictionary
    return pc.take(labels, dictionary.indices).cast(column.arrow_type)


def _boolean(column: Boolean, positions: CodeColumn, is_null: np.ndarray) -> pa.Array:
    if column.storage == "string":
        texts = pa.array([column.false_values[0], column.true_values[0]])
        return pc.take(texts, pa.array(positions, mask=is_null))
    return pa.array(positions == 1, mask=is_null)


def _draw_cells(
    column: BinnedColumn, positions: CodeColumn, rng: np.random.Generator
) -> tuple[Edges, Int64[np.ndarray, "records"]]:
    """Edges to draw between, and the cell of each record: its bin, or a part of it picked by the declared histogram."""
    if not isinstance(column, Integer | Number) or column.histogram is None:
        return column.bin_edges, positions
    cells = column.cells_of(column.histogram)
    # strictly below the next whole number, where the next bin starts
    at = np.minimum(positions + rng.random(len(positions)), np.nextafter(positions + 1.0, -np.inf))
    return cells.edges, np.searchsorted(cells.shares, at, side="right") - 1


def _draw_steps(column: BinnedColumn, positions: CodeColumn, rng: np.random.Generator) -> Int64[np.ndarray, "records"]:
    edges, cell = _draw_cells(column, positions, rng)
    first, last = column.steps_between(edges) or (np.empty(0), np.empty(0))
    if (first == last).all():
        return np.asarray(first[cell])
    return np.asarray(rng.integers(first[cell], last[cell], endpoint=True))


def _number(column: Number, positions: CodeColumn, is_null: np.ndarray, rng: np.random.Generator) -> pa.Array:
    decimals = column.lattice_decimals
    kind = column.arrow_type
    if decimals is not None and column.decode != "representative":
        steps = _draw_steps(column, positions, rng)
        if pa.types.is_decimal(kind):
            return _decimals(steps * 10 ** (kind.scale - decimals), is_null, kind)
        values = steps / 10.0**decimals
    elif column.decode == "representative":
        values = column.representative_values[positions]
    else:
        values = _draw_floats(column, positions, rng)
    if pa.types.is_decimal(kind):
        return _decimals(np.rint(values * 10.0**kind.scale).astype(np.int64), is_null, kind)
    if kind == pa.float32():
        low, high = column.float32_bounds
        values = np.clip(values.astype(np.float32), low[positions], high[positions])
    result = pa.array(values, mask=is_null)
    return _number_texts(result, decimals) if pa.types.is_string(kind) else result


def _draw_floats(column: Number, positions: CodeColumn, rng: np.random.Generator) -> Float64[np.ndarray, "records"]:
    edges, cell = _draw_cells(column, positions, rng)
    low, high = edges[cell], edges[cell + 1]
    # rounding may reach the upper edge, which belongs to the next bin
    return np.asarray(np.clip(low + rng.random(len(positions)) * (high - low), low, np.nextafter(high, -np.inf)))


def _decimals(unscaled: Int64[np.ndarray, "records"], is_null: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Decimals from their unscaled integers: Arrow keeps each as 128 bits, low half first."""
    words = np.stack([unscaled, unscaled >> 63], axis=1)
    validity = pa.array(~is_null).buffers()[1]
    return pa.Array.from_buffers(kind, len(unscaled), [validity, pa.py_buffer(words.tobytes())])


def _number_texts(values: pa.Array, decimals: int | None) -> pa.Array:
    form = "{!r}" if decimals is None else f"{{:.{decimals}f}}"
    return pa.array([None if value is None else form.format(value) for value in values.to_pylist()], pa.string())


def _stepped(
    column: Integer | Date | Datetime, positions: CodeColumn, is_null: np.ndarray, rng: np.random.Generator
) -> pa.Array:
    if column.decode == "representative":
        values = column.representative_values[positions]
    else:
        values = _draw_steps(column, positions, rng)
        if isinstance(column, Datetime):
            values = values * column.step
    array = pa.array(values, pa.int64(), mask=is_null)
    kind = column.arrow_type
    if isinstance(column, Integer):
        return array.cast(kind)
    if isinstance(column, Date):
        days = array.cast(pa.int32()).cast(pa.date32())
        return _texts(days, column.format) if pa.types.is_string(kind) else days.cast(kind)
    if pa.types.is_string(kind):
        return _texts(array.cast(pa.timestamp("us", column.timezone)), column.format)
    return array.cast(pa.timestamp("us", column.timezone)).cast(kind)


def _texts(array: pa.Array, form: str | None) -> pa.Array:
    texts = [None if v is None else v.strftime(form) if form else v.isoformat() for v in array.to_pylist()]
    return pa.array(texts, pa.string())
