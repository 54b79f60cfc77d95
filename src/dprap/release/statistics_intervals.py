"""Intervals of means, sums and quantiles that a question asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dprap.products import product
from dprap.queries import Marginal
from dprap.release.intervals import Interval, Kind, compound
from dprap.release.intervals.interval import count_intervals, mean_interval
from dprap.release.release import Release
from dprap.release.statistics_language import Statistic
from dprap.release.value_pieces import pieces_of
from dprap.schema.columns.binned import BinnedColumn


@dataclass(frozen=True)
class Sureness:
    """How sure the groups of a question are: of which release, at which level, about records or a population."""

    release: Release
    asked: Statistic
    level: float
    population: bool
    by: tuple[str, ...] = ()

    def of_groups(self, by: tuple[str, ...]) -> Sureness:
        """The same for groups by the values of some columns."""
        return replace(self, by=by)

    def mean(self, count: float, mean: float, spread: float) -> Interval:
        """The interval of a mean among so many records with that standard deviation."""
        return mean_interval(
            self.release,
            (*self.asked.columns, *self._group),
            mean,
            group_count=count,
            spread=spread,
            column_spread=self._column_spread,
            level=self.level,
            population=self.population,
        )

    def sum(self, count: float, mean: Interval) -> Interval:
        """The interval of a sum: of the number of records times their mean."""
        return compound.product(self._counts(self._group, count)[0], mean)

    def quantile(self, count: float, value_at: Callable[[float], float], probability: float) -> Interval:
        """The interval of a quantile among so many records."""
        columns = (*self.asked.columns, *self._group)
        below, above = self._counts(columns, probability * count, (1 - probability) * count)
        return compound.quantile(value_at, compound.share(below, above))

    def _counts(self, columns: tuple[str, ...], *counts: float) -> list[Interval]:
        return count_intervals(
            self.release, columns, np.array(counts), kind=Kind.RANGE, level=self.level, population=self.population
        )

    @cached_property
    def _group(self) -> tuple[str, ...]:
        """The columns that decide who is in a group."""
        conditions = [name for name in self.release.schema.columns if any(name in box for box in self.asked.boxes)]
        return tuple(name for name in dict.fromkeys((*self.by, *conditions)) if name not in self.asked.columns)

    @cached_property
    def _column_spread(self) -> float:
        """The standard deviation of all values of the column."""
        if self.release.errors is None:
            return 0.0
        (name,) = self.asked.columns
        column = self.release.schema.columns[name]
        assert isinstance(column, BinnedColumn)  # noqa: S101 - the parser lets no other through
        pieces = pieces_of(column, None)
        mass = np.asarray(self.release.shares(Marginal((name,)))[0], dtype=np.float64)[pieces.code] * pieces.share
        if mass.sum() <= 0:
            return 0.0
        mass = mass / mass.sum()
        return float(np.sqrt(max(product(mass, pieces.mean_square) - product(mass, pieces.mean) ** 2, 0.0)))
