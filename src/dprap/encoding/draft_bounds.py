"""Bounds for drafted columns of numbers: they look public, and are never a value of one person.

A bound lies on a grid of round numbers, so that it tells no more than which round numbers the data
lie between. Only in columns of few different values, which are drafted like categories, an end that
many records share stays as it is, and so do the values themselves where they lie far apart (such as
the logarithms of small whole numbers). Any other column of numbers needs no bins, since a run finds
its intervals, spikes and tails with noisy counts; but for one that runs over so many orders of
magnitude that no grid of equal steps holds it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dprap.array_types import Float64, Int64
from dprap.schema.bins import integer_grid_step, number_grid_decimals

# Up to so many steps between its least and largest value a column has a code for each.
_SINGLE_VALUES = 100

# Values that few records have may make up so much of a column whose other values are listed. Where
# these are no steps of a short scale, they are read as the listed value below them. A run stops
# where a policy changes 1% of a column, so that this is less.
_BETWEEN_LISTED = 0.0099

_STEPS = (1.0, 2.0, 5.0, 10.0)

# A bound that few records reach lies on a grid of at least so many steps, so that it is not their
# value.
_ROUND_STEPS = 5

# A run lays a grid of some hundred thousand equal steps between bounds. Where a larger share of the
# records lies below its first step, the grid would make zeros of them.
_BELOW_THE_GRID = 0.02

# Doubles hold so many digits, and a schema takes no more decimals.
_DIGITS = 15

# Of numbers with more decimals than this, the largest has so many digits; others are rather noise.
_LEAST_DIGITS = 9

# The first of the bins that grow holds about this share of the records.
_FIRST_BIN = 0.01

Values = Float64[np.ndarray, " values"]
Counts = Int64[np.ndarray, " values"]


def numeric_bounds(
    values: Values, counts: Counts, *, written: int, min_count: int
) -> tuple[dict[str, Any], int | None, str]:
    """Bounds of numbers, their decimals, None where any will do, and the reason in words.

    Args:
        values: Different values, increasing.
        counts: How many records have each.
        written: Digits after the point, as many as the values have; 0 for whole numbers.
        min_count: A bound that fewer records have is moved to a round number.

    """
    largest = float(np.abs(values).max())
    decimals = _decimals(written, largest, _LEAST_DIGITS if written > _LEAST_DIGITS else _DIGITS)
    step = 10.0**-decimals
    low, high = float(values[0]), float(values[-1])
    often = counts >= min_count
    is_listed = (
        0 < often.sum() <= _SINGLE_VALUES and counts[~often].sum() <= _BETWEEN_LISTED * counts.sum()
    )
    if decimals == 0 and high - low <= _SINGLE_VALUES:
        low, high = _single_bounds(values, counts, step, min_count)
        return (
            {"min": _tidy(low, 0), "max": _tidy(high, 0)},
            0,
            "few different values: one code each",
        )
    stride = int(np.gcd.reduce(np.rint((values - low) / step).astype(np.int64))) or 1
    are_steps = round((high - low) / step) <= _SINGLE_VALUES * stride
    if is_listed or are_steps:
        # by their values: of bins of one step each, the last would hold the two highest values
        reason = "few different values: one code each"
        if often.all():
            listed = values.tolist()
        elif are_steps:
            listed = _scale(values, counts, stride * step, min_count)
        else:
            listed = values[often].tolist()
            reason += "; rarer values are read as the listed one below"
        _, high = _round_bounds(low, high, step)
        listed = [_tidy(value, decimals) for value in listed]
        settings: dict[str, Any] = {
            "edges": [*listed, _tidy(max(high, listed[-1] + step), decimals)],
            "decode": "representative",
            "representatives": listed,
        }
        return settings, decimals, reason
    low, high = _round_bounds(low, high, step)
    if low == 0 and _is_beyond_the_grid(values, counts, high, decimals):
        edges, fine = _decades(values, counts, high, written)
        reason = "from small to large by far: bins at 1, 2 and 5 times powers of ten"
        return {"edges": edges}, fine, reason
    bounds = {"min": _tidy(low, decimals), "max": _tidy(high, decimals)}
    return bounds, decimals, "round bounds; a run finds the intervals between them with noise"


def _decimals(written: int, largest: float, digits: int) -> int:
    """As many decimals as are written, and as numbers of so many digits have up to the largest."""
    whole = math.ceil(math.log10(largest)) if largest > 0 else 0
    return min(written, max(0, digits - whole), _DIGITS)


def _round_bounds(low: float, high: float, step: float) -> tuple[float, float]:
    """Round numbers around the values; zero where the values reach near it from above.

    The grid has a tenth of the range, rounded up to 1, 2 or 5 times a power of ten.
    """
    unit = max(step, _nice((high - low) / 10))
    below = math.floor(low / unit + 1e-9) * unit
    if 0 < below < 0.2 * high:
        below = 0.0
    return below, math.ceil(high / unit - 1e-9) * unit


def _is_beyond_the_grid(values: Values, counts: Counts, high: float, decimals: int) -> bool:
    """Whether many values above zero are less than a step of the grid that a run would use."""
    step = (
        integer_grid_step(0, round(high))
        if decimals == 0
        else 10.0 ** -number_grid_decimals(0.0, high, decimals)
    )
    small = (values > 0) & (values < step)
    return bool(counts[small].sum() > _BELOW_THE_GRID * counts.sum())


def _decades(
    values: Values, counts: Counts, high: float, written: int
) -> tuple[list[float | int], int | None]:
    """Edges from a power of ten below nearly all values on, at 1, 2 and 5 times powers of ten, and
    the decimals that tell all of these apart.

    Zero has a bin of its own where it occurs. Where it does not, no value is rounded to it: the
    first bin begins at a power of ten, and decimals are left open if no number of them will do.
    """
    positive, number = values[values > 0], counts[values > 0]
    at = np.searchsorted(np.cumsum(number), _FIRST_BIN * number.sum())
    least, first = (math.floor(math.log10(float(each))) for each in (positive[0], positive[at]))
    decimals = _decimals(written, high, _DIGITS)
    if values[0] == 0:
        begin, first = [0.0, 10.0**-decimals], max(first, -decimals)
    else:
        begin = [float(f"1e{least}")]
    edges = [float(f"{digit}e{power}") for power in range(first, 20) for digit in (1, 2, 5)]
    inside = [edge for edge in edges if begin[-1] < edge < high]
    every = [*begin, *inside, high]
    if begin[0] > 0 and least < -decimals:
        return every, None
    return [_tidy(edge, decimals) for edge in every], decimals


def _nice(width: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below."""
    if width <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in _STEPS if factor * power >= width * (1 - 1e-9))


def _single_bounds(
    values: Values, counts: Counts, step: float, min_count: int
) -> tuple[float, float]:
    """Bounds that many records have, as the categories of a draft are values of many; else round
    ones beyond them.
    """
    low, high = float(values[0]), float(values[-1])
    unit = max(_ROUND_STEPS * step, _nice((high - low) / 10))
    if counts[0] < min_count:
        below = math.floor(low / unit + 1e-9) * unit
        low = below if below >= 0 or low < 0 else 0.0
    if counts[-1] < min_count:
        high = math.ceil(high / unit - 1e-9) * unit
    return low, high


def _scale(values: Values, counts: Counts, stride: float, min_count: int) -> list[float]:
    """All values in steps of a stride, as the values are, between bounds as of single values."""
    low, high = _single_bounds(values, counts, stride, min_count)
    first = float(values[0])
    begin = math.floor((low - first) / stride + 1e-6)
    end = math.ceil((high - first) / stride - 1e-6)
    return [first + number * stride for number in range(begin, end + 1)]


def _tidy(value: float, decimals: int) -> float | int:
    return round(value) if decimals == 0 else round(value, decimals)
