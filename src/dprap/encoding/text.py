"""Text, read strictly: only plain forms of numbers, ISO dates (or the declared format); anything else is unreadable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float64, Int64, Num

from dprap.schema import Column, Date, Datetime, Integer, Number
from dprap.schema.bins import days_since_epoch, microseconds_since_epoch

Parsed = tuple[Num[np.ndarray, "values"], Bool[np.ndarray, "values"]]

_WHOLE = r"^[+-]?[0-9]{1,18}$"
_WHOLE_LONG = r"^[+-]?[0-9]{1,300}(\.0*)?$"
_NUMBER = r"^[+-]?([0-9]{1,300}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DATETIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2}(:?[0-9]{2})?)?)?$"


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def parse(column: Column, texts: pa.StringArray) -> Parsed:
    """Values in the unit of the column's bins, and which texts could be read. Nulls count as not read."""
    if isinstance(column, Integer):
        return _integers(texts)
    if isinstance(column, Number):
        return _numbers(texts)
    if isinstance(column, Date):
        return _dates(column, texts)
    if isinstance(column, Datetime):
        return _instants(column, texts)
    raise TypeError(f"{column.type} columns are looked up, not parsed")


def to_int64(floats: Float64[np.ndarray, "values"]) -> Int64[np.ndarray, "values"]:
    """Floats as int64, those beyond its range at its ends."""
    return np.asarray(np.clip(floats, -(2.0**63), 2.0**63 - 1024), dtype=np.int64)


def _integers(texts: pa.StringArray) -> Parsed:
    values, readable = _cast(texts, _WHOLE, pa.int64())
    if not readable.all():
        # more than 18 digits, or 12.0 as floats print whole numbers
        matches = pc.fill_null(pc.match_substring_regex(texts, _WHOLE_LONG), fill_value=False)
        others = pc.if_else(matches, texts, "")
        long, long_readable = _each(others, lambda text: min(max(int(text.partition(".")[0]), -(2**63)), 2**63 - 1))
        values, readable = np.where(readable, values, long), readable | long_readable
    return values, readable


def _numbers(texts: pa.StringArray) -> Parsed:
    return _cast(texts, _NUMBER, pa.float64())


def _cast(texts: pa.StringArray, pattern: str, kind: pa.DataType) -> Parsed:
    matches = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
    # Arrow does not read a leading plus
    plain = pc.replace_substring_regex(pc.if_else(matches, texts, "0"), r"^\+", "")
    return plain.cast(kind).to_numpy(zero_copy_only=False), matches.to_numpy(zero_copy_only=False)


def _dates(column: Date, texts: pa.StringArray) -> Parsed:
    if column.format is not None:
        form = column.format
        return _each(texts, lambda text: days_since_epoch(datetime.strptime(text, form).date()))  # noqa: DTZ007
    matches = pc.fill_null(pc.match_substring_regex(texts, _DATE), fill_value=False)
    try:
        days = pc.if_else(matches, texts, "1970-01-01").cast(pa.date32()).cast(pa.int32())
    except pa.ArrowInvalid:  # a day that does not exist
        return _each(pc.if_else(matches, texts, ""), lambda text: days_since_epoch(date.fromisoformat(text)))
    return days.to_numpy(zero_copy_only=False).astype(np.int64), matches.to_numpy(zero_copy_only=False)


def _instants(column: Datetime, texts: pa.StringArray) -> Parsed:
    zone = column.zone

    def micros(instant: datetime) -> int:
        if (instant.tzinfo is None) != (zone is None):
            raise ValueError("zone")
        return microseconds_since_epoch(instant, zone)

    if column.format is not None:
        form = column.format
        return _each(texts, lambda text: micros(datetime.strptime(text, form)))  # noqa: DTZ007
    matches = pc.fill_null(pc.match_substring_regex(texts, _DATETIME), fill_value=False)
    filler = "1970-01-01 00:00:00Z" if zone else "1970-01-01 00:00:00"
    try:
        instants = pc.if_else(matches, texts, filler).cast(pa.timestamp("us", "UTC" if zone else None)).cast(pa.int64())
    except pa.ArrowInvalid:  # a time that does not exist, or an offset where none is declared
        return _each(pc.if_else(matches, texts, ""), lambda text: micros(datetime.fromisoformat(text)))
    return instants.to_numpy(zero_copy_only=False), matches.to_numpy(zero_copy_only=False)


def _each(texts: pa.StringArray, read: Callable[[str], int]) -> Parsed:
    values = np.zeros(len(texts), dtype=np.int64)
    readable = np.zeros(len(texts), dtype=bool)
    for position, text in enumerate(texts.to_pylist()):
        try:
            values[position] = read(text)
            readable[position] = True
        except (ValueError, TypeError, OverflowError):  # not in the form: stays unreadable
            continue
    return values, readable
