"""Relaxed adaptive projection: the paper's Algorithm 2.

T rounds; in each, the K worst-answered queries are selected and measured, with ρ/(2TK) for each
selection and each measurement, and the relaxed data set is projected on all answers so far. With T
= 1 all m queries are measured once, with ρ/m each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dprap.accounting import Measurement, Neighbors, QueryMeasurement
from dprap.accounting.stddev import stddev_for
from dprap.array_types import Answers
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms.outline import PlannedStep, rho_of_records, total_of_records
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import (
    MechanismResult,
    Paced,
    Progress,
    ProgressCallback,
    silent,
)
from dprap.mechanisms.rounds import check_rounds, choose_and_measure, planned_rounds
from dprap.privacy import Curator
from dprap.queries import Custom, Family, Halfspace, Marginal, Query
from dprap.relaxed.fit import FitResult
from dprap.relaxed.jax.families import FamilyTarget, FamilyTargets, fit_families
from dprap.relaxed.jax.projection import (
    PAPER,
    DivergedError,
    ProjectionSettings,
    QueryTargets,
    fit_queries,
)
from dprap.relaxed.jax.start import devices_named, initialise
from dprap.relaxed.marginals import MEMORY_BYTES, answers
from dprap.relaxed.rows import RelaxedDataset
from dprap.workload import Workload

# Share of the budget that buys the number of records, where it is private.
_TOTAL_SHARE = Fraction(1, 100)

# What a plan counts, in multiplications of elementwise arithmetic of 2 ns each. A matrix product
# makes 40 in that time. Scoring a query takes 90 ns. A step of a fit goes over the rows: .86 ms on
# one thread for 588 codes and 1,000 rows.
_IN_PRODUCT = 1 / 40
_SCORING = 45.0
_PASSES = 0.3

# Custom families with at most this many cells in all are part of every fit, selected or not, so
# that a new one does not compile another program. More of them would make every step slow.
_SMALL_CUSTOM_CELLS = 1 << 15


@dataclass(frozen=True)
class RapSettings:
    """Settings of the paper's Algorithm 2, by the paper's letters.

    `rounds` is T, `queries_per_round` K, `synthetic_rows` n'. `noise_floor` ends a projection
    early, once its root mean square residual is this fraction of the noise of the answers it is
    fitted to; 0 never does. Rows start as random numbers within ±`initial_spread`, normalised. The
    paper's spread is 1; without one it is 1 here too for marginals of up to three columns, and 1/(k
    − 2)³ for k: a product over more columns is zero on most rows that start sparse, and such a row
    has no slope to follow. `device` names where projections are computed, such as `gpu` or `cpu:0`:
    rows are spread over its devices.
    """

    rounds: int = 10
    queries_per_round: int = 10
    synthetic_rows: int = 1000
    projection: ProjectionSettings = field(default_factory=ProjectionSettings)
    noise_floor: float = 1.0
    initial_spread: float | None = None
    device: str | None = None
    memory_bytes: int = MEMORY_BYTES

    def __post_init__(self) -> None:
        for name in ("rounds", "queries_per_round", "synthetic_rows"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1; it is {getattr(self, name)}.")
        if not 0 <= self.noise_floor < float("inf"):
            raise SettingsError(f"noise_floor must not be negative; it is {self.noise_floor}.")
        if self.initial_spread is not None and not 0 < self.initial_spread < float("inf"):
            raise SettingsError(
                f"initial_spread must be a positive number; it is {self.initial_spread}."
            )

    @property
    def placed_projection(self) -> ProjectionSettings:
        """How to project, and where."""
        return (
            self.projection if self.device is None else replace(self.projection, device=self.device)
        )

    def spread_for(self, workload: Workload) -> float:
        """How far from uniform the rows start."""
        if self.initial_spread is not None:
            return self.initial_spread
        longest_product = max(
            (len(each.columns) for each in workload if isinstance(each, Marginal)), default=0
        )
        return 1 / max(longest_product - 2, 1) ** 3

    def check(self, workload: Workload) -> None:
        """Refuse settings that the workload cannot carry, devices there are not, and custom queries
        that cannot be used.
        """
        devices_named(self.placed_projection.device)
        if self.rounds > 1:
            instead = ", or use one round to measure all"
            check_rounds(workload, self.rounds, self.queries_per_round, instead=instead)
        for family in workload.families:
            if isinstance(family, Halfspace):
                raise WorkloadError(
                    f"method rap does not take {family}. Use the method rap++ or adaptive."
                )
            if isinstance(family, Custom):
                family.check(workload.domain, slopes=True)


def outline(
    workload: Workload,
    settings: RapSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """T rounds of choosing and measuring K queries, half of the budget each; or all queries
    once.
    """
    settings.check(workload)
    records_rho = rho_of_records(budget_rho, _TOTAL_SHARE, neighbors)
    rho = budget_rho - records_rho
    records = total_of_records(records_rho, neighbors)
    evaluate = workload.queries * settings.synthetic_rows * _IN_PRODUCT
    if settings.rounds == 1:
        stddev = stddev_for(neighbors.query**2, rho / workload.queries)
        fit = 3 * settings.projection.max_steps * evaluate
        return [
            *records,
            PlannedStep(f"{workload.queries:,} queries", rho, stddev, workload.queries, fit),
        ]
    rounds, per_round = settings.rounds, settings.queries_per_round
    # half of the queries are there in the mean round; forward once, backward twice
    looked_at = 3.0 * rounds * per_round / 2 + _PASSES * workload.domain.onehot_size
    fit = settings.projection.max_steps * rounds * looked_at * settings.synthetic_rows
    choose = evaluate + _SCORING * workload.queries
    steps = planned_rounds(
        workload, rounds, per_round, rho=rho, neighbors=neighbors, evaluate=choose, fit=fit
    )
    return [*records, *steps]


def run(
    curator: Curator,
    workload: Workload,
    settings: RapSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Spend what is left of the curator's budget on a relaxed data set for the workload.

    Privacy: post-processing of what the curator returns, for which it charges rho in all, exactly.
    """
    settings.check(workload)
    curator.prepare(workload.families)
    records = count_records(curator, _TOTAL_SHARE)
    rho = curator.remaining
    start = initialise(
        workload.domain, settings.synthetic_rows, seed, spread=settings.spread_for(workload)
    )
    try:
        if settings.rounds == 1:
            found = _measure_everything(
                curator, workload, settings, rho, records.count, start, progress
            )
        else:
            found = _adapt(curator, workload, settings, rho, records.count, start, progress)
    except DivergedError as error:
        raise DivergedError(
            f"{error} rho = {float(curator.spent):.4g} of {float(curator.rho):.4g} is spent; resume"
            " the run from its ledger with other projection settings to use the answers already"
            " paid for."
        ) from error
    measurements = (*records.measurements, *found.measurements)
    return MechanismResult(found.relaxed, None, measurements, records.count, found.steps)


class _Found(NamedTuple):
    relaxed: RelaxedDataset
    measurements: Sequence[Measurement | QueryMeasurement]
    steps: int


def _adapt(
    curator: Curator,
    workload: Workload,
    settings: RapSettings,
    rho: Fraction,
    records: float,
    relaxed: RelaxedDataset,
    progress: ProgressCallback,
) -> _Found:
    share = rho / (2 * settings.rounds)
    measurements: list[QueryMeasurement] = []
    steps, meanwhile = 0, Paced(progress)
    for done in range(settings.rounds):
        shares = answers(relaxed, workload.families, memory_bytes=settings.memory_bytes)
        measurements += choose_and_measure(
            curator,
            workload,
            meanwhile.each(shares, "choose", len(workload)),
            measurements,
            records=records,
            k=settings.queries_per_round,
            rho=share,
        )
        result = _fit(relaxed, workload, measurements, records, settings, meanwhile)
        relaxed, steps = result.rows, steps + result.steps
        residual = (result.misfit / len(measurements)) ** 0.5
        detail = (
            f"residual {residual:.2g} after {result.steps} steps on {len(measurements)} queries"
        )
        progress(Progress("round", done + 1, settings.rounds, detail))
    return _Found(relaxed, measurements, steps)


def _fit(
    relaxed: RelaxedDataset,
    workload: Workload,
    measurements: list[QueryMeasurement],
    records: float,
    settings: RapSettings,
    progress: ProgressCallback,
) -> FitResult[RelaxedDataset]:
    custom = tuple(family for family in workload.families if isinstance(family, Custom))
    if sum(workload.domain.size_of(family.columns) for family in custom) > _SMALL_CUSTOM_CELLS:
        custom = ()
    noise = sum((measurement.stddev_counts / records) ** 2 for measurement in measurements)
    targets = QueryTargets.of(
        workload.domain,
        [measurement.query for measurement in measurements],
        [measurement.count / records for measurement in measurements],
        custom=custom,
        floor=settings.noise_floor**2 * noise,
    )

    def watch(step: int, steps: int) -> None:
        progress(Progress("fit", step, steps, f"{len(measurements):,} queries"))

    return fit_queries(relaxed, targets, settings.placed_projection, watch=watch)


def _measure_everything(
    curator: Curator,
    workload: Workload,
    settings: RapSettings,
    rho: Fraction,
    records: float,
    relaxed: RelaxedDataset,
    progress: ProgressCallback,
) -> _Found:
    targets, noise = [], 0.0
    measurements: list[Measurement | QueryMeasurement] = []
    per_query = float(rho / workload.queries)
    for family, counts, stddev_counts in curator.measure_all(workload.families, rho):
        measurements += _measured(family, counts, stddev_counts, per_query)
        fractions = (counts / records).astype(np.float32)
        targets.append(FamilyTarget(family, fractions))
        noise += fractions.size * (stddev_counts / records) ** 2
        progress(Progress("measure", len(targets), len(workload), str(family)))
    wanted = FamilyTargets(targets, floor=settings.noise_floor**2 * noise)
    meanwhile = Paced(progress)

    def watch(step: int, steps: int) -> None:
        meanwhile(Progress("fit", step, steps, f"{workload.queries:,} queries"))

    result = fit_families(relaxed, wanted, settings.placed_projection, watch=watch)
    progress(Progress("round", 1, 1, f"loss {result.misfit:.2g} after {result.steps} steps"))
    return _Found(result.rows, measurements, result.steps)


def _measured(
    family: Family, counts: Answers, stddev_counts: float, rho_each: float
) -> list[Measurement | QueryMeasurement]:
    """A family's noisy answers as measurements: a marginal whole, other families query by query."""
    if isinstance(family, Marginal):
        return [
            Measurement(
                family, np.rint(counts).astype(np.int64), stddev_counts, rho_each * len(counts)
            )
        ]
    return [
        QueryMeasurement(Query(family, index), float(count), stddev_counts, rho_each)
        for index, count in enumerate(counts)
    ]


PRESETS = {
    "paper": {
        "projection": PAPER,
        "noise_floor": 0.0,
        "initial_spread": 1.0,
        "synthetic_rows": 1000,
    }
}
"""Settings by the name of a preset: the paper's own."""

MECHANISM = Mechanism(
    run, outline, RapSettings, "the paper's algorithm: single queries, adaptively", presets=PRESETS
)
