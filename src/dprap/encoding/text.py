"""Columns of text, read strictly and each text alone.

The meaning of a text is `column.read`. Plain forms, which are nearly all there are, are read by whole-array operations
that can raise for no text: a regular expression chooses them, and arithmetic on their digits does the rest. All other
texts are read one by one. Both ways give the same value, so it does not matter which one a text takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int64, Num

from dprap.schema import Column, Date, Datetime, Integer, Number
from dprap.schema.texts import read_moment

Parsed = tuple[Num[np.ndarray, "values"], Bool[np.ndarray, "values"]]

_INT64 = np.iinfo(np.int64)
# Arrow reads these without an error: 18 digits are within int64, 15 before the point are within float64.
_PLAIN_WHOLE = r"^-?[0-9]{1,18}$"
_PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,20})?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DATETIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
_WHOLE_SECONDS = 19  # characters of a date with a time of day up to the seconds


def parse(column: Column, texts: pa.StringArray | pa.LargeStringArray) -> Parsed:
    """Values in the unit of the column's bins, and which texts could be read. Nulls count as not read.

    Integers beyond int64 are at its ends, which lie outside the bounds of every column.
    """
    if not isinstance(column, Integer | Number | Date | Datetime):
        raise TypeError(f"{column.type} columns are looked up, not parsed")
    values = np.zeros(len(texts), dtype=column.bin_edges.dtype)
    readable = np.zeros(len(texts), dtype=bool)
    pattern, read_plain = _plain_form(column)
    is_plain = np.zeros(len(texts), dtype=bool)
    if pattern is not None:
        matches = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
        is_plain = matches.to_numpy(zero_copy_only=False)
        values[is_plain], readable[is_plain] = read_plain(column, texts if is_plain.all() else texts.filter(matches))
    rest = np.flatnonzero(~is_plain)
    for position, text in zip(rest, decoded(texts.take(pa.array(rest))), strict=True):
        value = None if text is None else column.read(text)
        if value is not None:
            is_float = values.dtype == np.float64
            values[position] = value if is_float else min(max(value, _INT64.min), _INT64.max)
            readable[position] = True
    return values, readable


def decoded(texts: pa.Array) -> list[str | None]:
    """Texts as Python strings; bytes that are no UTF-8 keep surrogates in their place, as in `values.plain`."""
    raw = texts.cast(pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary())
    return [None if each is None else each.decode("utf-8", "surrogateescape") for each in raw.to_pylist()]


def _plain_form(column: Column) -> tuple[str | None, Callable[[Column, pa.Array], Parsed]]:
    """The pattern of the texts that can be read together, and how."""
    if isinstance(column, Integer):
        return _PLAIN_WHOLE, lambda _, texts: _cast(texts, pa.int64())
    if isinstance(column, Number):
        return _PLAIN_NUMBER, lambda _, texts: _cast(texts, pa.float64())
    has_format = isinstance(column, Date | Datetime) and column.format is not None
    pattern = None if has_format else _DATE if isinstance(column, Date) else _DATETIME
    return pattern, _days if isinstance(column, Date) else _moments


def _cast(texts: pa.Array, kind: pa.DataType) -> Parsed:
    return texts.cast(kind).to_numpy(zero_copy_only=False), np.ones(len(texts), dtype=bool)


@dataclass(frozen=True)
class _Digits:
    """The bytes of ASCII texts, for numbers that stand at the same place in each."""

    starts: Int64[np.ndarray, "values"]
    data: np.ndarray

    @classmethod
    def of(cls, texts: pa.Array) -> _Digits:
        _, offsets, data = texts.buffers()
        width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        starts = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts)]
        return cls(starts.astype(np.int64), np.frombuffer(data or b"", dtype=np.uint8))

    def number(self, first: int, last: int) -> Int64[np.ndarray, "values"]:
        """The number that the digits from one place to another are."""
        number = np.zeros(len(self.starts), dtype=np.int32)
        for place in range(first, last + 1):
            number *= 10
            number += self.data[self.starts + place]
            number -= ord("0")
        return number.astype(np.int64)

    def days(self) -> tuple[Int64[np.ndarray, "values"], Bool[np.ndarray, "values"]]:
        """Days since 1970 of texts that start with YYYY-MM-DD, and which of these days exist."""
        year, month, day = self.number(0, 3), self.number(5, 6), self.number(8, 9)
        readable = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
        index = np.where(readable, (year - 1970) * 12 + month - 1, 0)
        # the first days of all months, once: the months of ten thousand years are few
        months = np.arange(-1970 * 12, (9999 - 1970) * 12 + 14).astype("datetime64[M]")
        firsts = months.astype("datetime64[D]").astype(np.int64)
        first, after = firsts[index + 1970 * 12], firsts[index + 1970 * 12 + 1]
        return first + day - 1, readable & (day <= after - first)


def _days(_: Column, texts: pa.Array) -> Parsed:
    return _Digits.of(texts).days()


def _moments(column: Column, texts: pa.Array) -> Parsed:
    digits = _Digits.of(texts)
    days, readable = digits.days()
    hour, minute, second = digits.number(11, 12), digits.number(14, 15), digits.number(17, 18)
    readable &= (hour <= 23) & (minute <= 59) & (second <= 59)
    # the pattern leaves ASCII only, so that a character is a byte; there are few different ends
    ends = pc.utf8_slice_codeunits(texts, _WHOLE_SECONDS).dictionary_encode()
    read = [read_moment("1970-01-01T00:00:00" + end) for end in ends.dictionary.to_pylist()]
    has_zone = isinstance(column, Datetime) and column.zone is not None
    fits = np.array([each is not None and each.is_zoned == has_zone for each in read], dtype=bool)
    added = np.array([0 if each is None else each.microseconds for each in read], dtype=np.int64)
    which = ends.indices.to_numpy(zero_copy_only=False)
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    return seconds * 10**6 + added[which], readable & fits[which]
