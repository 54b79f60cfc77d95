"""Whole Arrow arrays as NumPy values, each element as it would be read alone.

These are the parts from which the columns build the fast twins of `place`. None of them can raise
because of a value, and none looks at a neighbour: there is no cast that fails for some values, and
no inference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dprap.array_types import Bool, Float64, Int64
from dprap.schema.values import Unplaced

Mask: TypeAlias = Bool[np.ndarray, " records"]
Positions: TypeAlias = Int64[np.ndarray, " records"]
"""Positions among the ordinary codes of a column, and the numbers of `Unplaced`."""

PlaceOne: TypeAlias = Callable[[pa.Scalar], int]
PlaceFloats: TypeAlias = Callable[[Float64[np.ndarray, " records"]], Positions]
PlaceWhole: TypeAlias = Callable[[Positions, "Mask | None"], Positions]
"""Places whole numbers. The mask tells which ones lie beyond int64; those are at its ends."""

INT64 = np.iinfo(np.int64)
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# A division of two float64 is the nearest one to the quotient if both are exact: below 2^53, and up
# to 10^22.
_EXACT_FLOAT = 2**53
_MAX_SCALE = 18


def nulls(array: pa.Array) -> Mask:
    """Which elements are null."""
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def holds(kind: pa.DataType, low: int, high: int) -> bool:
    """Whether a type holds all whole numbers between two bounds.

    >>> holds(pa.uint8(), 0, 255), holds(pa.float32(), 0, 2**24 + 1)
    (True, False)
    >>> holds(pa.decimal128(3, 0), -999, 999), holds(pa.decimal128(3, 1), 0, 100)
    (True, False)
    """
    if low < INT64.min or high > INT64.max:
        return False
    if pa.types.is_integer(kind):
        ends = np.iinfo(kind.to_pandas_dtype())
        return bool(ends.min <= low and high <= ends.max)
    if pa.types.is_floating(kind):
        exact = 2 ** (np.finfo(kind.to_pandas_dtype()).nmant + 1)
        return bool(-exact <= low and high <= exact)
    if pa.types.is_decimal(kind):
        beyond = 10 ** (kind.precision - kind.scale)
        return bool(kind.scale >= 0 and -beyond < low and high < beyond)
    # From a buffer: an array of Python numbers would load pandas, where it is installed.
    bounds = pa.py_buffer(np.array([low, high], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.int64(), 2, [None, bounds]).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def whole_numbers(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Whole numbers in a type that holds them.

    Arrow casts int64 to no decimal of fewer than 19 digits, so that such a decimal is reached by
    way of a longer one.

    >>> whole_numbers(pa.array([7, None]), pa.decimal128(2, 1)).to_pylist()
    [Decimal('7.0'), None]
    """
    if pa.types.is_decimal(kind):
        array = array.cast(pa.decimal128(19, 0)).cast(pa.decimal256(76, kind.scale))
    return array.cast(kind)


def with_missing(positions: Positions, missing: Mask) -> Positions:
    """Positions, and MISSING where there is no value."""
    return np.where(missing, Unplaced.MISSING, positions) if missing.any() else positions


def integers(array: pa.Array) -> Positions:
    """Integers, or what Arrow keeps as integers, as int64; 0 for null."""
    return np.asarray(array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))


def days(array: pa.Array) -> Positions:
    """Dates, or wall times, as days since 1970-01-01; anything for null."""
    kind = array.type
    if pa.types.is_date32(kind):
        return integers(array.cast(pa.int32()))
    if pa.types.is_date64(kind):
        return np.asarray(integers(array) // 86_400_000)
    return np.asarray(integers(array) // (86_400 * _UNITS_PER_SECOND[kind.unit]))


def microseconds(array: pa.Array) -> Positions:
    """Timestamps as microseconds since 1970; anything for null."""
    values = integers(array)
    if array.type.unit == "ns":
        return np.asarray(values // 1000)
    factor = 10**6 // _UNITS_PER_SECOND[array.type.unit]
    return np.asarray(np.clip(values, INT64.min // factor + 1, INT64.max // factor) * factor)


def decoded(texts: pa.Array) -> list[str | None]:
    """Texts as Python strings; bytes that are no UTF-8 keep surrogates in their place, as in
    `values.plain`.
    """
    raw = texts.cast(pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary())
    return [
        None if each is None else each.decode("utf-8", "surrogateescape")
        for each in raw.to_pylist()
    ]


def look_up(keys: pa.Array, places: Mapping[Any, int], not_found: Unplaced) -> Positions:
    """The place that a list gives to each key; null is not in it."""
    import pyarrow.compute as pc  # the wrappers of all its functions take time to build

    found = pc.index_in(keys, value_set=pa.array(list(places), keys.type))
    listed = np.array([*places.values(), not_found], dtype=np.int64)
    return np.asarray(listed[found.fill_null(len(places)).to_numpy(zero_copy_only=False)])


def place_floats(array: pa.Array, place: PlaceFloats, place_one: PlaceOne) -> Positions:
    """Place integers, floats and decimals as the nearest float64; NaN is missing.

    Args:
        array: an Arrow array of numbers. What is null may get any position.
        place: gives the positions of float64 values.
        place_one: gives the position of one Arrow scalar, for decimals that cannot be converted
            together.
    """
    if pa.types.is_decimal(array.type):
        return _place_decimals(
            array, lambda unscaled, scale: place(unscaled / 10.0**scale), _EXACT_FLOAT, place_one
        )
    floats = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return with_missing(place(floats), np.isnan(floats))


def place_whole_numbers(array: pa.Array, place: PlaceWhole, place_one: PlaceOne) -> Positions:
    """Place integers, floats and decimals that are whole; others are unreadable, and NaN is
    missing.

    Args:
        array: an Arrow array of numbers. What is null may get any position.
        place: gives the positions of int64 values.
        place_one: gives the position of one Arrow scalar, for decimals that int64 does not hold.
    """
    if pa.types.is_decimal(array.type):
        return _place_decimals(
            array, lambda unscaled, scale: _whole_parts(unscaled, scale, place), None, place_one
        )
    if pa.types.is_floating(array.type):
        floats = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        beyond = (floats >= 2.0**63) | (floats < -(2.0**63))
        is_whole = floats == np.rint(floats)
        ends = np.where(floats > 0, INT64.max, INT64.min)
        whole = np.where(beyond | ~is_whole, 0, floats).astype(np.int64)
        positions = place(np.where(beyond, ends, whole), beyond)
        return with_missing(np.where(is_whole, positions, Unplaced.UNREADABLE), np.isnan(floats))
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    if array.type != pa.uint64():
        return place(values.astype(np.int64), None)
    beyond = values > np.uint64(INT64.max)
    return place(np.minimum(values, np.uint64(INT64.max)).astype(np.int64), beyond)


def _whole_parts(unscaled: Positions, scale: int, place: PlaceWhole) -> Positions:
    whole, part = np.divmod(unscaled, 10**scale)
    return np.where(part == 0, place(whole, None), Unplaced.UNREADABLE)


def _place_decimals(
    array: pa.Array,
    place: Callable[[Positions, int], Positions],
    most: int | None,
    place_one: PlaceOne,
) -> Positions:
    """Decimals by their unscaled integers where 64 bits hold these exactly (and `most` does), all
    others one by one.
    """
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
        if most is not None:
            is_small &= (low <= most) & (low >= -most)
        positions = place(low, scale)
    for index in np.flatnonzero(~is_small & ~nulls(array)):
        positions[index] = place_one(array[index])
    return positions
