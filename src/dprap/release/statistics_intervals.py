"""Intervals of means, sums and quantiles that a question asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dprap.products import product
from dprap.queries import Marginal
from dprap.release.hidden_codes import HiddenCodes, hidden_codes, noise_of_codes
from dprap.release.intervals import Interval, Kind, compound
from dprap.release.intervals.error_table import z_of
from dprap.release.intervals.interval import (
    count_intervals,
    from_least_to_most,
    mean_interval,
)
from dprap.release.release import Release
from dprap.release.statistics_language import Statistic
from dprap.release.value_pieces import Masses, Numbers, Pieces, pieces_of
from dprap.schema.columns.binned import BinnedColumn


@dataclass(frozen=True)
class Sureness:
    """How sure the groups of a question are: of which release, at which level, about records or a
    population.
    """

    release: Release
    asked: Statistic
    level: float
    population: bool
    by: tuple[str, ...] = ()

    def of_groups(self, by: tuple[str, ...]) -> Sureness:
        """The same for groups by the values of some columns."""
        return replace(self, by=by)

    def mean(
        self,
        count: float,
        mean: float,
        spread: float,
        pieces: Pieces,
        masses: Masses,
        hidden: HiddenCodes | None,
    ) -> Interval:
        """The interval of a mean among so many records with that standard deviation, as far as the
        pieces let it be, wherever values lie in them.
        """
        found = mean_interval(
            self.release,
            (*self.asked.columns, *self._group),
            mean,
            group_count=count,
            spread=spread,
            column_spread=self._column_spread,
            level=self.level,
            population=self.population,
        )
        if found.standard_error is None:
            return found
        error = math.hypot(found.standard_error, 0.0 if hidden is None else hidden.error)
        half = z_of(self.level) * error
        least, largest = float(pieces.first.min()), float(pieces.last.max())
        if (pieces.first == pieces.last).all() and not masses.are_cut:
            uncut = replace(found, low=mean - half, high=mean + half, standard_error=error)
            return uncut.within(least, largest)
        low, high = pieces.mean_ends(masses)
        ends = max(low - half, least), min(high + half, largest)
        return found.at_any_place(*ends, (low, high))

    def hidden(self, pieces: Pieces, mass: Numbers) -> HiddenCodes | None:
        """What codes that are hidden in the noise do to the mean of these pieces; `mass` is their
        share of all records.
        """
        codes, at = np.unique(pieces.code, return_inverse=True)
        counts = np.bincount(at, mass) * self.release.rows
        values = np.bincount(at, pieces.share * pieces.mean) / np.bincount(at, pieces.share)
        # The noise of a code falls apart into that of its groups, of which the variances add up.
        part = (
            math.inf
            if self._column_noise is None
            else self._column_noise * math.sqrt(counts.sum() / self.release.rows)
        )
        noise = min(part, math.inf if self._noise is None else self._noise)
        found = None if math.isinf(noise) else hidden_codes(noise, counts, values)
        return (
            None
            if found is None
            else replace(found, first=int(codes[found.first]), last=int(codes[found.last]))
        )

    @cached_property
    def _noise(self) -> float | None:
        """The noise of a code's count within a group."""
        conditions = tuple(name for name in self._group if name not in self.by)
        return noise_of_codes(self.release, self.asked.columns[0], self.by, conditions)

    @cached_property
    def _column_noise(self) -> float | None:
        """The noise of a code's count among all records."""
        return noise_of_codes(self.release, self.asked.columns[0], (), ())

    def sum(self, masses: Masses, mean: Interval) -> Interval:
        """The interval of a sum: of the number of records times their mean.

        A condition on the column itself decides how many records there are, too, and so does which
        values are missing.
        """
        (name,) = self.asked.columns
        column = self.release.schema.columns[name]
        all_have_one = column.size == column.regular
        columns = self._deciding if all_have_one else dict.fromkeys((name, *self._deciding))
        shares = (masses.likely.sum(), masses.least.sum(), masses.most.sum())
        found, *ends = self._counts(tuple(columns), *(each * self.release.rows for each in shares))
        if masses.are_cut:
            found = from_least_to_most(found.estimate, *ends)
        return compound.product(found, mean)

    def quantile(
        self, count: float, pieces: Pieces, masses: Masses, probability: float
    ) -> Interval:
        """The interval of a quantile among so many records, over the whole of the bins in which
        its ends lie.
        """
        columns = (*self.asked.columns, *self._group)
        below, above = self._counts(columns, probability * count, (1 - probability) * count)
        return compound.quantile(
            lambda level: pieces.quantile(masses.likely, level),
            compound.share(below, above),
            lambda low, high: pieces.quantile_ends(masses, low, high),
        )

    def _counts(self, columns: tuple[str, ...], *counts: float) -> list[Interval]:
        return count_intervals(
            self.release,
            columns,
            np.array(counts),
            kind=Kind.RANGE,
            level=self.level,
            population=self.population,
        )

    @cached_property
    def _deciding(self) -> tuple[str, ...]:
        """The columns that decide which records are counted."""
        conditions = [
            name
            for name in self.release.schema.columns
            if any(name in box for box in self.asked.boxes)
        ]
        return tuple(dict.fromkeys((*self.by, *conditions)))

    @cached_property
    def _group(self) -> tuple[str, ...]:
        """The columns besides the one asked about that decide who is in a group."""
        return tuple(name for name in self._deciding if name not in self.asked.columns)

    @cached_property
    def _column_spread(self) -> float:
        """The standard deviation of all values of the column."""
        if self.release.errors is None:
            return 0.0
        (name,) = self.asked.columns
        column = self.release.schema.columns[name]
        assert isinstance(column, BinnedColumn)  # noqa: S101 - the parser lets no other through
        pieces = pieces_of(column, None)
        mass = (
            np.asarray(self.release.shares(Marginal((name,)))[0], dtype=np.float64)[pieces.code]
            * pieces.share
        )
        if mass.sum() <= 0:
            return 0.0
        mass = mass / mass.sum()
        return float(
            np.sqrt(max(product(mass, pieces.mean_square) - product(mass, pieces.mean) ** 2, 0.0))
        )
