"""Arrays of plain texts, which are nearly all there are, read by whole-array operations that can
raise for no text.

A column chooses them by a regular expression, and arithmetic on their digits does the rest. All
other texts are read one by one. Both ways give the same value, so it does not matter which one a
text takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from dprap.array_types import Bool, Int64, Num
from dprap.schema.texts import read_moment

Parsed: TypeAlias = tuple[Num[np.ndarray, " values"], Bool[np.ndarray, " values"]]
"""Values in the unit of a column's bins, and which texts could be read."""

# Arrow reads these without an error: 18 digits are within int64, 15 before the point are within
# float64.
PLAIN_WHOLE = r"^-?[0-9]{1,18}$"
PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,20})?$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
DATETIME = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}["
    r" T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
_WHOLE_SECONDS = 19  # characters of a date with a time of day up to the seconds


def cast_numbers(texts: pa.Array, kind: pa.DataType) -> Parsed:
    """Texts of the form PLAIN_WHOLE or PLAIN_NUMBER as numbers of an Arrow type."""
    return texts.cast(kind).to_numpy(zero_copy_only=False), np.ones(len(texts), dtype=bool)


def read_days(texts: pa.Array) -> Parsed:
    """Texts of the form DATE as days since 1970-01-01."""
    return _Digits.of(texts).days()


def read_moments(texts: pa.Array, *, is_zoned: bool) -> Parsed:
    """Texts of the form DATETIME, all with a zone or all without, as microseconds since 1970."""
    digits = _Digits.of(texts)
    days, readable = digits.days()
    hour, minute, second = digits.number(11, 12), digits.number(14, 15), digits.number(17, 18)
    readable &= (hour <= 23) & (minute <= 59) & (second <= 59)
    # the pattern leaves ASCII only, so that a character is a byte; there are few different ends
    import pyarrow.compute as pc

    ends = pc.utf8_slice_codeunits(texts, _WHOLE_SECONDS).dictionary_encode()
    read = [read_moment("1970-01-01T00:00:00" + end) for end in ends.dictionary.to_pylist()]
    fits = np.array([each is not None and each.is_zoned == is_zoned for each in read], dtype=bool)
    added = np.array([0 if each is None else each.microseconds for each in read], dtype=np.int64)
    which = ends.indices.to_numpy(zero_copy_only=False)
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    return seconds * 10**6 + added[which], readable & fits[which]


@dataclass(frozen=True)
class _Digits:
    """The bytes of ASCII texts, for numbers that stand at the same place in each."""

    starts: Int64[np.ndarray, " values"]
    data: np.ndarray

    @classmethod
    def of(cls, texts: pa.Array) -> _Digits:
        _, offsets, data = texts.buffers()
        width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        starts = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts)]
        return cls(starts.astype(np.int64), np.frombuffer(data or b"", dtype=np.uint8))

    def number(self, first: int, last: int) -> Int64[np.ndarray, " values"]:
        """The number that the digits from one place to another are."""
        number = np.zeros(len(self.starts), dtype=np.int32)
        for place in range(first, last + 1):
            number *= 10
            number += self.data[self.starts + place]
            number -= ord("0")
        return number.astype(np.int64)

    def days(self) -> tuple[Int64[np.ndarray, " values"], Bool[np.ndarray, " values"]]:
        """Days since 1970 of texts that start with YYYY-MM-DD, and which of these days exist."""
        year, month, day = self.number(0, 3), self.number(5, 6), self.number(8, 9)
        readable = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
        index = np.where(readable, (year - 1970) * 12 + month - 1, 0)
        # the first days of all months, once: the months of ten thousand years are few
        months = np.arange(-1970 * 12, (9999 - 1970) * 12 + 14).astype("datetime64[M]")
        firsts = months.astype("datetime64[D]").astype(np.int64)
        first, after = firsts[index + 1970 * 12], firsts[index + 1970 * 12 + 1]
        return first + day - 1, readable & (day <= after - first)
