"""Answer a question from a release: how many records, which share, and how sure that is.

The count comes from the relaxed rows (or, for methods without them, from the published answers).
Where a measured marginal covers the question's columns, its own noisy count stands beside it: the
sum of the m cells asked for, with standard error σ·√m, unless a cell is asked for in part. Where
the question is a query of the workload, the certificate bounds its error, and says whether it
covers the same count in the synthetic table. Every count has an interval where the release's error
table covers its class (`dprap.release.intervals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprap.display import ShownAsLines, aligned
from dprap.errors import WorkloadError
from dprap.release import breakdown
from dprap.release.certified import TableBound, published_table, rounded_up
from dprap.release.intervals import Basis, Interval, Kind
from dprap.release.intervals.interval import (
    DEFAULT_LEVEL,
    count_intervals,
    from_least_to_most,
)
from dprap.release.question_language import parse
from dprap.release.release import Release

if TYPE_CHECKING:
    import pandas as pd

MAX_GROUPS = 10_000
"""Most lines of a breakdown."""


@dataclass(frozen=True)
class Measured:
    """What a noisy measurement says by itself, with the standard error of its noise."""

    count: float
    standard_error: float
    marginal: str


@dataclass(frozen=True)
class Group:
    """The answer for one combination of the breakdown's values."""

    values: tuple[str, ...]
    count: float
    share: float
    measured: Measured | None
    certified_error: float | None
    interval: Interval | None = None


@dataclass(frozen=True, repr=False)
class Answered(ShownAsLines):
    """The answer to a question; without a breakdown it has one group, whose values are empty.

    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(300), example_schema(), epsilon=5.0, kway=1, method="independent"
    ... )
    >>> answered = release.ask("age >= 30", by="sex")
    >>> list(answered.frame()["sex"])
    ['female', 'male', 'diverse']
    >>> answered.as_data()["question"], len(answered.lines()) > 3
    ('age >= 30', True)
    """

    question: str
    by: tuple[str, ...]
    rows: int
    count: float
    share: float
    groups: tuple[Group, ...]
    confidence: float | None
    cut: tuple[str, ...]
    table: TableBound | None = None
    interval: Interval | None = None

    def lines(self) -> list[str]:
        """The answer as lines for people.

        Returns:
            The lines: the answer itself, its groups, and what its intervals rest on.

        """
        some_measured = any(group.measured for group in self.groups)
        level = next((each.level for each in self._intervals if each.known), None)
        between = [] if level is None else ["std. error", f"{level:.0%} interval"]
        header = [
            *self.by,
            "count",
            *between,
            "share",
            *(["measured", "± s.e."] if some_measured else []),
        ]
        body = [
            [
                *group.values,
                f"{group.count:,.1f}",
                *(_interval_texts(group.interval) if between else []),
                f"{group.share:.3%}",
                *(_measured_texts(group) if some_measured else []),
            ]
            for group in self.groups
        ]
        if self.by:
            whole = [
                f"{self.count:,.1f}",
                *(_interval_texts(self.interval) if between else []),
                f"{self.share:.3%}",
            ]
            body.append(["all", *[""] * (len(self.by) - 1), *whole])
        return [*aligned(header, body, left=len(self.by)), *self._remarks()]

    @property
    def _intervals(self) -> list[Interval]:
        return [
            each
            for each in (self.interval, *(group.interval for group in self.groups))
            if each is not None
        ]

    def _remarks(self) -> list[str]:
        found = interval_remarks(
            [group.interval for group in self.groups if group.interval is not None]
        )
        bounds = [
            group.certified_error for group in self.groups if group.certified_error is not None
        ]
        if bounds and self.confidence is not None:
            which = "each line" if self.by else "the count"
            found.append(
                f"certificate: with {self.confidence:.0%} confidence, {which} is within"
                f" {rounded_up(bounds[0], 1):,.1f} of the truth{self._same_in_table(bounds[0])}"
            )
        origins = sorted({group.measured.marginal for group in self.groups if group.measured})
        if origins:
            found.append(
                f"measured: the noisy counts of {', '.join(origins)} alone, with the standard error"
                " of their noise"
            )
        elif not bounds and not any(each.known for each in self._intervals):
            found.append(
                "the count comes from the fit; no measurement covers these columns code by code, so"
                " its error is not known"
            )
        found.extend(
            f"{name}: the question cuts a bin; its records are interpolated, by its fine shape if"
            " known"
            for name in self.cut
        )
        return found

    def _same_in_table(self, bound_counts: float) -> str:
        """What the certificate says of the same count in the synthetic table."""
        if self.table is None:
            return ""
        name = f"in the synthetic table of {self.table.rows:,} rows"
        if self.table.rows != self.rows:
            name += f" (scaled to {self.rows:,} records)"
        if self.table.bound_counts is None:
            return f"; this does not cover the count {name}"
        if self.table.bound_counts == bound_counts:
            return f"; so is the count {name}"
        return f"; the count {name} is within {rounded_up(self.table.bound_counts, 1):,.1f}"

    def frame(self) -> pd.DataFrame:
        """The answer as a pandas table.

        Returns:
            One line for each group, in the columns that `Release.answer` has.

        Raises:
            WorkloadError: If a column of the breakdown is called like one of these.

        """
        import pandas as pd

        return pd.DataFrame(
            [
                frame_line(
                    dict(zip(self.by, group.values, strict=True)),
                    {"count": group.count, "share": group.share},
                    group.interval,
                )
                for group in self.groups
            ]
        )

    def as_data(self) -> dict[str, Any]:
        """The answer as plain data, as `dprap answer --json` writes it.

        Returns:
            A mapping that JSON can hold.

        """
        data = asdict(self)
        data["by"], data["cut"] = list(self.by), list(self.cut)
        data["groups"] = [
            {**asdict(group), "values": dict(zip(self.by, group.values, strict=True))}
            for group in self.groups
        ]
        return data


def ask(
    release: Release,
    question: str,
    by: Sequence[str] = (),
    *,
    level: float = DEFAULT_LEVEL,
    population: bool = False,
) -> Answered:
    """Answer a question, for all records it asks for and broken down by the values of some columns.

    Args:
        release: The release.
        question: What is asked, such as "age in 30..39 and sex = F".
        by: Columns whose values break the answer down.
        level: Of the intervals, between 0.5 and 0.99.
        population: Whether intervals are about a population of which the records are a sample.

    Returns:
        The answer; printed, it is a table.

    Raises:
        WorkloadError: If the question cannot be read, or the breakdown is too long.
        SettingsError: If the level makes no sense, or the method cannot answer it.

    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(500),
    ...     example_schema(),
    ...     epsilon=5.0,
    ...     kway=1,
    ...     method="independent",
    ...     insecure_noise_seed=0,
    ... )
    >>> answered = ask(release, "age in 30..39", by=["sex"])
    >>> [group.values[0] for group in answered.groups], 40 < answered.count < 140
    (['female', 'male', 'diverse'], True)
    """
    by = tuple(by)
    domain = release.schema.domain
    lines = domain.size_of(by)
    if len(set(by)) < len(by):
        raise WorkloadError("the breakdown names a column twice. Name each column once.")
    if lines > MAX_GROUPS:
        raise WorkloadError(
            f"a breakdown by {'×'.join(by)} has {lines:,} lines; the limit is {MAX_GROUPS:,}. Use"
            " fewer columns."
        )
    asked = breakdown.Asked(release.schema, tuple(parse(question, release.schema)), by)
    shares = breakdown.shares(release, asked)
    groups = _groups(release, asked, shares, level=level, population=population)
    share = float(shares.sum())
    overall = replace(asked, by=())
    total = np.asarray(share)
    (whole,) = _intervals(release, overall, total, level=level, population=population)
    return Answered(
        question=question,
        by=by,
        rows=release.rows,
        count=share * release.rows,
        share=share,
        groups=tuple(groups),
        confidence=None if release.certificate is None else release.certificate.confidence,
        cut=asked.cut_columns,
        table=published_table(release),
        interval=whole,
    )


def _is_cell(asked: breakdown.Asked, columns: Sequence[str]) -> bool:
    """Whether exactly one code of each of these columns is asked for."""
    if len(asked.boxes) != 1:
        return False
    weights = asked.weights[0]
    return all(
        name in weights and np.count_nonzero(weights[name]) == 1 and weights[name].max() == 1
        for name in columns
    )


def frame_line(
    labels: Mapping[str, Any], figures: Mapping[str, Any], interval: Interval | None
) -> dict[str, Any]:
    """A line of a table: what tells it apart, its figures, and how far these may be off.

    Raises:
        WorkloadError: If a column of the schema is called like one of the figures.
    """
    errors = ("standard_error", "low", "high", "basis")
    told: tuple[Any, ...] = (None,) * len(errors)
    if interval is not None:
        told = (interval.standard_error, interval.low, interval.high, str(interval.basis))
    cells = {**figures, **dict(zip(errors, told, strict=True))}
    for name in labels:
        if name in cells:
            raise WorkloadError(
                f"column {name!r}: the table of an answer has a figure of this name. Take as_data()"
                " of what release.ask gives, which keeps the two apart."
            )
    return {**labels, **cells}


def _interval_texts(interval: Interval | None) -> tuple[str, str]:
    if interval is None or interval.numbers is None:
        return "", "none"
    error, low, high = interval.numbers
    return f"{error:,.1f}", f"{low:,.0f} to {high:,.0f}"


def _groups(
    release: Release,
    asked: breakdown.Asked,
    shares: breakdown.Table,
    *,
    level: float,
    population: bool,
) -> list[Group]:
    measured = breakdown.measured(release, asked)
    certified = breakdown.certified(release, asked)
    wanted = asked.part_of_cells(asked.by) > 0
    bound = None if release.certificate is None else release.certificate.upper_bound_counts
    intervals = _intervals(release, asked, shares, level=level, population=population)
    found = []
    for place, codes in enumerate(np.ndindex(asked.shape)):
        if asked.by and not wanted[codes]:
            continue  # the question itself leaves this group out
        known = np.isfinite(measured.standard_errors[codes])
        found.append(
            Group(
                values=tuple(
                    release.schema.label(name, code)
                    for name, code in zip(asked.by, codes, strict=True)
                ),
                count=float(shares[codes]) * release.rows,
                share=float(shares[codes]),
                measured=(
                    Measured(
                        float(measured.counts[codes]),
                        float(measured.standard_errors[codes]),
                        str(measured.origins[codes]),
                    )
                    if known
                    else None
                ),
                certified_error=bound if certified[codes] else None,
                interval=intervals[place],
            )
        )
    return found


def _intervals(
    release: Release,
    asked: breakdown.Asked,
    shares: breakdown.Table,
    *,
    level: float,
    population: bool,
) -> list[Interval]:
    """The interval of every group: of its count or, where the question cuts a bin, from the count
    without that bin to the count with the whole of it.
    """
    free = [name for name in asked.pinned_columns if name not in asked.by]

    def of(bound: breakdown.Asked, shares: breakdown.Table) -> list[Interval]:
        return count_intervals(
            release,
            (*asked.by, *free),
            shares.ravel() * release.rows,
            kind=Kind.CELL if _is_cell(bound, free) else Kind.RANGE,
            level=level,
            population=population,
        )

    if not asked.cut_columns:
        return of(asked, shares)
    least, most = (of(bound, breakdown.shares(release, bound)) for bound in asked.bounds)
    return [
        from_least_to_most(float(share) * release.rows, *ends)
        for share, *ends in zip(shares.ravel(), least, most, strict=True)
    ]


def _measured_texts(group: Group) -> tuple[str, str]:
    measured = group.measured
    return (
        ("", "")
        if measured is None
        else (f"{measured.count:,.1f}", f"{measured.standard_error:,.1f}")
    )


def interval_remarks(intervals: Sequence[Interval]) -> list[str]:
    """What intervals rest on, and what is in them, in words."""
    if not intervals:
        return []
    known = [each for each in intervals if each.known]
    if not known:
        unknown = "the release does not tell how far such an answer may be off"
        return [f"{intervals[0].basis}, no interval: {unknown}"]
    bases = sorted({each.basis for each in known}, key=list(Basis).index)
    holds = "noise, what was not measured, and fit"
    if any(each.places for each in known):
        holds = "noise, what was not measured, fit, and every way in which values may lie in bins"
    beyond = (
        ", and sampling from a population"
        if known[0].population
        else ", but no sampling: for that, ask about a population"
    )
    return [f"interval: {', '.join(bases)}; it holds {holds}{beyond}"]
