"""The interval of one count or mean, or of any statistic.

An interval is estimate ± half a width that is looked up in the release's error table, so making one
takes microseconds. It holds the noise of the measurements, what was not measured, and the fit. With
`population` it also holds sampling: the records are then taken as a random sample of a population,
and a count of x among n records has the variance x·(1 − x/n) more.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Float64
from dprap.errors import SettingsError
from dprap.release.intervals.basis import Basis
from dprap.release.intervals.combine import student_quantile
from dprap.release.intervals.error_table import Kind, mean_scale, z_of

if TYPE_CHECKING:
    from dprap.release.release import Release

DEFAULT_LEVEL = 0.95
# What the rounding of floats may take from an end that is a whole number.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Interval:
    """An estimate, and where the truth is with a given probability.

    `standard_error` is that of a normal error with the same interval. Both are None where nothing
    can be said honestly: "modelled, no interval". `places` are the least and the largest that the
    estimate may be by where values lie in their bins; the interval reaches beyond both. None where
    that makes no difference.

    >>> people = Interval(120.0, 100.0, 140.0, 10.2, 0.95, Basis.MEASURED)
    >>> print(people.times(1 / 1000))
    0.12 [0.1, 0.14] (measured)
    """

    estimate: float
    low: float | None
    high: float | None
    standard_error: float | None
    level: float
    basis: Basis
    population: bool = False
    places: tuple[float, float] | None = None

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return self.standard_error is not None

    @property
    def numbers(self) -> tuple[float, float, float] | None:
        """Standard error, lower end and upper end, where there is an interval."""
        if self.standard_error is None or self.low is None or self.high is None:
            return None
        return self.standard_error, self.low, self.high

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.estimate:,.4g} ({self.basis}, no interval)"
        return f"{self.estimate:,.4g} [{self.low:,.4g}, {self.high:,.4g}] ({self.basis})"

    def within(self, least: float, largest: float) -> Interval:
        """The interval cut to what the number can be; its error is no more than that lets it be.

        Args:
            least: The smallest number that is possible.
            largest: The largest.

        Returns:
            The interval; without ends, as it is.

        >>> print(Interval(30.0, 14.4, 45.6, 8.0, 0.95, Basis.MEASURED).within(30, 30))
        30 [30, 30] (measured)
        """
        if self.numbers is None:
            return self
        error, low, high = self.numbers
        # floats of the fit may pass an end by a little
        estimate = min(max(self.estimate, least), largest)
        farthest = max(estimate - least, largest - estimate)
        return replace(
            self,
            estimate=estimate,
            low=min(max(low, least), largest),
            high=max(min(high, largest), least),
            standard_error=min(error, farthest / z_of(self.level)),
        )

    def at_any_place(self, low: float, high: float, places: tuple[float, float]) -> Interval:
        """The interval with ends that hold every way in which values may lie in their bins.

        Args:
            low: The lower end.
            high: The upper end.
            places: The least and the largest that the estimate may be.

        Returns:
            The interval; its standard error is its half width over z.

        Raises:
            SettingsError: If the level makes no sense.

        >>> mean = Interval(45.0, 44.0, 46.0, 0.51, 0.95, Basis.MEASURED)
        >>> print(mean.at_any_place(39.5, 50.5, (40.5, 49.5)))
        45 [39.5, 50.5] (measured)
        """
        error = (high - low) / 2 / z_of(self.level)
        return replace(self, low=low, high=high, standard_error=error, places=places)

    @property
    def at_places(self) -> tuple[Interval, ...]:
        """The interval if values lie so that the estimate is least, and if it is largest; the
        interval itself where that makes no difference.
        """
        if self.places is None or self.low is None or self.high is None:
            return (self,)
        z, (least, most) = z_of(self.level), self.places
        # ends that were made whole numbers may pass an estimate by a part of a record
        below, above = max(least - self.low, 0.0), max(self.high - most, 0.0)
        return (
            replace(self, estimate=least, standard_error=below / z, places=None),
            replace(self, estimate=most, standard_error=above / z, places=None),
        )

    def times(self, factor: float) -> Interval:
        """The interval of the answer in another unit, such as a share instead of a count.

        Args:
            factor: What the answer is multiplied with.

        Returns:
            The interval in that unit.

        """
        ends = [None if end is None else end * factor for end in (self.low, self.high)]
        error = None if self.standard_error is None else self.standard_error * abs(factor)
        low, high = ends if factor >= 0 else reversed(ends)
        found = replace(
            self, estimate=self.estimate * factor, low=low, high=high, standard_error=error
        )
        if self.places is None:
            return found
        least, most = sorted(place * factor for place in self.places)
        return replace(found, places=(least, most))


def count_intervals(
    release: Release,
    columns: Sequence[str],
    counts: Float64[np.ndarray, " answers"],
    *,
    kind: Kind = Kind.CELL,
    level: float = DEFAULT_LEVEL,
    population: bool = False,
) -> list[Interval]:
    """Intervals of counts over the same columns: of cells, or of ranges.

    Args:
        release: The release.
        columns: The columns that the counts depend on.
        counts: The counts that the release gives.
        kind: Whether each count is of a single cell or a sum of cells.
        level: The probability that an interval holds the truth, between 0.5 and 0.99.
        population: Whether the statement is about a population of which the records are a sample.

    Returns:
        One interval for each count, cut to what a count can be: a whole number from 0 on, where the
        statement is about the records.

    Raises:
        SettingsError: If the level makes no sense.

    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(300), example_schema(), epsilon=5.0, kway=1, method="independent"
    ... )
    >>> (women,) = count_intervals(release, ("sex",), np.array([150.0]))
    >>> women.low < 150 < women.high
    True
    """
    counts = np.asarray(counts, dtype=np.float64)
    basis = release.grounds.basis_of(columns)
    z = z_of(level)
    most = float(release.rows) if release.rows_are_public else math.inf
    halves: Float64[np.ndarray, " answers"] | None
    if not columns:
        # All records are asked for, or none; shares of a fit are floats, which hit that roughly.
        whole, noise = counts > release.rows / 2, _noise_of_records(release)
        counts = np.where(whole, float(release.rows), 0.0)
        halves = None if noise is None else np.where(whole, z * noise, 0.0)
    elif release.errors is None:
        halves = None
    else:
        shape = release.schema.domain.shape_of(columns)
        halves = release.errors.half_widths(kind, shape, basis, counts, level)
        if halves is not None and release.rows_are_public:
            # What is not counted is a count too: of nearly all records, the rest is what is
            # uncertain.
            rest = release.errors.half_widths(kind, shape, basis, most - counts, level)
            halves = (
                halves
                if rest is None
                else np.where(counts > most / 2, np.minimum(halves, rest), halves)
            )
    if halves is None:
        return [
            Interval(float(count), None, None, None, level, basis, population) for count in counts
        ]
    if population:
        inside = np.clip(counts, 1.0, release.rows)
        halves = np.sqrt(halves**2 + z**2 * np.maximum(inside * (1 - inside / release.rows), 0))
    found = []
    for count, half in zip(counts, halves, strict=True):
        low, high = max(count - half, 0.0), min(count + half, most)
        if not population:
            low, high = _whole(low, high)
        found.append(
            Interval(
                float(count), float(low), float(high), float(half / z), level, basis, population
            )
        )
    return found


def from_least_to_most(estimate: float, least: Interval, most: Interval) -> Interval:
    """The interval of an answer that is somewhere between two others, as where a bin is cut.

    Args:
        estimate: The answer.
        least: The interval of the least that it may be.
        most: That of the most.

    Returns:
        From the lower end of the one to the upper end of the other; without ends where one has
        none, and `most` itself where both are the same.

    >>> none = Interval(0.0, 0.0, 4.0, 2.0, 0.95, Basis.MEASURED)
    >>> whole = Interval(120.0, 100.0, 140.0, 10.2, 0.95, Basis.MEASURED)
    >>> print(from_least_to_most(12.0, none, whole))
    12 [0, 140] (measured)
    """
    if least == most:
        return most
    if least.low is None or most.high is None:
        return Interval(estimate, None, None, None, most.level, most.basis, most.population)
    places = (min(least.estimate, estimate), max(most.estimate, estimate))
    return replace(most, estimate=estimate).at_any_place(least.low, most.high, places)


def _noise_of_records(release: Release) -> float | None:
    """The standard deviation of the number of records: that of the noisy total where it is private.

    Columns that were measured as well may have made the number surer than that. None without a
    total.
    """
    if release.rows_are_public:
        return 0.0
    totals = [
        item.stddev_counts
        for item in release.measurements
        if isinstance(item, Measurement) and not item.marginal.columns
    ]
    return sum(each**-2 for each in totals) ** -0.5 if totals else None


def _whole(low: float, high: float) -> tuple[float, float]:
    """The least and the largest whole number in an interval; those around it where it has none.

    A number of records is whole, so that nothing of what an interval holds is lost, and of a cell
    that is nearly surely empty the interval is 0 alone.
    """
    first, last = math.ceil(low - _ROUNDING), math.floor(high + _ROUNDING)
    return (first, last) if first <= last else (last, first)


def mean_interval(
    release: Release,
    columns: Sequence[str],
    mean: float,
    *,
    group_count: float,
    spread: float,
    column_spread: float,
    level: float = DEFAULT_LEVEL,
    population: bool = False,
) -> Interval:
    """The interval of the mean of a column within a group of records.

    Args:
        release: The release.
        columns: The columns that it depends on: the one that is averaged, and those of the group.
        mean: The mean that the release gives.
        group_count: The number of records of the group that the release gives.
        spread: The standard deviation of the values within the group that the release gives.
        column_spread: That of all values of the column.
        level: The probability that the interval holds the truth.
        population: Whether the statement is about a population; then spread²/group_count is added.

    Returns:
        The interval; without ends where nothing can be said.

    Raises:
        SettingsError: If the level makes no sense.

    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(300), example_schema(), epsilon=5.0, kway=1, method="independent"
    ... )
    >>> facts = {"group_count": 300, "spread": 20.0, "column_spread": 20.0}
    >>> mean_interval(release, ("age",), 45.0, **facts).estimate
    45.0
    """
    basis = release.grounds.basis_of(columns)
    table, size = release.errors, np.array([group_count])
    shape = release.schema.domain.shape_of(columns)
    halves = None if table is None else table.half_widths(Kind.MEAN, shape, basis, size, level)
    if halves is None:
        return Interval(mean, None, None, None, level, basis, population)
    half = float(halves[0] * mean_scale(size, np.array([spread**2]), column_spread**2)[0])
    z = z_of(level)
    if population:
        half = math.hypot(half, z * spread / math.sqrt(max(group_count, 1.0)))
    return Interval(mean, mean - half, mean + half, half / z, level, basis, population)


def statistic_interval(
    release: Release,
    statistic: Callable[[Release], float],
    *,
    columns: Sequence[str] | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of any statistic, from its values on draws of the release's rows; see
    `Release.statistic_interval`.
    """
    z_of(level)  # refuses levels that make no sense
    if not callable(statistic):
        raise SettingsError(
            "the statistic is a function of a release, such as lambda release:"
            " release.ask(...).count."
        )
    estimate = _number(statistic(release))
    values = np.array(
        [_number(statistic(replace(release, relaxed=rows, drawn=None))) for rows in release.draws]
    )
    basis = release.grounds.basis_of(release.schema.domain.names if columns is None else columns)
    if not (np.isfinite(values).all() and math.isfinite(estimate)):
        return Interval(estimate, None, None, None, level, basis)
    error = math.sqrt((1 + 1 / len(values)) * float(values.var(ddof=1)))
    half = student_quantile(len(values) - 1, level) * error
    return Interval(estimate, estimate - half, estimate + half, error, level, basis)


def _number(found: Any) -> float:
    """What a statistic returned, if it is one number."""
    is_scalar = getattr(found, "shape", None) == () and found.dtype.kind in "biuf"
    if not (is_scalar or isinstance(found, numbers.Real)):
        raise SettingsError(
            f"the statistic must return a number, not {type(found).__name__}. Return one, such as"
            " release.ask(...).count."
        )
    return float(found)
