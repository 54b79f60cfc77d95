"""Noisy counts of nested intervals, level by level, refined where they stand above the noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dprap.array_types import Float64, Int64
from dprap.mechanisms.refinement.planning import CLEAR, RefinementPlan
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.interval_levels import Starts

# Intervals of a level that are refined at most, those with the most records first: a level then has
# some thousand counts, which are drawn in a moment.
_MOST_REFINED = 512


@dataclass
class Level:
    """One measured level: where its intervals start, their noisy counts, and the noise of each.

    The last count is of null where the column has nulls.
    """

    starts: Starts
    counts: Float64[np.ndarray, " intervals"]
    stddev: float


@dataclass
class Search:
    """What was found of one column so far."""

    column: BinnedColumn
    levels: tuple[Starts, ...]
    found: list[Level] = field(default_factory=list)

    def next_starts(self) -> Starts:
        """The next level: intervals with a clear count are cut as the column says, the others
        stay.
        """
        finer = self.levels[len(self.found)]
        if not self.found:
            return finer
        last = self.found[-1]
        starts, counts = last.starts, last.counts[: len(last.starts)]
        clear = np.flatnonzero(counts > CLEAR * last.stddev)
        if len(clear) > _MOST_REFINED:
            clear = np.sort(clear[np.argsort(-counts[clear], kind="stable")[:_MOST_REFINED]])
        stops = np.append(starts[1:], self.column.regular)
        inside = [
            finer[np.searchsorted(finer, starts[i]) : np.searchsorted(finer, stops[i])]
            for i in clear
        ]
        return np.unique(np.concatenate([starts, *inside]))

    def marginal(self, name: str, starts: Starts) -> Marginal:
        """The level as a marginal over groups of codes; null is a group of its own."""
        groups = starts.tolist()
        if self.column.null_code is not None:
            groups.append(self.column.null_code)
        return Marginal((name,), (tuple(groups),))


def search(
    curator: Curator, plan: RefinementPlan, columns: Mapping[str, BinnedColumn]
) -> dict[str, Search]:
    """Measure all levels of all columns: one step for the first level of each, one for the second,
    and so on.
    """
    found = {
        column.name: Search(columns[column.name], columns[column.name].interval_levels())
        for column in plan.columns
    }
    curator.prepare([Marginal((column.name,)) for column in plan.columns])
    for depth in range(max(column.levels for column in plan.columns)):
        going = [column for column in plan.columns if column.levels > depth]
        starts = {column.name: found[column.name].next_starts() for column in going}
        measured = curator.measure(
            [found[name].marginal(name, level) for name, level in starts.items()],
            sum(column.level_rho for column in going),
            [column.level_rho for column in going],
        )
        for column, measurement in zip(going, measured, strict=True):
            counts = measurement.counts.astype(np.float64)
            found[column.name].found.append(
                Level(starts[column.name], counts, measurement.stddev_counts)
            )
    return found


def total(searches: Mapping[str, Search]) -> float:
    """The number of records by all levels of all columns, where it is private: each adds up to
    it.
    """
    levels = [level for each in searches.values() for level in each.found]
    sums: Int64[np.ndarray, " levels"] = np.array([level.counts.sum() for level in levels])
    variances = np.array([len(level.counts) * level.stddev**2 for level in levels])
    return max(float(np.average(sums, weights=1 / variances)), 1.0)
