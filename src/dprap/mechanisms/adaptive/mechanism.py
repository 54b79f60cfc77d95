"""Adaptive whole-marginal projection: select the marginals the rows answer worst, measure them whole, fit, repeat.

Privacy: everything comes from the curator's verbs, each charged; the rest is post-processing. The shares are exact
fractions of ρ, so the charges add up to the whole budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from dprap.array_types import Answers
from dprap.domain import Domain
from dprap.mechanisms.adaptive.evidence import Evidence, first_evidence
from dprap.mechanisms.adaptive.groups import is_broad, with_groups
from dprap.mechanisms.adaptive.public_start import column_evidence, fit_to_public, misleads, records_stood_for
from dprap.mechanisms.adaptive.schedule import Round, has_pairs, one_way_rho, one_way_shares, plan_schedule
from dprap.mechanisms.adaptive.settings import AdaptiveSettings, Objective
from dprap.mechanisms.adaptive.smoothing import SHORTEST, smooth
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.mechanisms.shared import project_simplex
from dprap.privacy import Curator, Measurement, Score
from dprap.public import PublicTable
from dprap.queries import Marginal, Partition
from dprap.relaxed.soft_rows import SoftRows, Target, fit_rows
from dprap.workload import Workload

_LEAST_SHARE = 0.001
# Every code starts with at least this share of its noise: a code that noise has hidden must be able to come back when other
# marginals show it, against the pull towards the start.
_CELLS_THAT_COUNT = 16
# So many errors of a marginal make it worth choosing, unless it is broad. If all did, wide marginals that are a little wrong everywhere would come before
# those with the largest errors; with only four, too little of a relation would stand above the noise of choosing.
_FEW = 40
_LONG = 8
_JITTER_OF_FEW = 1.0
_JITTER = 0.3
# Up to so many marginals of columns with so many codes on average are fitted afresh at the end, by rows that start far apart: rows that
# were fitted to less before remember its noise. More marginals, and those of short columns, ask for a closer fit, to which rows get in time
# only if they start alike and go on from round to round.


def run(
    curator: Curator,
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
    public: PublicTable | None = None,
) -> MechanismResult:
    """Spend the curator's whole budget on the workload and return the fitted rows; they start at the public table, if there is one."""
    start = _measure_columns(curator, workload, settings)
    schedule = plan_schedule(
        workload,
        settings,
        rho=curator.rho,
        left=curator.remaining,
        records=start.records,
        neighbors=curator.neighbors,
    )

    long = workload.domain.onehot_size >= _LONG * len(workload.domain)
    afresh = long and not schedule.swept and sum(each.picks for each in schedule.rounds) <= _FEW
    jitter = settings.jitter or (_JITTER_OF_FEW if afresh else _JITTER)

    def product_of_columns() -> SoftRows:
        return SoftRows(workload.domain, start.one_way_shares, rows=settings.synthetic_rows, jitter=jitter, seed=seed)

    rows = product_of_columns()
    candidates: Sequence[Partition] = ()
    if schedule.rounds:
        candidates = with_groups(schedule, workload, start.one_way_shares)
    known = _Known(start if public is None else _start_from(public, rows, start, settings))
    stages = len(schedule.rounds) + bool(schedule.swept)

    def fit(measured: Sequence[Measurement], stage: int) -> None:
        last = stage == stages
        if last and afresh:
            rows.restart()
        kl_weight = settings.kl * start.records / max(item.stddev_counts for item in measured)
        if public is not None:
            kl_weight = max(kl_weight, records_stood_for(public, known.departures(), start.records))
        targets = known.targets()
        misfit = fit_rows(
            rows,
            targets,
            kl_weight=kl_weight,
            steps=settings.final_steps if last else settings.steps,
            learning_rate=settings.learning_rate,
            cool_down=0.7 if last else 0.0,
        )
        spent = float(curator.spent / curator.budget.rho)
        cells = sum(len(target.shares) for target in targets)
        detail = f"{spent:.0%} of ρ spent, misfit {misfit / cells:.2f} of the noise"
        progress(Progress("round", stage, stages, detail))

    for number, each in enumerate(schedule.rounds, start=1):
        estimates = [rows.marginal(marginal) * start.records for marginal in candidates]
        chosen = _choose(curator, candidates, estimates, each, settings.objective)
        measured = curator.measure([candidates[position] for position in chosen], each.measure_rho * each.picks)
        expected = [estimates[position] for position in chosen]
        if public is not None and number == 1:
            plain = product_of_columns()
            plainly = [plain.marginal(item.marginal) * start.records for item in measured]
            if misleads(measured, expected, plainly):
                public, rows, known, expected = None, plain, _Known(start), plainly
        known.add(measured, expected)
        fit(measured, number)
    if schedule.swept:
        estimates = [rows.marginal(marginal) * start.records for marginal in schedule.swept]
        measured = curator.measure(schedule.swept, schedule.sweep_rho)
        known.add(measured, estimates)
        fit(measured, stages)
    return MechanismResult(relaxed=rows.relaxed(), answers=None, measurements=tuple(known.measurements))


def _choose(
    curator: Curator, candidates: Sequence[Partition], estimates: Sequence[Answers], picks: Round, objective: Objective
) -> list[int]:
    """Positions of the round's picks, one by one: no two have a pair of columns in common, while there are others.

    What two have in common the first measures, and only the next fit will say what is left of the error of the second. Broad marginals
    take part in the first half: their errors add up over so many cells that what is sharp would hardly be chosen beside them.
    """
    stddev_counts = curator.stddev_of_marginal(picks.measure_rho)
    pairs = [frozenset(combinations(candidate.columns, 2)) for candidate in candidates]
    taken: set[tuple[str, str]] = set()
    chosen: list[int] = []
    for number in range(picks.picks):
        others = [place for place in range(len(candidates)) if place not in chosen]
        if number >= picks.picks / 2:
            others = [place for place in others if not is_broad(candidates[place])] or others
        left = [place for place in others if not pairs[place] & taken] or others
        open_ = [candidates[place] for place in left]
        (pick,) = curator.select(
            open_,
            [estimates[place] for place in left],
            k=1,
            rho=picks.select_rho,
            score=_score(objective, open_, curator.domain, stddev_counts),
        )
        chosen.append(left[pick])
        taken |= pairs[left[pick]]
    return chosen


@dataclass(frozen=True)
class _Start:
    """What is known after the columns were measured one by one; `departures` are those from a public table's columns."""

    records: float
    one_way_shares: list[np.ndarray]
    targets: list[Target]
    measurements: list[Measurement]
    departures: tuple[Evidence, ...] = ()


def _measure_columns(curator: Curator, workload: Workload, settings: AdaptiveSettings) -> _Start:
    """The number of records where it is private, and all one-way marginals."""
    totals: list[Measurement] = []
    if not curator.neighbors.rows_are_public:
        totals = curator.measure([Marginal(())], curator.rho * Fraction(settings.total_share))
    known = float(curator.n) if curator.neighbors.rows_are_public else max(float(totals[0].counts[0]), 1.0)
    rho = curator.remaining
    if has_pairs(workload):
        rho = one_way_rho(workload, settings, rho=curator.rho, records=known, neighbors=curator.neighbors)
    columns = [Marginal((name,)) for name in workload.domain]
    measured = curator.measure(columns, rho, one_way_shares(workload))
    records = _records(curator, [*totals, *measured])
    shares = []
    targets = []
    for measurement in measured:
        counts = measurement.counts.astype(np.float64)
        if len(counts) >= SHORTEST:
            counts = smooth(counts, measurement.stddev_counts**2)
        share = project_simplex(counts / records) + _LEAST_SHARE * measurement.stddev_counts / records
        shares.append(share / share.sum())
        # The fit may see negative counts: what a projection cuts off here, other marginals may yet correct.
        weight = (records / measurement.stddev_counts) ** 2
        wanted = (counts / records).astype(np.float32)
        targets.append(Target(measurement.marginal, wanted, np.full(len(wanted), weight, np.float32)))
    return _Start(records, shares, targets, [*totals, *measured])


def _start_from(public: PublicTable, rows: SoftRows, start: _Start, settings: AdaptiveSettings) -> _Start:
    """Fit the rows to a public table and then to the measured columns, each as far as it is believed."""
    fit_to_public(rows, public, steps=settings.final_steps, learning_rate=settings.learning_rate)
    columns = [item for item in start.measurements if item.marginal.columns]
    evidence = column_evidence(columns, public, start.records)
    targets = [item.target(start.records) for item in evidence]
    fit_rows(
        rows,
        targets,
        kl_weight=records_stood_for(public, evidence, start.records),
        steps=settings.steps,
        learning_rate=settings.learning_rate,
    )
    return replace(start, targets=targets, departures=tuple(evidence))


def _records(curator: Curator, measured: Sequence[Measurement]) -> float:
    """The public number of records, or the inverse-variance mean of what each measured marginal adds up to."""
    if curator.neighbors.rows_are_public:
        return float(curator.n)
    sums = np.array([float(item.counts.sum()) for item in measured])
    variances = np.array([len(item.counts) * item.stddev_counts**2 for item in measured])
    return max(float(np.average(sums, weights=1 / variances)), 1.0)


def _score(objective: Objective, candidates: Sequence[Partition], domain: Domain, stddev_counts: float) -> Score:
    """What makes a marginal worth measuring: the sum of its largest errors, each above a part of the noise that a measurement would have.

    A relation of two columns shows in four cells at least, two with too many records and two with too few. Their sum is four times the error of
    each and moves by 2 between neighbours where a single count moves by 1, so it stands twice as far above the noise of selection as
    the largest error does. What is far below the noise of measuring must not count: there is a lot of it, and no measurement mends it.
    Of a broad marginal all errors count: it is there to add up what several columns have to do with each other.
    """
    match objective:
        case "max":
            return Score(cell=1.0)
        case "mean":
            return Score(cell=0.0, l1=1.0, threshold_counts=stddev_counts / 4)
        case "blend":
            summed = [each.size(domain) if is_broad(each) else _CELLS_THAT_COUNT for each in candidates]
            return Score(cell=0.0, l1=1.0, threshold_counts=stddev_counts / 2, summed_cells=summed)


class _Known:
    """All that was measured so far."""

    def __init__(self, start: _Start) -> None:
        self._start = start
        self._evidence: dict[Partition, Evidence] = {}
        self.measurements = list(start.measurements)

    def add(self, measured: Sequence[Measurement], estimates_counts: Sequence[Answers]) -> None:
        """Marginals measured together, and what the rows said of each before."""
        fresh = [place for place, item in enumerate(measured) if item.marginal not in self._evidence]
        for item in measured:
            if item.marginal in self._evidence:
                self._evidence[item.marginal] = self._evidence[item.marginal].again(item)
        first = first_evidence([measured[place] for place in fresh], [estimates_counts[place] for place in fresh])
        self._evidence.update({item.marginal: item for item in first})
        self.measurements += measured

    def targets(self) -> list[Target]:
        """What the rows should fit."""
        return [*self._start.targets, *(item.target(self._start.records) for item in self._evidence.values())]

    def departures(self) -> list[Evidence]:
        """Everything measured, against what was expected before."""
        return [*self._start.departures, *self._evidence.values()]
