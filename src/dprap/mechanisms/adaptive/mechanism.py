"""Adaptive projection: choose the marginals that rows answer worst, measure them, fit, repeat.

Privacy: everything comes from the curator's verbs, each charged; the rest is post-processing.
`spending` lists what is bought, in exact fractions of ρ that add up to the whole budget; here each
step is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Relaxed
from dprap.mechanisms.adaptive.choosing import choose
from dprap.mechanisms.adaptive.evidence import Evidence, first_evidence
from dprap.mechanisms.adaptive.groups import with_groups
from dprap.mechanisms.adaptive.public_start import column_evidence, fit_to_public, misleads, records_stood_for
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.adaptive.smoothing import smooth
from dprap.mechanisms.adaptive.spending import (
    Choose,
    CountRecords,
    MeasureChosen,
    MeasureColumns,
    MeasureWorkload,
    StartRows,
    Step,
    spending,
    walk,
)
from dprap.mechanisms.records import estimate_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.public import PublicTable
from dprap.queries import Marginal
from dprap.relaxed.fit import FitSettings, Target, fit
from dprap.relaxed.marginals import Blocks
from dprap.relaxed.rows import RelaxedDataset
from dprap.relaxed.simplex import project_simplex
from dprap.workload import Workload


def run(
    curator: Curator,
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
    public: PublicTable | None = None,
) -> MechanismResult:
    """Spend the curator's whole budget on the workload and return the fitted rows.

    Args:
        curator: Measures and chooses, for a charge.
        workload: Which queries matter.
        settings: What the user overrides.
        seed: Of public randomness: where the rows start.
        progress: Is told after every fit.
        public: A public table to start from, if there is one.

    """
    state = _Run(curator, workload, settings, seed, progress, public)
    steps = spending(workload, settings, rho=curator.rho, neighbors=curator.neighbors, public=public is not None)
    walk(steps, state.take)
    return state.result()


class _Run:
    """What is known after the steps so far."""

    def __init__(
        self,
        curator: Curator,
        workload: Workload,
        settings: AdaptiveSettings,
        seed: int,
        progress: ProgressCallback,
        public: PublicTable | None,
    ) -> None:
        self._curator = curator
        self._workload = workload
        self._settings = settings
        self._seed = seed
        self._progress = progress
        self._public = public
        self._records = 0.0
        self._measurements: list[Measurement] = []
        self._fit_steps = 0
        self._candidates: Sequence[Marginal] = ()
        # What was chosen and not yet measured, with what the rows said of each.
        self._chosen: list[tuple[Marginal, Answers]] = []
        self._evidence: dict[Marginal, Evidence] = {}

    def take(self, step: Step) -> float:
        """Carry a step out, and return what is known of n after it."""
        match step:
            case CountRecords():
                self._count_records(step)
            case MeasureColumns():
                self._measure_columns(step)
            case StartRows():
                self._start_rows(step)
            case Choose():
                self._choose(step)
            case MeasureChosen():
                self._measure_chosen(step)
            case MeasureWorkload():
                self._measure_workload(step)
        return self._records

    def result(self) -> MechanismResult:
        """The rows as they are, without their logits."""
        rows = RelaxedDataset(self._workload.domain, self._rows.probabilities, self._rows.weights)
        return MechanismResult(rows, None, tuple(self._measurements), self._records, self._fit_steps)

    def _count_records(self, step: CountRecords) -> None:
        if self._curator.neighbors.rows_are_public:
            self._records = float(self._curator.n)
        else:
            self._measurements += self._curator.measure([Marginal(())], step.rho)
            self._records = estimate_records(self._measurements)

    def _measure_columns(self, step: MeasureColumns) -> None:
        """Measure the columns one by one; rows will start at them and be fitted to them."""
        rules = self._settings.rules
        columns = [Marginal((name,)) for name in self._workload.domain]
        self._columns = self._curator.measure(columns, step.rho, step.shares)
        self._measurements += self._columns
        if not self._curator.neighbors.rows_are_public:
            self._records = estimate_records(self._measurements)
        self._one_way_shares: list[np.ndarray] = []
        self._column_targets: list[Target] = []
        for measurement in self._columns:
            counts = measurement.counts.astype(np.float64)
            if rules.smooth_from_codes is not None and len(counts) >= rules.smooth_from_codes:
                counts = smooth(counts, measurement.stddev_counts**2)
            least = rules.least_start * measurement.stddev_counts / self._records
            share = project_simplex(counts / self._records) + least
            self._one_way_shares.append(share / share.sum())
            # The fit may see negative counts: what a projection cuts off here, other marginals may
            # yet correct.
            weight = (self._records / measurement.stddev_counts) ** 2
            wanted = (counts / self._records).astype(np.float32)
            self._column_targets.append(Target(measurement.marginal, wanted, np.full(len(wanted), weight, np.float32)))

    def _start_rows(self, step: StartRows) -> None:
        rules = self._settings.rules
        self._afresh = step.afresh
        self._jitter = self._settings.jitter or (rules.jitter_of_afresh if step.afresh else rules.jitter)
        self._start_at_columns()
        if self._public is not None:
            self._start_at_public(self._public)

    def _start_at_columns(self) -> None:
        """Rows near the product of the noisy columns, to which fits pull."""
        domain, rows = self._workload.domain, self._settings.synthetic_rows
        self._prior: Relaxed = np.log(np.concatenate(self._one_way_shares)).astype(np.float32)[:, None]
        gumbel = np.random.default_rng(self._seed).gumbel(size=(domain.onehot_size, rows)).astype(np.float32)
        self._origin: Relaxed = self._prior + np.float32(self._jitter) * gumbel
        self._rows = RelaxedDataset.from_logits(domain, self._origin)
        self._first_targets = self._column_targets
        self._column_departures: list[Evidence] = []

    def _start_at_public(self, public: PublicTable) -> None:
        """Fit the rows to a public table, then to the columns as far as these are believed."""
        start = fit_to_public(self._rows, self._prior, public, self._settings)
        self._fit_steps += start.steps
        if start.rows.logits is not None:
            self._prior = self._origin = start.rows.logits
        self._column_departures = column_evidence(self._columns, public, self._records)
        self._first_targets = [self._target(item) for item in self._column_departures]
        self._rows = start.rows
        kl_weight = records_stood_for(public, self._column_departures, self._records)
        self._fit(self._first_targets, kl_weight=kl_weight, last=False)

    def _choose(self, step: Choose) -> None:
        if not self._candidates:
            rules = self._settings.rules
            self._candidates = with_groups(step.pool, self._workload, rules, self._one_way_shares)
        estimates = self._estimates(self._candidates)
        places = choose(self._curator, self._candidates, estimates, step, self._settings)
        self._chosen = [(self._candidates[place], estimates[place]) for place in places]

    def _measure_chosen(self, step: MeasureChosen) -> None:
        measured = self._curator.measure([marginal for marginal, _ in self._chosen], step.rho)
        expected = [counts for _, counts in self._chosen]
        if self._public is not None and step.fit == 1:
            expected = self._drop_public_if_it_misleads(measured, expected)
        self._learn(measured, expected)
        self._fit_to_all(measured, step)

    def _measure_workload(self, step: MeasureWorkload) -> None:
        expected = self._estimates(step.marginals)
        measured = self._curator.measure(step.marginals, step.rho)
        self._learn(measured, expected)
        self._fit_to_all(measured, step)

    def _drop_public_if_it_misleads(self, measured: Sequence[Measurement], expected: list[Answers]) -> list[Answers]:
        """What is expected of the measured marginals, by the rows or by the columns alone."""
        followed = (self._rows, self._prior, self._origin, self._first_targets, self._column_departures)
        self._start_at_columns()
        plainly = self._estimates([item.marginal for item in measured])
        if misleads(measured, expected, plainly):
            self._public = None
            return plainly
        self._rows, self._prior, self._origin, self._first_targets, self._column_departures = followed
        return expected

    def _estimates(self, marginals: Sequence[Marginal]) -> list[Answers]:
        """What the rows say of marginals, in counts."""
        blocks = Blocks(self._workload.domain, self._rows.probabilities)
        return [blocks.shares(marginal) * self._records for marginal in marginals]

    def _learn(self, measured: Sequence[Measurement], expected_counts: Sequence[Answers]) -> None:
        """Take marginals in that were measured together, with what the rows said of each before."""
        fresh = [place for place, item in enumerate(measured) if item.marginal not in self._evidence]
        for item in measured:
            if item.marginal in self._evidence:
                self._evidence[item.marginal] = self._evidence[item.marginal].again(item)
        first = first_evidence([measured[place] for place in fresh], [expected_counts[place] for place in fresh])
        self._evidence.update({item.marginal: item for item in first})
        self._measurements += measured

    def _target(self, evidence: Evidence) -> Target:
        return evidence.target(self._records, shrink=self._settings.rules.shrink_cells)

    def _fit_to_all(self, measured: Sequence[Measurement], step: MeasureChosen | MeasureWorkload) -> None:
        """Fit the rows to everything measured so far."""
        last = step.fit == step.fits
        if last and self._afresh:
            self._rows = RelaxedDataset.from_logits(self._workload.domain, self._origin)
        kl_weight = self._settings.kl * self._records / max(item.stddev_counts for item in measured)
        if self._public is not None:
            departures = [*self._column_departures, *self._evidence.values()]
            kl_weight = max(kl_weight, records_stood_for(self._public, departures, self._records))
        targets = [*self._first_targets, *map(self._target, self._evidence.values())]
        misfit = self._fit(targets, kl_weight=kl_weight, last=last)
        spent = float(self._curator.spent / self._curator.budget.rho)
        cells = sum(len(target.shares) for target in targets)
        detail = f"{spent:.0%} of ρ spent, misfit {misfit / cells:.2f} of the noise"
        self._progress(Progress("round", step.fit, step.fits, detail))

    def _fit(self, targets: Sequence[Target], *, kl_weight: float, last: bool) -> float:
        """Fit the rows, and return their misfit."""
        settings = self._settings
        result = fit(
            self._rows,
            targets,
            FitSettings(
                prior=self._prior,
                kl_weight=kl_weight,
                steps=settings.final_steps if last else settings.steps,
                learning_rate=settings.learning_rate,
                cool_down=settings.rules.cool_down if last else 0.0,
            ),
        )
        self._rows = result.rows
        self._fit_steps += result.steps
        return result.misfit
