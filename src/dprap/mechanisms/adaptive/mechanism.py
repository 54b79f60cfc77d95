"""Adaptive projection: choose the marginals that rows answer worst, measure them, fit, repeat.

Privacy: everything comes from the curator's verbs, each charged; the rest is post-processing.
`spending` lists what is bought, in exact fractions of ρ that add up to the whole budget; here each
step is carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Relaxed
from dprap.mechanisms.adaptive.choosing import choose
from dprap.mechanisms.adaptive.column_estimate import estimate_column
from dprap.mechanisms.adaptive.columns import ColumnMarginals, reconciled
from dprap.mechanisms.adaptive.empty_cells import EmptyCells
from dprap.mechanisms.adaptive.ends import with_ends
from dprap.mechanisms.adaptive.evidence import Evidence, first_evidence
from dprap.mechanisms.adaptive.groups import with_groups
from dprap.mechanisms.adaptive.last_fit import Closeness, repeated
from dprap.mechanisms.adaptive.neighbours import ties_of
from dprap.mechanisms.adaptive.one_marginal import rows_of_cells
from dprap.mechanisms.adaptive.public_start import (
    column_evidence,
    fit_to_public,
    misleads,
    records_stood_for,
)
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.adaptive.spending import spending, walk
from dprap.mechanisms.adaptive.spending_steps import (
    Choose,
    CountRecords,
    MeasureChosen,
    MeasureColumns,
    MeasureOne,
    MeasureWorkload,
    StartRows,
    Step,
)
from dprap.mechanisms.record_count import estimate_records
from dprap.mechanisms.result import (
    MechanismResult,
    Paced,
    Prediction,
    Progress,
    ProgressCallback,
    silent,
)
from dprap.privacy import Curator, Rows
from dprap.public_table import PublicTable
from dprap.queries import Marginal
from dprap.relaxed.adam import FitSettings
from dprap.relaxed.blocks import Blocks
from dprap.relaxed.fit import fit
from dprap.relaxed.gradient import Target
from dprap.relaxed.rows import RelaxedDataset
from dprap.relaxed.shares import SharePlan
from dprap.schema import CodeConstraint
from dprap.workload import Workload

# How far apart the two rows are that one becomes, as a factor of Gumbel noise on the logits. Rows
# that are .3 apart have lost what they were fitted to: an error of .0045 in place of .0004.
_SPLIT_APART = 0.1


def run(
    curator: Curator,
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
    public: PublicTable | None = None,
    constraints: Sequence[CodeConstraint] = (),
    ordered: Mapping[str, int] = MappingProxyType({}),
) -> MechanismResult:
    """Spend the curator's whole budget on the workload and return the fitted rows.

    Args:
        curator: Measures and chooses, for a charge.
        workload: Which queries matter.
        settings: What the user overrides.
        seed: Of public randomness: where the rows start.
        progress: Is told after every fit.
        public: A public table to start from, if there is one.
        constraints: What cannot occur: such cells are fitted to zero.
        ordered: How many codes have an order, for each column of which that is known.

    """
    state = _Run(curator, workload, settings, seed, progress, public, constraints, ordered)
    steps = spending(
        workload, settings, rho=curator.rho, neighbors=curator.neighbors, public=public is not None
    )
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
        constraints: Sequence[CodeConstraint],
        ordered: Mapping[str, int],
    ) -> None:
        self._curator = curator
        self._workload = workload
        self._settings = settings
        self._seed = seed
        self._progress = progress
        self._meanwhile = Paced(progress)
        self._public = public
        self._ordered = ordered
        self._empty = EmptyCells(
            constraints, workload.domain, part_of_noise=settings.rules.noise_of_empty_cells
        )
        self._records = 0.0
        self._measurements: list[Measurement] = []
        self._columns: Sequence[Measurement] = ()
        self._fit_steps = 0
        self._splits = 0
        self._candidates: Sequence[Marginal] = ()
        # What was chosen and not yet measured, with what the rows said of each.
        self._chosen: list[tuple[Marginal, Answers]] = []
        self._evidence: dict[Marginal, Evidence] = {}
        self._predictions: list[Prediction] = []

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
            case MeasureOne():
                self._measure_one(step)
        return self._records

    def result(self) -> MechanismResult:
        """The rows as they are, without their logits, and with a record at hidden ends."""
        rows = RelaxedDataset(self._workload.domain, self._rows.probabilities, self._rows.weights)
        # Where the noise is less than a record, a column that ends early was seen to do so.
        at_ends = self._settings.rules.records_at_ends
        least_counts = {
            item.marginal.columns[0]: min(at_ends, item.stddev_counts) for item in self._columns
        }
        rows = with_ends(rows, self._ordered, least_counts, self._records)
        return MechanismResult(
            rows,
            None,
            tuple(self._measurements),
            self._records,
            self._fit_steps,
            tuple(self._predictions),
        )

    def _count_records(self, step: CountRecords) -> None:
        if self._curator.neighbors.rows_are_public:
            self._records = float(self._curator.n)
        else:
            self._measurements += self._curator.measure([Marginal(())], step.rho)
            self._records = estimate_records(self._measurements)

    def _measure_columns(self, step: MeasureColumns) -> None:
        """Measure the columns one by one; rows will start at them and be fitted to them."""
        rules = self._settings.rules
        plan = ColumnMarginals.of(self._workload, step.shares, self._settings.rules)
        # The counts of columns are sums of others, which takes seconds in a large workload.
        self._progress(Progress("measure", 0, len(plan.marginals)))
        measured = self._curator.measure(
            plan.marginals,
            step.rho,
            plan.shares,
            watch=lambda done, columns: self._meanwhile(Progress("measure", done, columns)),
        )
        self._columns, blocks = plan.split(measured)
        self._measurements += measured
        if not self._curator.neighbors.rows_are_public:
            self._records = estimate_records(self._measurements)
        self._one_way_shares: list[np.ndarray] = []
        self._column_targets: list[Target] = []
        for measurement in self._columns:
            counts, stddev = measurement.counts.astype(np.float64), measurement.stddev_counts
            by_blocks = blocks.get(measurement.marginal.columns[0])
            if by_blocks is not None:
                counts = reconciled(counts, stddev, by_blocks)
                weight = (self._records / by_blocks.stddev_counts) ** 2
                wanted = (by_blocks.counts / self._records).astype(np.float32)
                weights = np.full(len(wanted), weight, np.float32)
                self._column_targets.append(Target(by_blocks.marginal, wanted, weights))
            (name,) = measurement.marginal.columns
            column = estimate_column(
                counts, stddev, self._records, rules, ordered=self._ordered.get(name)
            )
            self._one_way_shares.append(column.shares)
            weights = np.full(len(column.shares), column.noise**-2, np.float32)
            self._column_targets.append(
                Target(measurement.marginal, column.wanted.astype(np.float32), weights)
            )
        along = [(each, self._ordered.get(each.marginal.columns[0])) for each in self._columns]
        self._ties = ties_of(along, self._records, rules)
        # What is bought next follows from the closure, which takes seconds of a large workload.
        self._meanwhile(Progress("choose", 0, len(self._workload)))
        self._workload.closure(smallest=2)
        self._meanwhile(Progress("choose", 0, len(self._workload)))

    def _start_rows(self, step: StartRows) -> None:
        rules = self._settings.rules
        self._afresh = step.afresh
        self._steps = self._settings.steps_after_round(rows_stay=step.rows_stay)
        self._jitter = self._settings.jitter or (
            rules.jitter_of_afresh if step.afresh else rules.jitter
        )
        if not step.fitted:
            product = np.log(np.concatenate(self._one_way_shares))[:, None]
            self._rows = RelaxedDataset.from_logits(self._workload.domain, product)
            return
        self._start_at_columns()
        if self._public is not None:
            self._start_at_public(self._public)

    def _start_at_columns(self) -> None:
        """Rows near the product of the noisy columns, to which fits pull."""
        domain, rows = self._workload.domain, self._settings.synthetic_rows
        self._prior: Relaxed = np.log(np.concatenate(self._one_way_shares)).astype(np.float32)[
            :, None
        ]
        gumbel = (
            np.random.default_rng(self._seed)
            .gumbel(size=(domain.onehot_size, rows))
            .astype(np.float32)
        )
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
            self._meanwhile(Progress("choose", 0, len(step.pool.candidates)))
            rules = self._settings.rules
            self._candidates = with_groups(step.pool, self._workload, rules, self._one_way_shares)
            self._meanwhile(Progress("choose", 0, len(self._candidates)))
            self._share_plan = SharePlan.of(self._workload.domain, self._candidates)
            self._meanwhile(Progress("choose", 0, len(self._candidates)))
        places = choose(
            self._curator, self._candidates, self._candidate_estimates(), step, self._settings
        )
        chosen = [self._candidates[place] for place in places]
        self._chosen = list(zip(chosen, self._estimates(chosen), strict=True))

    def _measure_chosen(self, step: MeasureChosen) -> None:
        measured = self._curator.measure([marginal for marginal, _ in self._chosen], step.rho)
        expected = [counts for _, counts in self._chosen]
        if self._public is not None and step.fit == 1:
            expected = self._drop_public_if_it_misleads(measured, expected)
        self._learn(measured, expected)
        self._fit_to_all(measured, step)

    def _measure_workload(self, step: MeasureWorkload) -> None:
        count = len(step.marginals)
        expected = list(self._meanwhile.each(self._estimates(step.marginals), "measure", count))
        measured = self._curator.measure(step.marginals, step.rho, step.shares)
        self._learn(measured, expected)
        self._fit_to_all(measured, step)

    def _measure_one(self, step: MeasureOne) -> None:
        """Make rows of the cells of the one marginal that answers the workload."""
        (measured,) = self._curator.measure([step.marginal], step.rho)
        self._measurements.append(measured)
        self._rows = rows_of_cells(
            self._workload.domain,
            measured,
            self._columns,
            self._records,
            self._settings.rules,
            self._ordered,
        )
        self._progress(Progress("round", 1, 1, "100% of ρ spent"))

    def _drop_public_if_it_misleads(
        self, measured: Sequence[Measurement], expected: list[Answers]
    ) -> list[Answers]:
        """What is expected of the measured marginals, by the rows or by the columns alone."""
        followed = (
            self._rows,
            self._prior,
            self._origin,
            self._first_targets,
            self._column_departures,
        )
        self._start_at_columns()
        plainly = list(self._estimates([item.marginal for item in measured]))
        if misleads(measured, expected, plainly):
            self._public = None
            return plainly
        self._rows, self._prior, self._origin, self._first_targets, self._column_departures = (
            followed
        )
        return expected

    def _estimates(self, marginals: Sequence[Marginal]) -> Iterator[Answers]:
        """What the rows say of marginals, in counts."""
        blocks = Blocks(self._workload.domain, self._rows.probabilities)
        return (blocks.shares(marginal) * self._records for marginal in marginals)

    def _candidate_estimates(self) -> Iterator[Rows]:
        """What the rows say of all candidates, in counts."""
        blocks = Blocks(self._workload.domain, self._rows.probabilities)
        done = 0
        for shares in self._share_plan.shares(blocks):
            yield Rows(shares * self._records)
            done += len(shares)
            self._meanwhile(Progress("choose", done, len(self._candidates)))

    def _learn(self, measured: Sequence[Measurement], expected_counts: Sequence[Answers]) -> None:
        """Take marginals in that were measured together, with what the rows said of each before."""
        fresh = [
            place for place, item in enumerate(measured) if item.marginal not in self._evidence
        ]
        for item in measured:
            if item.marginal in self._evidence:
                self._evidence[item.marginal] = self._evidence[item.marginal].again(item)
        self._predictions += [
            Prediction(expected_counts[place], measured[place]) for place in fresh
        ]
        first = first_evidence(
            [measured[place] for place in fresh], [expected_counts[place] for place in fresh]
        )
        self._evidence.update({item.marginal: item for item in first})
        self._measurements += measured

    def _target(self, evidence: Evidence) -> Target:
        return evidence.target(self._records, shrink=self._settings.rules.shrink_cells)

    def _fit_to_all(
        self, measured: Sequence[Measurement], step: MeasureChosen | MeasureWorkload
    ) -> None:
        """Fit the rows to everything measured so far."""
        last, rules = step.fit == step.fits, self._settings.rules
        if last and self._afresh:
            self._rows = RelaxedDataset.from_logits(self._workload.domain, self._origin)
        resolution = self._records / max(item.stddev_counts for item in measured)
        # By code: what a group leaves open, the pull decides.
        cells_each = float(
            np.mean([self._workload.domain.size_of(item.marginal.columns) for item in measured])
        )
        kl_weight = self._settings.kl * min(resolution, cells_each)
        if self._public is not None:
            departures = [*self._column_departures, *self._evidence.values()]
            kl_weight = max(kl_weight, records_stood_for(self._public, departures, self._records))
        learned = map(self._target, self._evidence.values())
        targets = [
            *self._first_targets,
            *self._meanwhile.each(learned, "learn", len(self._evidence)),
        ]
        cells = sum(len(target.shares) for target in targets)
        noise = cells if not rules.shrink_cells else self._misfit_of_truth()
        closely = isinstance(step, MeasureWorkload) and resolution >= rules.close_from_resolution
        misfit = self._fit(targets, kl_weight=kl_weight, last=last)
        if last:
            misfit = repeated(
                targets,
                lambda: self._rows,
                lambda emphasised, pull: self._fit(emphasised, kl_weight=pull, last=True),
                self._split_rows,
                Closeness(misfit, noise, cells, kl_weight, closely=closely),
                rules,
            )
        spent = float(self._curator.spent / self._curator.budget.rho)
        detail = f"{spent:.0%} of ρ spent, misfit {misfit / noise:.2f} of the noise"
        self._progress(Progress("round", step.fit, step.fits, detail))

    def _split_rows(self) -> bool:
        """Make two rows of each, a little apart, where there is room for so many numbers."""
        rules, logits = self._settings.rules, self._rows.logits
        if logits is None or self._splits >= rules.most_splits:
            return False
        if 2 * logits.size > rules.most_numbers_in_rows:
            return False
        self._splits += 1
        gumbel = np.random.default_rng((self._seed, self._splits)).gumbel(size=logits.shape)
        apart = np.float32(_SPLIT_APART) * gumbel.astype(np.float32)
        self._rows = RelaxedDataset.from_logits(
            self._workload.domain, np.concatenate([logits + apart, logits - apart], axis=1)
        )
        if self._prior.shape[1] > 1:
            self._prior = np.concatenate([self._prior, self._prior], axis=1)
        return True

    def _misfit_of_truth(self) -> float:
        """What noise adds to the misfit of the truth, a unit for each code of a column."""
        columns = sum(len(target.shares) for target in self._first_targets)
        return columns + sum(item.misfit_of_truth for item in self._evidence.values())

    def _fit(self, targets: Sequence[Target], *, kl_weight: float, last: bool) -> float:
        """Fit the rows, and return their misfit."""
        settings = self._settings
        result = fit(
            self._rows,
            self._empty.added_to(targets),
            FitSettings(
                prior=self._prior,
                kl_weight=kl_weight,
                # Twice the rows take about twice the steps to come as far.
                steps=settings.final_steps * 2**self._splits if last else self._steps,
                learning_rate=settings.learning_rate,
                cool_down=settings.rules.cool_down,
                ties=self._ties,
            ),
            watch=lambda step, steps: self._meanwhile(
                Progress("fit", step, steps, f"{len(targets):,} marginals")
            ),
        )
        self._rows = result.rows
        self._fit_steps += result.steps
        return result.misfit
