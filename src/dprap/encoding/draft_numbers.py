"""What a draft proposes for numbers: bounds, decimals, codes of missing values; or that they are
identifiers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.encoding.draft_bounds import numeric_bounds
from dprap.encoding.draft_proposal import LOOKED_AT, MIN_COUNT, Proposal
from dprap.encoding.recognise_names import looks_like_id
from dprap.schema.columns.base import INTEGER_STORAGE

# Codes that surveys use for "don't know", "refused" and the like, with as many digits as the
# questions have.
_CODES = (
    *(77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999, 99999, 999999),
    *(99.9, 99.99, 999.9, 999.99, 9999.9, 9999.99),
)
_NEGATIVE_CODES = (-1, -2, -7, -8, -9, -77, -88, -97, -98, -99, -999, -9999, -99999)

# Scales of answers run from 1 to one of these, and single digits beyond a gap are then codes.
_SCALE_ENDS = (4, 5, 6)
_DIGIT_CODES = (8, 9)

# A code lies this many times the range of all other values away from them: no scale has such a gap.
_GAP = 3

# Whole numbers are drawn without repetition, as identifiers are, where chance would give so many
# repetitions and there is none.
_REPEATED = 10

# Identifiers such as numbers of insurance or accounts have at least so many digits, all of them
# equally many.
_ID_DIGITS = 9

# Seconds since 1970 from 2001 to 2065: ten digits that are no identifier.
_EPOCH = (1_000_000_000, 3_000_000_000)


def typed_numbers(name: str, seen: Mapping[Any, int], rows: int, kind: pa.DataType) -> Proposal:
    """A proposal for a column of a number type of Arrow."""
    numbers = {float(value): count for value, count in seen.items()}
    if pa.types.is_decimal(kind) and kind.scale == 0:
        found = number_proposal(name, numbers, rows, 0, has_fraction=False)
        # Longer ones hold more than int64 does; their values are whole numbers all the same.
        fits = found.settings is not None and kind.precision <= 18
        return found.having({"storage": f"decimal128({kind.precision}, 0)"}) if fits else found
    if pa.types.is_decimal(kind):
        found = number_proposal(name, numbers, rows, min(max(kind.scale, 0), 9), has_fraction=True)
        fits = kind.precision <= 15 and kind.scale >= 0 and found.settings is not None
        return (
            found.having({"storage": f"decimal128({kind.precision}, {kind.scale})"})
            if fits
            else found
        )
    if pa.types.is_floating(kind):
        return _floats(name, numbers, rows, kind)
    found = number_proposal(name, numbers, rows, 0, has_fraction=False)
    fits = (
        found.settings is not None
        and str(kind) in INTEGER_STORAGE[:-1]
        and _fits(found.settings, kind)
    )
    return found.having({"storage": str(kind)}) if fits else found


def _floats(name: str, numbers: Mapping[float, int], rows: int, kind: pa.DataType) -> Proposal:
    is_short = kind in (pa.float32(), pa.float16())
    whole = all(value.is_integer() and abs(value) < 2**53 for value in numbers)
    decimals = 0
    if not whole:
        looked_at = list(numbers)[:LOOKED_AT]
        decimals = max(decimals_of(round(value, 6) if is_short else value) for value in looked_at)
    if is_short and decimals:
        # a float of 32 bits has 24 binary digits: steps must be wide enough to be told apart at the
        # largest value
        largest = max(abs(value) for value in numbers)
        decimals = min(decimals, max(0, math.floor(-math.log10(max(largest, 1e-6) * 2.0**-21))))
    found = number_proposal(name, numbers, rows, decimals, has_fraction=not whole)
    if found.settings is None:
        return found
    if found.settings["type"] == "integer":
        return found.having({"storage": "float64"})  # integers with nulls, as pandas keeps them
    return found.having({"storage": "float32"}) if kind == pa.float32() else found


def _fits(settings: Mapping[str, Any], kind: pa.DataType) -> bool:
    bits = kind.bit_width - (not pa.types.is_unsigned_integer(kind))
    least = 0 if pa.types.is_unsigned_integer(kind) else -(2**bits)
    low, *_, high = settings.get("edges") or (settings["min"], settings["max"])
    return bool(low >= least and high < 2**bits)


def decimals_of(value: float) -> int:
    """Digits after the point of the shortest text that gives the same number."""
    return max(0, -Decimal(repr(value)).normalize().as_tuple().exponent) if value == value else 0  # type: ignore[operator]


def number_proposal(
    name: str, seen: Mapping[float, int], rows: int, decimals: int, *, has_fraction: bool
) -> Proposal:
    """Numbers, whatever they were written as."""
    if not seen:
        return Proposal(None, "has no finite values")
    values = np.array(sorted(seen), dtype=np.float64)
    counts = np.array([seen[value] for value in values.tolist()], dtype=np.int64)
    is_integer = decimals == 0 and not has_fraction
    if is_integer and _is_id(name, values, counts, rows):
        return Proposal(None, "row numbers or identifiers: every record has its own whole number")
    codes = missing_codes(values, counts)
    if codes:
        kept = ~np.isin(values, codes)
        values, counts = values[kept], counts[kept]
    question = _odd_end(values, counts)
    largest = float(np.abs(values).max())
    if largest >= 2**52:
        return Proposal(
            None,
            "numbers too large for bins, such as account numbers. Describe the column by hand if it"
            " is none",
        )
    bins, fine, reason = numeric_bounds(values, counts, written=decimals, min_count=MIN_COUNT)
    settings: dict[str, Any] = {"type": "integer" if is_integer else "number", **bins}
    if not is_integer and fine is not None:
        settings["decimals"] = fine
    settings["out_of_domain"] = "clip"
    if codes:
        settings["null_values"] = [f"{value:.15g}" for value in codes]
        reason += f"; {', '.join(settings['null_values'])} taken as codes of missing values"
        question = question or "Do the codes in null_values mean that there is no answer?"
    if decimals > 0 and any(part in name.lower() for part in ("lat", "lon", "lng")):
        reason += "; coordinates" if largest <= 180 else ""
    taken = ("min", "max", "edges", "representatives", "decimals", "null_values")
    from_data = tuple(key for key in taken if key in settings)
    return Proposal(settings, reason, from_data, question)


def _is_id(name: str, values: np.ndarray, counts: np.ndarray, rows: int) -> bool:
    """Whether nearly every record has its own number, as no quantity has it."""
    if len(values) < max(MIN_COUNT, 0.9 * rows) or int(counts.max()) > 2:
        return False
    span = float(values[-1] - values[0])
    if span <= 1.5 * rows or looks_like_id(name):
        return True
    if int(counts.max()) > 1:
        return False
    expected = len(values) ** 2 / (2 * max(span, 1.0))
    digits = {len(str(int(abs(value)))) for value in (values[0], values[-1])}
    is_long = (
        len(digits) == 1
        and digits.pop() >= _ID_DIGITS
        and not _EPOCH[0] <= values[0] <= values[-1] <= _EPOCH[1]
    )
    return bool(expected > _REPEATED or is_long)


def missing_codes(values: np.ndarray, counts: np.ndarray) -> list[float]:
    """Codes of missing values: they lie beyond a gap that no scale has, or are the only negative
    values.

    >>> missing_codes(np.array([1.0, 2, 3, 4, 5, 98, 99]), np.full(7, 30))
    [98.0, 99.0]
    >>> missing_codes(np.array([1.0, 2, 3, 4, 5, 8, 9]), np.full(7, 30))
    [8.0, 9.0]
    """
    scale = values[~np.isin(values, _DIGIT_CODES)]
    if len(scale) in _SCALE_ENDS and np.array_equal(scale, np.arange(1, len(scale) + 1)):
        return [float(value) for value in values[len(scale) :]]
    possible = {float(code) for code in (*_CODES, *_NEGATIVE_CODES)}
    rest = values[~np.isin(values, list(possible))]
    if len(rest) < 2:
        return []
    low, high = float(rest[0]), float(rest[-1])
    gap = _GAP * (high - low)
    found = [code for code in map(float, _CODES) if code > 2 * high and code - high >= gap]
    if low >= 0:
        found += map(float, _NEGATIVE_CODES)
    else:
        found += [
            code for code in map(float, _NEGATIVE_CODES) if code < 2 * low and low - code >= gap
        ]
    often = {float(value) for value, count in zip(values, counts, strict=True) if count >= 2}
    return sorted(often.intersection(found))


def _odd_end(values: np.ndarray, counts: np.ndarray) -> str | None:
    """A question about a value of nines far above all others, which may be a code or a cap."""
    last = int(values[-1]) if len(values) > 10 and float(values[-1]).is_integer() else 0
    if (
        last >= 999
        and set(str(last)) == {"9"}
        and counts[-1] >= MIN_COUNT
        and values[-2] < 0.9 * values[-1]
    ):
        return f"Is {last} a value, a cap, or a code for a missing value? It is drafted as a value."
    return None
