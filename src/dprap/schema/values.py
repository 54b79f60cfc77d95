"""What one value is, whichever library brought it: the first half of the meaning of a value.

`plain` turns a Python, NumPy, pandas or Arrow scalar into one of a few kinds, and every column type
says in its `place` what each kind means to it (docs/values.md has the table). Nothing here looks at
a second value: the code of a record is a function of the schema and of that record alone, and the
fast paths in `dprap.encoding` are tested against this definition element by element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa


class Unplaced(IntEnum):
    """Why a value has no position among the ordinary codes of its column; the column's policy
    decides what follows.

    The numbers are negative, so that one array holds positions and these; SQL uses the same ones.
    """

    MISSING = -3
    UNREADABLE = -2
    OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the calendar, as days since 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, as microseconds since 1970: of UTC if it is zoned, else of a clock on some
    wall.
    """

    microseconds: int
    is_zoned: bool


Plain: TypeAlias = bool | int | float | Decimal | str | Day | Moment
"""The kinds of values that columns know. No float and no Decimal is NaN."""

MICROSECONDS_PER_DAY = 86_400 * 10**6
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
# Attoseconds hold every unit of NumPy's clock in whole numbers.
_ATTOSECONDS = {
    "W": 604_800 * 10**18, "D": 86_400 * 10**18, "h": 3600 * 10**18, "m": 60 * 10**18, "s": 10**18, "ms": 10**15,
    "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1,
}  # fmt: skip
# Whole numbers are compared with bounds and members inside int64; one that is farther off is moved
# here, which lies beyond all of them, so that no number of thousands of digits is ever computed.
_BEYOND_INT64 = 2**64


def plain(value: Any) -> Plain | Unplaced:
    """The kind and content of one value, or why it has none.

    Missing are None, NaN of every width, Decimal's NaN, pandas' NA and NaT, NumPy's NaT and masked
    constant, and nulls of Arrow. Unreadable are bytes, lists, durations, complex numbers and all
    other objects.

    Args:
        value: a Python, NumPy or pandas scalar, or a `pyarrow.Scalar`.

    Returns:
        The value in one of the plain kinds, or `Unplaced.MISSING`, or `Unplaced.UNREADABLE`.

    >>> import numpy as np
    >>> plain(np.int8(3)), plain(float("nan")), plain(b"3").name
    (3, <Unplaced.MISSING: -3>, 'UNREADABLE')
    """
    try:
        return _kind_and_content(value)
    except Exception:  # objects run foreign code, such as a time zone's, which must not stop a run
        return Unplaced.UNREADABLE


def _kind_and_content(value: Any) -> Plain | Unplaced:
    if value is None:
        return Unplaced.MISSING
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _from_float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Decimal):
        return Unplaced.MISSING if value.is_nan() else value
    if isinstance(value, date):
        return _from_date(value)
    if isinstance(value, np.datetime64):
        return _from_numpy_time(value)
    if isinstance(value, pa.Scalar):
        return _from_arrow(value)
    if value is np.ma.masked or _is_pandas(value, "NAType"):
        return Unplaced.MISSING
    if isinstance(value, np.timedelta64) and np.isnat(value):
        return Unplaced.MISSING
    return Unplaced.UNREADABLE


def is_text_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_number_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds integers, floats or decimals."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def whole_number(value: Plain) -> int | None:
    """A number as an integer, None if it is not whole or no number; far beyond int64 it stays
    beyond, with its sign.

    >>> whole_number(3.0), whole_number(Decimal("1E+3")), whole_number(2.5), whole_number(True)
    (3, 1000, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if value >= _BEYOND_INT64:  # infinite, too
        return _BEYOND_INT64
    if value <= -_BEYOND_INT64:
        return -_BEYOND_INT64
    return int(value) if value == int(value) else None


def float_number(value: Plain) -> float | None:
    """A number as the nearest float64, None if it is no number; beyond float64 it is infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:  # only integers; decimals become infinite by themselves
        return math.inf if value > 0 else -math.inf


def _from_float(value: float | np.floating[Any]) -> float | Unplaced:
    with np.errstate(over="ignore"):  # a long double may be beyond float64
        number = float(value)
    return Unplaced.MISSING if math.isnan(number) else number


def _from_date(value: date) -> Day | Moment | Unplaced:
    if not isinstance(value, datetime):
        return Day(value.toordinal() - _EPOCH_ORDINAL)
    if _is_pandas(value, "NaTType"):
        return Unplaced.MISSING
    # a pandas Timestamp reaches beyond the years of Python's fields
    if hasattr(value, "to_datetime64"):
        found = _from_numpy_time(value.to_datetime64())
        return (
            Moment(found.microseconds, value.tzinfo is not None)
            if isinstance(found, Moment)
            else found
        )
    offset = value.utcoffset()
    seconds = (
        (value.toordinal() - _EPOCH_ORDINAL) * 86_400
        + value.hour * 3600
        + value.minute * 60
        + value.second
    )
    wall = seconds * 10**6 + value.microsecond
    return (
        Moment(wall, is_zoned=False)
        if offset is None
        else Moment(wall - offset // _MICROSECOND, is_zoned=True)
    )


def _from_numpy_time(value: np.datetime64) -> Day | Moment | Unplaced:
    if np.isnat(value):
        return Unplaced.MISSING
    unit, multiple = np.datetime_data(value.dtype)
    if unit not in _ATTOSECONDS:
        return Unplaced.UNREADABLE  # a year or a month is not a day
    microseconds = int(value.astype(np.int64)) * multiple * _ATTOSECONDS[unit] // _ATTOSECONDS["us"]
    if unit in ("W", "D"):
        return Day(microseconds // MICROSECONDS_PER_DAY)
    return Moment(microseconds, is_zoned=False)


def _from_arrow(value: pa.Scalar) -> Plain | Unplaced:
    kind = value.type
    if isinstance(value, pa.DictionaryScalar):
        return plain(value.value) if value.is_valid else Unplaced.MISSING
    if not value.is_valid:
        return Unplaced.MISSING
    if pa.types.is_timestamp(kind):
        attoseconds = value.value * _ATTOSECONDS[kind.unit]
        return Moment(attoseconds // _ATTOSECONDS["us"], is_zoned=kind.tz is not None)
    if pa.types.is_date32(kind):
        return Day(value.value)
    if pa.types.is_date64(kind):
        return Day(value.value // 86_400_000)
    if is_text_type(kind):
        # bytes that are no UTF-8 keep surrogates in their place: such a text is no number, no date
        # and no label
        return str(value.as_buffer().to_pybytes(), "utf-8", "surrogateescape")
    if pa.types.is_boolean(kind) or is_number_type(kind):
        return plain(value.as_py())
    return Unplaced.UNREADABLE


def _is_pandas(value: object, name: str) -> bool:
    """Whether a value is of a pandas class of this name, asked without importing pandas."""
    return type(value).__name__ == name and type(value).__module__.startswith("pandas.")
