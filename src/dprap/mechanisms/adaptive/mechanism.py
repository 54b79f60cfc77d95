"""Adaptive whole-marginal projection: select the marginals the rows answer worst, measure them whole, fit, repeat.

Privacy: everything comes from the curator's verbs, each charged; the rest is post-processing. The shares are exact
fractions of ρ, so the charges add up to the whole budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.array_types import Answers
from dprap.mechanisms.adaptive.evidence import Evidence
from dprap.mechanisms.adaptive.schedule import Round, has_pairs, one_way_rho, one_way_shares, plan_schedule
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.mechanisms.shared import project_simplex
from dprap.privacy import Curator, Measurement, Score
from dprap.queries import Marginal
from dprap.relaxed.soft_rows import SoftRows, Target, fit_rows
from dprap.workload import Workload

_LEAST_SHARE = 1e-6
# Every code keeps this probability at the start: a logit of minus infinity could never come back.


def run(
    curator: Curator,
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Spend the curator's whole budget on the workload and return the fitted rows."""
    start = _measure_columns(curator, workload, settings)
    schedule = plan_schedule(
        workload,
        settings,
        rho=curator.rho,
        left=curator.remaining,
        records=start.records,
        neighbors=curator.neighbors,
    )
    candidates, rounds = schedule.candidates, schedule.rounds
    rows = SoftRows(
        workload.domain, start.one_way_shares, rows=settings.synthetic_rows, jitter=settings.jitter, seed=seed
    )
    measurements = list(start.measurements)
    evidence: dict[Marginal, Evidence] = {}
    for number, each in enumerate(rounds, start=1):
        estimates = [rows.marginal(marginal.columns) * start.records for marginal in candidates]
        chosen = _select(curator, candidates, estimates, each)
        measured = _measure(curator, candidates, chosen, each)
        for position, measurement in measured:
            known = evidence.get(measurement.marginal)
            evidence[measurement.marginal] = (
                Evidence.first(measurement, estimates[position]) if known is None else known.again(measurement)
            )
            measurements.append(measurement)
        targets = [*start.targets, *(item.target(start.records) for item in evidence.values())]
        stddev = curator.stddev_of_marginal(each.measure_rho)
        last = number == len(rounds)
        misfit = fit_rows(
            rows,
            targets,
            kl_weight=settings.kl * (start.records / stddev) ** 2,
            steps=settings.final_steps if last else settings.steps,
            learning_rate=settings.learning_rate,
            cool_down=0.7 if last else 0.0,
        )
        cells = sum(len(target.shares) for target in targets)
        detail = f"{float(curator.spent / curator.budget.rho):.0%} of ρ spent, misfit {misfit / cells:.2f} of the noise"
        progress(Progress("round", number, len(rounds), detail))
    return MechanismResult(relaxed=rows.relaxed(), answers=None, measurements=tuple(measurements))


@dataclass(frozen=True)
class _Start:
    """What is known after the columns were measured one by one."""

    records: float
    one_way_shares: list[np.ndarray]
    targets: list[Target]
    measurements: list[Measurement]


def _measure_columns(curator: Curator, workload: Workload, settings: AdaptiveSettings) -> _Start:
    """The number of records where it is private, and all one-way marginals."""
    totals: list[Measurement] = []
    if not curator.neighbors.rows_are_public:
        totals = curator.measure([Marginal(())], curator.rho * Fraction(settings.total_share))
    known = float(curator.n) if curator.neighbors.rows_are_public else max(float(totals[0].counts[0]), 1.0)
    rho = curator.remaining
    if has_pairs(workload):
        rho = one_way_rho(settings, rho=curator.rho, records=known, neighbors=curator.neighbors)
    columns = [Marginal((name,)) for name in workload.domain]
    measured = curator.measure(columns, rho, one_way_shares(workload))
    records = _records(curator, [*totals, *measured])
    shares = []
    targets = []
    for measurement in measured:
        share = project_simplex(measurement.counts / records) + _LEAST_SHARE
        shares.append(share / share.sum())
        # The fit gets the noisy counts as they are: what a projection cuts off here, other marginals may yet correct.
        weight = (records / measurement.stddev_counts) ** 2
        noisy = (measurement.counts / records).astype(np.float32)
        targets.append(Target(measurement.marginal.columns, noisy, np.full(len(noisy), weight, np.float32)))
    return _Start(records, shares, targets, [*totals, *measured])


def _records(curator: Curator, measured: Sequence[Measurement]) -> float:
    """The public number of records, or the inverse-variance mean of what each measured marginal adds up to."""
    if curator.neighbors.rows_are_public:
        return float(curator.n)
    sums = np.array([float(item.counts.sum()) for item in measured])
    variances = np.array([len(item.counts) * item.stddev_counts**2 for item in measured])
    return max(float(np.average(sums, weights=1 / variances)), 1.0)


def _select(
    curator: Curator, candidates: Sequence[Marginal], estimates_counts: Sequence[Answers], each: Round
) -> list[int]:
    """Positions of the round's picks; a marginal picked by both scores stands twice."""
    chosen: list[int] = []
    if each.by_sum:
        stddev = curator.stddev_of_marginal(each.measure_rho)
        score = Score(cell=0.0, l1=1.0, threshold_counts=stddev)
        chosen += curator.select(
            candidates, estimates_counts, k=each.by_sum, rho=each.select_rho * each.by_sum, score=score
        )
    if each.by_cell:
        chosen += curator.select(candidates, estimates_counts, k=each.by_cell, rho=each.select_rho * each.by_cell)
    return chosen


def _measure(
    curator: Curator, candidates: Sequence[Marginal], chosen: Sequence[int], each: Round
) -> list[tuple[int, Measurement]]:
    """Measure the picks; one that was picked twice gets twice the budget."""
    positions = sorted(set(chosen))
    times = [chosen.count(position) for position in positions]
    measured = curator.measure(
        [candidates[position] for position in positions], each.measure_rho * len(chosen), [Fraction(t) for t in times]
    )
    return list(zip(positions, measured, strict=True))
