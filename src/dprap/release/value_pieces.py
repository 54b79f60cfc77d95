"""Where the values of a numeric column lie inside its codes, as far as a condition lets them.

Every code falls into pieces between two values: the cells of its fine shape, cut by the condition.
Inside a piece values are evenly spread, on the column's lattice where it has one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from dprap.array_types import Float64, Int64
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.shape import weight_between
from dprap.schema.value_sets import ValueSet

Numbers = Float64[np.ndarray, " pieces"]


@dataclass(frozen=True)
class Pieces:
    """Pieces in increasing order: the code of each, its first and last value, the values between,
    its share of the code.
    """

    code: Int64[np.ndarray, " pieces"]
    first: Numbers
    last: Numbers
    points: Numbers  # infinite where any float between first and last may occur
    share: Numbers

    @classmethod
    def joined(cls, parts: Iterable[Pieces]) -> Pieces:
        """The pieces of several sets one after another; none where there is no set."""
        none = cls(np.empty(0, dtype=np.int64), *(np.empty(0) for _ in range(4)))
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
        at = min(int(np.searchsorted(running, wanted, side="left")), len(mass) - 1)
        while mass[at] <= 0 and at + 1 < len(mass):
            at += 1
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
        return Pieces(code[held], at[held], at[held], np.ones(int(held.sum())), weight[held])
    parts = []
    for low, high in wanted.intervals:
        starts, stops = np.clip(edges[:-1], low, high), np.clip(edges[1:], low, high)
        begin, end = column.first_steps(starts), column.first_steps(stops)
        all_first = column.first_steps(edges)
        if begin is None or end is None or all_first is None:
            share = (stops - starts) / (edges[1:] - edges[:-1])
            found = Pieces(code, starts, stops, np.full(len(starts), np.inf), weight * share)
        else:
            whole = weight_between(all_first[:-1], all_first[1:] - 1, column.rounding)
            share = weight_between(begin, end - 1, column.rounding) / np.where(whole > 0, whole, 1)
            first, last = (column.step_values(each).astype(np.float64) for each in (begin, end - 1))
            found = Pieces(code, first, last, (end - begin).astype(np.float64), weight * share)
        parts.append(found.of(found.share > 0))
    joined = Pieces.joined(parts)
    return joined.of(np.lexsort((joined.code, joined.first)))
