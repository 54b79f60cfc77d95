"""MWEM (Hardt, Ligett and McSherry 2012): multiplicative weights on the histogram over the whole
domain.

Each round picks the worst-answered query by the exponential mechanism, measures it, and multiplies
the weight of every cell by exp(q(x) · (measured − estimated) / 2n), for this and (`passes` times)
all earlier measurements. The published distribution is the average over the rounds. The histogram
has one entry for every combination of values of the columns the workload names, so this is for
small domains only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Neighbors, QueryMeasurement
from dprap.accounting.stddev import stddev_for
from dprap.array_types import Answers, Float
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.mechanisms.outline import PlannedStep, rho_of_records, total_of_records
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.queries import Family, Marginal
from dprap.workload import Workload

Histogram = Float[np.ndarray, "..."]
"""Probabilities over the whole domain, one axis a column."""


@dataclass(frozen=True)
class MwemSettings:
    """`rounds` of one selection and one measurement; each round revisits all measurements `passes`
    times.
    """

    rounds: int = 20
    passes: int = 20
    max_domain: int = 10_000_000
    records_share: float = 0.01

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.passes < 1:
            raise SettingsError("rounds and passes of mwem must be at least 1.")


def outline(
    workload: Workload,
    settings: MwemSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """Rounds of choosing and measuring one query, half of the budget each."""
    cells = workload.domain.size_of(_used_columns(workload, settings))
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    half = (budget_rho - records_rho) / 2
    label = f"choose {settings.rounds:,} of {workload.queries:,} queries, one by one"
    # The mean round revisits half of the measurements, and each visit scales the whole histogram.
    updates = float(settings.rounds * settings.passes * settings.rounds / 2 * cells)
    stddev = stddev_for(neighbors.query**2, half / settings.rounds)
    return [
        *total_of_records(records_rho, neighbors),
        PlannedStep(label, half, None, 0, float(settings.rounds * cells)),
        PlannedStep("measure them", half, stddev, settings.rounds, updates),
    ]


def run(
    curator: Curator,
    workload: Workload,
    settings: MwemSettings,
    *,
    seed: int,  # noqa: ARG001 - every method has the same signature; this one makes no public choices
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Learn the histogram and answer from it."""
    marginals = workload.marginals
    used = _used_columns(workload, settings)
    cells = workload.domain.size_of(used)
    histogram = _Histogram(workload.domain, used)
    records = count_records(curator, settings.records_share)
    share = curator.remaining / Fraction(2 * settings.rounds)
    weights = np.full(workload.domain.shape_of(used), 1 / cells)
    average = np.zeros_like(weights)
    measured: list[QueryMeasurement] = []
    for done in range(settings.rounds):
        picked = curator.select_queries(
            marginals,
            histogram.counts(weights, marginals, records.count),
            k=1,
            rho=share,
            exclude=[m.query for m in measured],
        )
        measured += curator.measure_queries(picked, share)
        weights = histogram.updated(weights, measured, records.count, settings.passes)
        average += weights / settings.rounds
        progress(Progress("round", done + 1, settings.rounds, str(picked[0])))
    answers = [histogram.marginal(average, marginal).ravel() for marginal in marginals]
    return MechanismResult(None, answers, (*records.measurements, *measured), records.count)


def _used_columns(workload: Workload, settings: MwemSettings) -> tuple[str, ...]:
    """The columns that the workload names; refuses more combinations of their values than fit into
    memory.
    """
    used = tuple(
        name
        for name in workload.domain.names
        if any(name in marginal.columns for marginal in workload.marginals)
    )
    cells = workload.domain.size_of(used)
    if cells > settings.max_domain:
        raise SettingsError(
            f"mwem keeps one number for each of {cells:,} combinations of values; its limit is"
            f" {settings.max_domain:,}. Use another method, or raise max_domain."
        )
    return used


@dataclass(frozen=True)
class _Histogram:
    domain: Domain
    columns: tuple[str, ...]

    def marginal(self, weights: Histogram, family: Family) -> Histogram:
        summed = tuple(axis for axis, name in enumerate(self.columns) if name not in family.columns)
        kept = [name for name in self.columns if name in family.columns]
        table: Histogram = weights.sum(axis=summed).transpose(
            [kept.index(name) for name in family.columns]
        )
        return table

    def counts(
        self, weights: Histogram, marginals: tuple[Marginal, ...], records: float
    ) -> Iterator[Answers]:
        for marginal in marginals:
            yield self.marginal(weights, marginal).ravel() * records

    def updated(
        self, weights: Histogram, measured: list[QueryMeasurement], records: float, passes: int
    ) -> Histogram:
        weights = weights.copy()
        # The newest first: it moves most, and the revisits of the others then start near where they
        # end.
        for _ in range(passes):
            for measurement in reversed(measured):
                cell = self._cell(measurement)
                now = float(weights[cell].sum())
                weights[cell] *= np.exp((measurement.count / records - now) / 2)
                weights /= weights.sum()
        return weights

    def _cell(self, measurement: QueryMeasurement) -> tuple[int | slice, ...]:
        """The part of the histogram that a query sums."""
        family = measurement.query.family
        codes = np.unravel_index(measurement.query.index, self.domain.shape_of(family.columns))
        code_of = dict(zip(family.columns, codes, strict=True))
        return tuple(
            int(code_of[name]) if name in code_of else slice(None) for name in self.columns
        )


MECHANISM = Mechanism(
    run,
    outline,
    MwemSettings,
    "multiplicative weights on the whole histogram; small domains, answers only",
)
