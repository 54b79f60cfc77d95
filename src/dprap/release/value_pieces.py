"""Where the values of a numeric column lie inside its codes, as far as a condition lets them.

Every code falls into pieces between two values: the cells of its fine shape, cut by the condition.
Inside a piece values are evenly spread, on the column's lattice where it has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from dprap.array_types import Float64, Int64
from dprap.products import product
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.shape import weight_between
from dprap.schema.value_sets import WHOLE, ValueSet

Numbers = Float64[np.ndarray, " pieces"]


@dataclass(frozen=True)
class Pieces:
    """Pieces in increasing order: the code of each, its first and last value, the values between,
    its share of the code, and that of the whole cell which it is a part of.
    """

    code: Int64[np.ndarray, " pieces"]
    first: Numbers
    last: Numbers
    points: Numbers  # infinite where any float between first and last may occur
    share: Numbers
    cell: Numbers

    @classmethod
    def joined(cls, parts: Iterable[Pieces]) -> Pieces:
        """The pieces of several sets one after another; none where there is no set."""
        none = cls(np.empty(0, dtype=np.int64), *(np.empty(0) for _ in range(5)))
        found = (none, *parts)
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in found])
                for field in fields(cls)
            )
        )

    def of(self, which: np.ndarray) -> Pieces:
        """Some of the pieces, or all in another order, by their places or a mask."""
        return Pieces(*(getattr(self, field.name)[which] for field in fields(self)))

    @property
    def bounds(self) -> tuple[Numbers, Numbers]:
        """The least and the largest share of its code that each piece may have: none or, with the
        other pieces, all of it where the pieces are a part of the code.
        """
        if not self.code.size:
            return self.share, self.share
        held = np.bincount(self.code, self.share)[self.code]
        whole = held >= WHOLE
        most = np.maximum(self.share / held, self.cell)
        return np.where(whole, self.share, 0.0), np.where(whole, self.share, most)

    @property
    def mean(self) -> Numbers:
        """The mean of each piece's values."""
        return np.asarray((self.first + self.last) / 2)

    @property
    def mean_square(self) -> Numbers:
        """The mean square: of k values at equal distances, the variance is (last − first)²/12 · (k
        + 1)/(k − 1).
        """
        more = np.where(
            np.isinf(self.points), 1.0, (self.points + 1) / np.maximum(self.points - 1, 1)
        )
        return np.asarray(self.mean**2 + (self.last - self.first) ** 2 / 12 * more)

    def quantile(self, mass: Numbers, level: float) -> float:
        """The value below which, or at which, a share of the mass lies; inside a piece it is
        interpolated.
        """
        running = np.cumsum(mass)
        wanted = level * running[-1]
        at = _first_at(running - wanted, mass)
        inside = (
            0.0
            if mass[at] <= 0
            else float(np.clip((wanted - (running[at] - mass[at])) / mass[at], 0, 1))
        )
        if np.isinf(self.points[at]) or self.points[at] == 1:
            return float(self.first[at] + inside * (self.last[at] - self.first[at]))
        step = (self.last[at] - self.first[at]) / (self.points[at] - 1)
        return float(
            self.first[at] + step * min(np.floor(inside * self.points[at]), self.points[at] - 1)
        )

    def quantile_ends(self, masses: Masses, low: float, high: float) -> tuple[float, float]:
        """The ends of the bins between which the quantiles of two levels lie, wherever the values
        are in their bins.
        """
        codes, firsts, code_at = np.unique(self.code, return_index=True, return_inverse=True)
        lasts = np.full(len(codes), -np.inf)
        np.maximum.at(lasts, code_at, self.last)
        least, most = (np.bincount(code_at, mass) for mass in (masses.least, masses.most))
        at_least, at_most, moved = np.cumsum(least), np.cumsum(most), np.cumsum(most - least)
        first = _first_at(at_most - low * (at_least[-1] + moved), most)
        last = _first_at(at_least - high * (at_most[-1] - moved), most)
        return float(self.first[firsts[first]]), float(lasts[last])

    def mean_ends(self, masses: Masses) -> tuple[float, float]:
        """The least and the largest mean that are likely, wherever the values are.

        All values of a piece may stand at its first or its last value, but hardly those of all
        pieces at the same side: pieces are off by up to half their width independently of each
        other, so that their halves add up in squares. One piece alone may be off by all of it.
        """
        halves = masses.likely * (self.last - self.first) / 2
        spread = math.sqrt(float(product(halves, halves))) / float(masses.likely.sum())
        # 0 − x, as −x of 0 is shown with a minus
        least = 0.0 - _largest_mean(-self.mean, masses)
        return least - spread, _largest_mean(self.mean, masses) + spread


@dataclass(frozen=True)
class Masses:
    """The share of all records that each piece has, and the least and the most that it may have,
    wherever values lie in the cells that a condition cuts.
    """

    likely: Numbers
    least: Numbers
    most: Numbers

    @property
    def are_cut(self) -> bool:
        """Whether a condition cuts a cell that has records."""
        return bool((self.least < self.most).any())


def _first_at(over: Numbers, mass: Numbers) -> int:
    """The first piece with mass at which a running number is not below 0; the last one if there is
    none.
    """
    found = np.flatnonzero((over >= 0) & (mass > 0))
    return int(found[0]) if found.size else len(mass) - 1


def _largest_mean(values: Numbers, masses: Masses) -> float:
    """The largest mean of values with these masses.

    Those above it have their most and those below it their least, so it is the largest of the means
    with the most for so many of the largest values.
    """
    order = np.argsort(-values, kind="stable")
    values, least, more = values[order], masses.least[order], (masses.most - masses.least)[order]
    whole = least.sum() + np.concatenate([[0.0], np.cumsum(more)])
    sums = product(least, values) + np.concatenate([[0.0], np.cumsum(more * values)])
    return float((sums[whole > 0] / whole[whole > 0]).max())


def pieces_of(column: BinnedColumn, values: ValueSet | None) -> Pieces:
    """The pieces of a column's codes that hold values of a set; of all values where none is
    given.
    """
    wanted = column.all_values() if values is None else values
    cells = column.cells
    edges = column.bin_edges if cells is None else cells.edges
    code = np.arange(column.regular) if cells is None else cells.bin_of
    weight = np.ones(column.regular) if cells is None else cells.weights
    if column.decode == "representative":
        at = column.representative_values.astype(np.float64)
        held = np.any(
            [(at >= low) & (at < high) for low, high in wanted.intervals]
            or [np.zeros(len(at), bool)],
            axis=0,
        )
        points = np.ones(int(held.sum()))
        return Pieces(code[held], at[held], at[held], points, weight[held], weight[held])
    parts = []
    for low, high in wanted.intervals:
        starts, stops = np.clip(edges[:-1], low, high), np.clip(edges[1:], low, high)
        begin, end = column.first_steps(starts), column.first_steps(stops)
        all_first = column.first_steps(edges)
        if begin is None or end is None or all_first is None:
            share = (stops - starts) / (edges[1:] - edges[:-1])
            points = np.full(len(starts), np.inf)
            found = Pieces(code, starts, stops, points, weight * share, weight)
        else:
            whole = weight_between(all_first[:-1], all_first[1:] - 1, column.rounding)
            share = weight_between(begin, end - 1, column.rounding) / np.where(whole > 0, whole, 1)
            first, last = (column.step_values(each).astype(np.float64) for each in (begin, end - 1))
            points = (end - begin).astype(np.float64)
            found = Pieces(code, first, last, points, weight * share, weight)
        parts.append(found.of(found.share > 0))
    joined = Pieces.joined(parts)
    return joined.of(np.lexsort((joined.code, joined.first)))
