"""Codes of whole columns: the fast twins of `column.place`, one for each kind of Arrow array.

Every path here gives, element by element, what `column.place` gives for the value alone. None of its steps can raise
because of a value, and none looks at a neighbour: there is no cast that fails for some texts, no inference, no second
parser for a whole batch. What a path cannot read for sure is placed one by one. A column whose *type* holds no value of
the declared column is a SchemaError, because types are part of a table's public structure.

Positions and the reasons for having none (`Unplaced`) become codes by the column's policy. Messages name the column and
the kind of problem, never a value, a row or a count.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int64, Num

from dprap.array_types import CodeColumn
from dprap.encoding import text
from dprap.encoding.codes import code_dtype
from dprap.encoding.objects import PlacedType
from dprap.encoding.policy import unplaced_code
from dprap.errors import SchemaError
from dprap.schema import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from dprap.schema.binned import BinnedColumn
from dprap.schema.values import Unplaced, is_text_type

Mask = Bool[np.ndarray, "records"]
Positions = Int64[np.ndarray, "records"]

_INT64 = np.iinfo(np.int64)
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# A division of two float64 is the nearest one to the quotient if both are exact: below 2^53, and up to 10^22.
_EXACT_FLOAT = 2**53
_MAX_SCALE = 18


def encode_column(name: str, column: Column, array: pa.Array, *, null_texts: tuple[str, ...] | None) -> CodeColumn:
    """Codes of one column. `null_texts` is given for CSV: all values are then text, and these texts mean null."""
    return codes_of(name, column, positions_of(name, column, array, null_texts))


def encode_text(name: str, column: Column, value: str | None, *, null_texts: tuple[str, ...]) -> int:
    """The code of one text that stands for many records, such as the name of a folder."""
    position = Unplaced.MISSING if value in null_texts else column.place(value)
    return int(codes_of(name, column, np.array([position], dtype=np.int64))[0])


def codes_of(name: str, column: Column, positions: Positions) -> CodeColumn:
    """Codes for positions: what has none gets the code of the column's policy, or is refused."""
    if len(positions) and positions.min() < 0:
        for reason in Unplaced:
            has_none = positions == reason
            if has_none.any():
                positions = np.where(has_none, unplaced_code(name, column, reason), positions)
    return positions.astype(code_dtype(column.size))


def positions_of(name: str, column: Column, array: pa.Array, null_texts: tuple[str, ...] | None = None) -> Positions:
    """`column.place` of each value of an Arrow array."""
    kind = array.type
    if isinstance(kind, PlacedType):
        return np.asarray(pc.fill_null(array.storage, int(Unplaced.MISSING)).to_numpy(zero_copy_only=False))
    if pa.types.is_null(kind):
        return _all_missing(len(array))
    if pa.types.is_dictionary(kind):
        # the distinct values once, also those that no record refers to: only what a record has can be refused
        return _looked_up(positions_of(name, column, array.dictionary, null_texts), array.indices)
    # text in a typed table is read only where the schema says so, or where nothing can go wrong
    if not column.takes(kind) and not (null_texts is not None and is_text_type(kind)):
        raise _wrong_type(name, column, kind)
    if is_text_type(kind):
        return _place_texts(column, array, null_texts or ())
    if len(array) == 0:
        return _all_missing(0)
    missing = _nulls(array)
    if isinstance(column, Boolean):
        positions = pc.fill_null(array, fill_value=False).to_numpy(zero_copy_only=False).astype(np.int64)
    elif isinstance(column, Date):
        positions = _into_bins(column, _days(array))
    elif isinstance(column, Datetime):
        positions = _into_bins(column, _microseconds(array))
    elif pa.types.is_decimal(kind):
        positions = _place_decimals(column, array, missing)
    else:
        positions = _place_numbers(column, array, missing)
    return np.where(missing, Unplaced.MISSING, positions) if missing.any() else positions


def _all_missing(rows: int) -> Positions:
    return np.full(rows, Unplaced.MISSING, dtype=np.int64)


def _looked_up(distinct: Positions, indices: pa.Array) -> Positions:
    """Positions of values that refer to distinct ones by their index, or to nothing."""
    if len(distinct) == 0:
        return _all_missing(len(indices))
    positions = distinct[pc.fill_null(indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)]
    missing = _nulls(indices)
    return np.where(missing, Unplaced.MISSING, positions) if missing.any() else positions


def _place_texts(column: Column, array: pa.Array, null_texts: tuple[str, ...]) -> Positions:
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())  # which few of Arrow's functions know
    if isinstance(column, Categorical) and not null_texts:
        return _place_labels(column, array)
    encoded = array.dictionary_encode()
    distinct = encoded.dictionary
    if null_texts and len(distinct):
        is_null = pc.is_in(distinct, value_set=pa.array(null_texts, distinct.type))
        distinct = pc.if_else(is_null, pa.scalar(None, distinct.type), distinct)
    if isinstance(column, Categorical | Boolean):
        return _looked_up(_place_labels(column, distinct), encoded.indices)
    values, readable = text.parse(column, distinct)
    positions = np.where(readable, _into_bins(column, values), Unplaced.UNREADABLE)
    return _looked_up(np.where(_nulls(distinct), Unplaced.MISSING, positions), encoded.indices)


def _place_labels(column: Categorical | Boolean, texts: pa.Array) -> Positions:
    """Look texts up in the column's list."""
    not_found = Unplaced.UNREADABLE if isinstance(column, Boolean) else Unplaced.OUTSIDE
    labels = column.label_texts
    found = pc.index_in(texts, value_set=pa.array(list(labels), texts.type))
    listed = np.array([*labels.values(), not_found], dtype=np.int64)
    positions = listed[pc.fill_null(found, len(labels)).to_numpy(zero_copy_only=False)]
    missing = _nulls(texts)
    return np.where(missing, Unplaced.MISSING, positions) if missing.any() else positions


def _place_numbers(column: Categorical | Integer | Number, array: pa.Array, missing: Mask) -> Positions:
    """Integers and floats; NaN is added to what is missing."""
    if isinstance(column, Number) or pa.types.is_floating(array.type):
        floats = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        missing |= np.isnan(floats)
        if isinstance(column, Number):
            return _into_bins(column, floats)
        beyond = (floats >= 2.0**63) | (floats < -(2.0**63))
        is_whole = floats == np.rint(floats)
        ends = np.where(floats > 0, _INT64.max, _INT64.min)
        whole = np.where(beyond | ~is_whole, 0, floats).astype(np.int64)
        positions = _place_whole(column, np.where(beyond, ends, whole), beyond)
        return np.where(is_whole, positions, Unplaced.UNREADABLE)
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    if array.type != pa.uint64():
        return _place_whole(column, values.astype(np.int64), None)
    beyond = values > np.uint64(_INT64.max)
    return _place_whole(column, np.minimum(values, np.uint64(_INT64.max)).astype(np.int64), beyond)


def _place_whole(column: Categorical | Integer | Number, values: Positions, beyond: Mask | None) -> Positions:
    """Whole numbers; those beyond int64 are at its ends, which are outside all bounds but may be in a list."""
    if not isinstance(column, Categorical):
        return _into_bins(column, values)
    labels = column.labels
    found = pc.index_in(pa.array(values), value_set=pa.array(list(labels), pa.int64()))
    listed = np.array([*labels.values(), Unplaced.OUTSIDE], dtype=np.int64)
    positions = listed[pc.fill_null(found, len(labels)).to_numpy(zero_copy_only=False)]
    return positions if beyond is None else np.where(beyond, Unplaced.OUTSIDE, positions)


def _place_decimals(column: Categorical | Integer | Number, array: pa.Array, missing: Mask) -> Positions:
    """Decimals by their unscaled integers where 64 bits hold these exactly, all others one by one."""
    scale = array.type.scale
    positions = np.zeros(len(array), dtype=np.int64)
    is_small = np.zeros(len(array), dtype=bool)
    if not pa.types.is_decimal256(array.type) and 0 <= scale <= _MAX_SCALE:
        if not pa.types.is_decimal128(array.type):
            array = array.cast(pa.decimal128(38, scale))  # from 32 or 64 bits, which always fit
        # Arrow keeps each as 128 bits, low half first
        words = np.frombuffer(array.buffers()[1], dtype=np.int64).reshape(-1, 2)
        low, high = words[array.offset : array.offset + len(array)].T
        is_small = high == low >> 63
        if isinstance(column, Number):
            is_small &= (low <= _EXACT_FLOAT) & (low >= -_EXACT_FLOAT)
            positions = _into_bins(column, low / 10.0**scale)
        else:
            whole, part = np.divmod(low, 10**scale)
            positions = np.where(part == 0, _place_whole(column, whole, None), Unplaced.UNREADABLE)
    for index in np.flatnonzero(~is_small & ~missing):
        positions[index] = column.place(array[index])
    return positions


def _into_bins(column: BinnedColumn, values: Num[np.ndarray, "records"]) -> Positions:
    """The bin of each value; the nearest one under `clip`, else OUTSIDE, where a value is outside the bounds."""
    edges = column.bin_edges
    steps = np.diff(edges[:-1])
    if len(edges) == 2:
        positions = np.zeros(len(values), dtype=np.int64)
    elif edges.dtype == np.int64 and (steps == steps[0]).all():
        # equal integer bins: a division instead of a search. Clip first, far values would overflow;
        # and after, because the last bin may be longer
        inside = np.clip(values, edges[0], edges[-1] - 1)
        positions = np.minimum((inside - edges[0]) // steps[0], len(edges) - 2)
    else:
        positions = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    if column.policy == "clip":
        return positions
    outside = (values < edges[0]) | (values >= edges[-1])
    return np.where(outside, Unplaced.OUTSIDE, positions) if outside.any() else positions


def _days(array: pa.Array) -> Positions:
    kind = array.type
    if pa.types.is_date32(kind):
        return _integers(array.cast(pa.int32()))
    if pa.types.is_date64(kind):
        return np.asarray(_integers(array) // 86_400_000)
    return np.asarray(_integers(array) // (86_400 * _UNITS_PER_SECOND[kind.unit]))


def _microseconds(array: pa.Array) -> Positions:
    values = _integers(array)
    if array.type.unit == "ns":
        return np.asarray(values // 1000)
    factor = 10**6 // _UNITS_PER_SECOND[array.type.unit]
    return np.asarray(np.clip(values, _INT64.min // factor + 1, _INT64.max // factor) * factor)


def _integers(array: pa.Array) -> Positions:
    return np.asarray(pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))


def _nulls(array: pa.Array) -> Mask:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    return np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False), dtype=bool)


def _wrong_type(name: str, column: Column, kind: pa.DataType) -> SchemaError:
    expected: str = column.type
    if isinstance(column, Datetime):
        expected += f" in a time zone ({column.timezone})" if column.timezone else " without a time zone"
    elif isinstance(column, Categorical):
        expected += " of integers" if column.is_integer else " of text"
    return SchemaError(
        f"column {name!r}: the table has {kind} where the schema says {expected}. Convert the column or change its type."
    )
