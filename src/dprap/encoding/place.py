"""Where each raw value belongs among the ordinary codes of its column.

Nothing here decides by itself: a value is placed, missing, outside the domain or unreadable, and the column's declared
policy gives it a code or raises. Messages name the column and the kind of problem, never a value, a row or a count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int64, Num

from dprap.array_types import CodeColumn
from dprap.encoding import text
from dprap.encoding.codes import code_dtype
from dprap.encoding.policy import missing_code, outside_code, unreadable_code
from dprap.errors import SchemaError
from dprap.schema import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from dprap.schema.binned import BinnedColumn

Mask = Bool[np.ndarray, "records"]
Positions = Int64[np.ndarray, "records"]

_TO_MICROSECONDS = {"s": 10**6, "ms": 1000, "us": 1}
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Placed:
    """Positions among the ordinary codes (and the catch-all), with masks of the values that have none.

    Positions of values outside an ordered domain are already those of the nearest bin.
    """

    positions: Positions
    missing: Mask
    outside: Mask
    unreadable: Mask

    def take(self, indices: Int64[np.ndarray, "records"], missing: Mask) -> Placed:
        """Placement of values that refer to these by index; missing ones have index 0."""
        return Placed(
            self.positions[indices],
            missing | self.missing[indices],
            ~missing & self.outside[indices],
            ~missing & self.unreadable[indices],
        )


def encode_column(name: str, column: Column, array: pa.Array, *, null_texts: tuple[str, ...] | None) -> CodeColumn:
    """Codes of one column. `null_texts` is given for CSV: all values are then text, and these texts mean null."""
    placed = _place(name, column, array, null_texts)
    codes = placed.positions
    if placed.missing.any():
        codes = np.where(placed.missing, missing_code(name, column), codes)
    if placed.unreadable.any():
        codes = np.where(placed.unreadable, unreadable_code(name, column), codes)
    if column.policy != "clip" and placed.outside.any():
        codes = np.where(placed.outside, outside_code(name, column), codes)
    return codes.astype(code_dtype(column.size))


def _place(name: str, column: Column, array: pa.Array, null_texts: tuple[str, ...] | None) -> Placed:
    kind = array.type
    if pa.types.is_null(kind):
        return _all_missing(len(array))
    if pa.types.is_dictionary(kind):
        return _place_indexed(name, column, array, null_texts)
    if text.is_text(kind):
        if isinstance(column, Categorical) and not column.is_integer and null_texts is None:
            return _place_among(array, column)
        # text in a typed table is read only where the schema says so, or where nothing can go wrong
        if null_texts is None and not (column.storage == "string" or column.is_total or isinstance(column, Boolean)):
            raise _wrong_type(name, column, kind)
        return _place_text(column, array, null_texts or ())
    return _place_typed(name, column, array)


def _place_indexed(name: str, column: Column, array: pa.DictionaryArray, null_texts: tuple[str, ...] | None) -> Placed:
    """Place the distinct values once; records only look theirs up."""
    if len(array.dictionary) == 0:
        return _all_missing(len(array))
    missing = _nulls(array.indices)
    indices = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    # values that no record refers to must not raise: pandas categories and Parquet dictionaries keep them
    return _place(name, column, array.dictionary, null_texts).take(indices, missing)


def _place_text(column: Column, array: pa.Array, null_texts: tuple[str, ...]) -> Placed:
    encoded = array.dictionary_encode()
    distinct = encoded.dictionary.cast(pa.string())
    if len(distinct) == 0:
        return _all_missing(len(array))
    if null_texts:
        is_null = pc.is_in(distinct, value_set=pa.array(null_texts, pa.string()))
        distinct = pc.if_else(is_null, pa.scalar(None, pa.string()), distinct)
    if isinstance(column, Categorical):
        placed = _place_among(distinct, column)
    elif isinstance(column, Boolean):
        placed = _place_boolean(distinct, column)
    else:
        missing = _nulls(distinct)
        values, readable = text.parse(column, distinct)
        placed = _into_bins(column, values, missing=missing, unreadable=~readable & ~missing)
    missing = _nulls(encoded.indices)
    return placed.take(pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64), missing)


def _place_among(array: pa.Array, column: Categorical) -> Placed:
    """Look values up in the list; for an integer column given as text, in the list's texts."""
    labels = [*column.members, *([] if column.other is None else [column.other])]
    is_text = text.is_text(array.type)
    listed = pa.array([str(label) for label in labels] if is_text else labels).cast(array.type)
    found = pc.index_in(array, value_set=listed)
    codes = np.repeat(np.arange(column.regular), [len(group) for group in column.member_groups])
    codes = np.append(codes, column.regular)  # the catch-all's own label, or a filler for values not found
    missing = _nulls(array)
    outside = _nulls(found) & ~missing
    positions = codes[pc.fill_null(found, 0).to_numpy(zero_copy_only=False)]
    return Placed(positions, missing, outside, np.zeros(len(array), dtype=bool))


def _place_boolean(array: pa.Array, column: Boolean) -> Placed:
    texts = pa.array([*column.false_values, *column.true_values], pa.string())
    found = pc.index_in(array.cast(pa.string()), value_set=texts)
    missing = _nulls(array)
    positions = pc.fill_null(found, 0).to_numpy(zero_copy_only=False) >= len(column.false_values)
    return Placed(positions.astype(np.int64), missing, np.zeros(len(array), dtype=bool), _nulls(found) & ~missing)


def _place_typed(name: str, column: Column, array: pa.Array) -> Placed:
    kind = array.type
    missing = _nulls(array)
    if isinstance(column, Boolean):
        if not pa.types.is_boolean(kind):
            raise _wrong_type(name, column, kind)
        positions = pc.fill_null(array, fill_value=False).to_numpy(zero_copy_only=False).astype(np.int64)
        return Placed(positions, missing, *(np.zeros((2, len(array)), dtype=bool)))
    if isinstance(column, Integer) or (isinstance(column, Categorical) and column.is_integer):
        whole, unreadable = _whole_numbers(name, column, array)
        if pa.types.is_floating(kind):
            missing |= np.isnan(_floats(array))
        unreadable &= ~missing
        if isinstance(column, Integer):
            return _into_bins(column, whole, missing=missing, unreadable=unreadable)
        among = _place_among(pa.array(whole), column)
        return Placed(among.positions, missing, among.outside & ~missing & ~unreadable, unreadable)
    if isinstance(column, Number):
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise _wrong_type(name, column, kind)
        floats = _floats(array)
        return _into_bins(column, floats, missing=missing | np.isnan(floats))
    if isinstance(column, Date):
        return _into_bins(column, _days(name, column, array), missing=missing)
    if isinstance(column, Datetime):
        if not pa.types.is_timestamp(kind) or (kind.tz is None) != (column.timezone is None):
            raise _wrong_type(name, column, kind)
        return _into_bins(column, _microseconds(array), missing=missing)
    raise _wrong_type(name, column, kind)


def _into_bins(
    column: BinnedColumn, values: Num[np.ndarray, "records"], *, missing: Mask, unreadable: Mask | None = None
) -> Placed:
    if unreadable is None:
        unreadable = np.zeros(len(values), dtype=bool)
    edges = column.bin_edges
    if missing.any() or unreadable.any():
        values = np.where(missing | unreadable, edges[0], values)
    below, above = values < edges[0], values >= edges[-1]
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
    return Placed(positions, missing, below | above, unreadable)


def _whole_numbers(name: str, column: Column, array: pa.Array) -> tuple[Int64[np.ndarray, "records"], Mask]:
    """Values as int64, far ones pulled to the ends of int64, and which are not whole."""
    kind = array.type
    if pa.types.is_integer(kind):
        values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
        if kind == pa.uint64():
            values = np.minimum(values, np.uint64(_INT64.max))
        return values.astype(np.int64), np.zeros(len(array), dtype=bool)
    if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise _wrong_type(name, column, kind)
    if pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= 18:
        return _integers(array), np.zeros(len(array), dtype=bool)
    floats = _floats(array)
    not_whole = np.isfinite(floats) & (floats != np.rint(floats))
    return text.to_int64(np.where(not_whole, 0, np.nan_to_num(floats, nan=0))), not_whole


def _floats(array: pa.Array) -> Num[np.ndarray, "records"]:
    """Values as float64, nulls as NaN. Integers beyond 2^53 round, which bins do not notice."""
    return np.asarray(pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _days(name: str, column: Date, array: pa.Array) -> Positions:
    kind = array.type
    if pa.types.is_date32(kind):
        return _integers(array.cast(pa.int32()))
    if pa.types.is_date64(kind):
        return np.asarray(_integers(array) // 86_400_000)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return np.asarray(_integers(array) // (86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]))
    raise _wrong_type(name, column, kind)


def _microseconds(array: pa.Array) -> Positions:
    values = _integers(array)
    if array.type.unit == "ns":
        return np.asarray(values // 1000)
    factor = _TO_MICROSECONDS[array.type.unit]
    return np.asarray(np.clip(values, _INT64.min // factor + 1, _INT64.max // factor) * factor)


def _integers(array: pa.Array) -> Positions:
    return np.asarray(pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))


def _nulls(array: pa.Array) -> Mask:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    return np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False), dtype=bool)


def _all_missing(rows: int) -> Placed:
    nothing = np.zeros(rows, dtype=bool)
    return Placed(np.zeros(rows, dtype=np.int64), ~nothing, nothing, nothing)


def _wrong_type(name: str, column: Column, kind: pa.DataType) -> SchemaError:
    expected: str = column.type
    if isinstance(column, Datetime):
        expected += f" in a time zone ({column.timezone})" if column.timezone else " without a time zone"
    elif isinstance(column, Categorical):
        expected += " of integers" if column.is_integer else " of text"
    return SchemaError(
        f"column {name!r}: the table has {kind} where the schema says {expected}. Convert the column or change its type."
    )
