"""The fine shape of a column inside its bins: where decoding draws, and how much of a bin a
condition holds.

A histogram is public: declared with the schema, or found by noisy counts that a run paid for
(`dprap.mechanisms.refinement`). Its cells refine the bins, and each bin shares its records out
among its cells. Rounding habits say how much likelier a multiple of 5, 10, 50, … is than its
neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, FiniteFloat

from dprap.array_types import Float64, Int64, Num
from dprap.products import product
from dprap.schema.columns.base import Part

Edges = Num[np.ndarray, " edges"]
Steps = Int64[np.ndarray, " bins"]
StepsBetween = Callable[[Edges], tuple[Steps, Steps] | None]
"""First and last lattice step between each two edges; None where any float will do."""

# The distance of two bounds must be a float64 too.
_MAX_NUMBER = 8e307

# A value is drawn again at most this often to be a multiple of one number and not of the next.
_REDRAWS = 64


def _not_too_large(value: float) -> float:
    if abs(value) > _MAX_NUMBER:
        raise ValueError(f"lies beyond {_MAX_NUMBER:g}. Choose bounds that are nearer to zero")
    return value


Float64Bound = Annotated[FiniteFloat, AfterValidator(_not_too_large)]


class Histogram(Part):
    """A public, finer picture of a column: where inside its bins the values lie.

    `edges` are in the unit of the column's bins: the number itself, days or microseconds since
    1970.
    """

    edges: Annotated[tuple[Float64Bound, ...], Field(min_length=2)]
    weights: Annotated[tuple[Annotated[FiniteFloat, Field(ge=0)], ...], Field(min_length=1)]


Habits = tuple[tuple[Annotated[int, Field(ge=2)], Annotated[FiniteFloat, Field(ge=0)]], ...]
"""Rounding habits: pairs of a number m and how many times likelier its multiples are than other
values.

The numbers divide one another, smallest first; a value counts by the largest that divides it.
"""


@dataclass(frozen=True)
class Cells:
    """Where decoding draws: cells that refine the bins.

    The cells of bin b share out the interval from b to b + 1.
    """

    edges: Edges
    shares: Float64[np.ndarray, " edges"]
    bin_of: Int64[np.ndarray, " cells"]

    @property
    def weights(self) -> Float64[np.ndarray, " cells"]:
        """The share of its bin that each cell has."""
        return np.asarray(
            self.shares[1:] - np.maximum(self.shares[:-1], self.bin_of), dtype=np.float64
        )

    def draw(
        self, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> Int64[np.ndarray, " records"]:
        """A cell for each record, in its bin, by the cells' weights."""
        # strictly below the next whole number, where the next bin starts
        at = np.minimum(
            positions + rng.random(len(positions)), np.nextafter(positions + 1.0, -np.inf)
        )
        return np.asarray(np.searchsorted(self.shares, at, side="right") - 1)


def cells_of(histogram: Histogram, bin_edges: Edges, steps_between: StepsBetween) -> Cells:
    """The bins cut at the histogram's edges, weighted by it; a bin where it has no weight is
    uniform.
    """
    at = np.asarray(histogram.edges)
    cuts = (
        at
        if bin_edges.dtype == np.float64
        else np.ceil(np.clip(at, -(2.0**62), 2.0**62)).astype(np.int64)
    )
    inside = cuts[(cuts > bin_edges[0]) & (cuts < bin_edges[-1])]
    edges = np.union1d(bin_edges, inside)
    regular = len(bin_edges) - 1
    widths = np.diff(edges).astype(np.float64)
    place = np.searchsorted(at, edges[:-1] + widths / 2, side="right") - 1
    known = (place >= 0) & (place < len(at) - 1)
    place = np.where(known, place, 0)
    with np.errstate(over="ignore"):  # a part of the histogram may be far narrower than a cell
        share = np.minimum(widths / np.diff(at)[place], 1.0)
    weights = np.asarray(known * np.asarray(histogram.weights)[place] * share, dtype=np.float64)
    steps = steps_between(edges)
    holds = np.ones(len(widths), dtype=bool) if steps is None else steps[0] <= steps[1]
    bin_of = np.searchsorted(bin_edges, edges[:-1], side="right") - 1
    weightless = np.bincount(bin_of, weights * holds, minlength=regular) < 1e-200
    weights = np.asarray(np.where(weightless[bin_of], widths, weights) * holds, dtype=np.float64)
    weights /= np.bincount(bin_of, weights, minlength=regular)[bin_of]
    starts = np.searchsorted(edges, bin_edges)
    running = np.concatenate([[0.0], np.cumsum(weights)])
    base, end = running[starts[:-1]][bin_of], running[starts[1:]][bin_of]
    # exactly 1 from the last cell with weight on, so that rounding never leads into another bin
    shares = np.concatenate([[0.0], bin_of + (running[1:] - base) / (end - base)])
    return Cells(edges, shares, np.asarray(bin_of))


def check_habits(habits: Habits) -> None:
    """Raise ValueError unless each number divides the next."""
    numbers = [1, *(number for number, _ in habits)]
    if any(later <= earlier or later % earlier for earlier, later in pairwise(numbers)):
        raise ValueError(
            "rounding: each number must divide the next larger one, as in [[10, 3.0], [100, 5.0]]"
        )


def draw_between(
    first: Int64[np.ndarray, " records"],
    last: Int64[np.ndarray, " records"],
    habits: Habits,
    rng: np.random.Generator,
) -> Int64[np.ndarray, " records"]:
    """A whole number from `first` to `last` for each record, multiples as likely as the habits say.

    With chain numbers 1 = m_0 | m_1 | … and weights 1 = w_0, w_1, …, a number whose largest divisor
    in the chain is m_i has weight w_i. The class i is drawn first, with a chance in proportion to
    w_i times the numbers of that class between first and last, then one of them.
    """
    if not habits:
        return np.asarray(rng.integers(first, last, endpoint=True))
    numbers = np.array([1, *(number for number, _ in habits)], dtype=np.int64)
    low, high, alone = _multiples(first, last, numbers)
    chances = alone * np.array([1.0, *(weight for _, weight in habits)])
    total = chances.sum(axis=1)
    chances = np.where(total[:, None] > 0, chances, alone)
    running = np.cumsum(chances, axis=1)
    kind = (rng.random(len(first))[:, None] * running[:, -1:] >= running).sum(axis=1)
    kind = np.minimum(kind, len(numbers) - 1)
    at = np.arange(len(first))
    drawn = rng.integers(low[at, kind], high[at, kind], endpoint=True) * numbers[kind]
    coarser = np.where(kind + 1 < len(numbers), numbers[np.minimum(kind + 1, len(numbers) - 1)], 0)
    for _ in range(_REDRAWS):
        wrong = np.flatnonzero((coarser > 0) & (drawn % np.maximum(coarser, 1) == 0))
        if not wrong.size:
            break
        drawn[wrong] = (
            rng.integers(low[wrong, kind[wrong]], high[wrong, kind[wrong]], endpoint=True)
            * (numbers[kind[wrong]])
        )
    return np.asarray(drawn)


def weight_between(
    first: Int64[np.ndarray, " ranges"], last: Int64[np.ndarray, " ranges"], habits: Habits
) -> Float64[np.ndarray, " ranges"]:
    """The weight of all whole numbers from `first` to `last`, as `draw_between` weighs them; 0
    where there are none.
    """
    if not habits:
        return np.asarray(np.maximum(last - first + 1, 0), dtype=np.float64)
    numbers = np.array([1, *(number for number, _ in habits)], dtype=np.int64)
    _, _, alone = _multiples(first, last, numbers)
    return np.asarray(
        product(alone, np.array([1.0, *(weight for _, weight in habits)])), dtype=np.float64
    )


def _multiples(
    first: Int64[np.ndarray, " ranges"],
    last: Int64[np.ndarray, " ranges"],
    numbers: Int64[np.ndarray, " chain"],
) -> tuple[
    Int64[np.ndarray, "ranges chain"],
    Int64[np.ndarray, "ranges chain"],
    Int64[np.ndarray, "ranges chain"],
]:
    """First and last multiple of each number, as a factor; and how many are multiples of it and of
    no later one.
    """
    low = -(-first[:, None] // numbers)
    high = last[:, None] // numbers
    multiples = np.maximum(high - low + 1, 0)
    return (
        low,
        high,
        multiples - np.append(multiples[:, 1:], np.zeros((len(first), 1), np.int64), axis=1),
    )
