"""The adaptive mechanism's plan: the steps that its run carries out, added up."""

from __future__ import annotations

from fractions import Fraction

from dprap.accounting import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.mechanisms.adaptive.columns import ColumnMarginals
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
    has_sweep,
)
from dprap.mechanisms.outline import PlannedStep, total_of_records
from dprap.public_table import PublicTable
from dprap.workload import Workload

# A plan's unit of work is a multiplication of elementwise arithmetic. In a matrix product 40 of
# them take as long.
_IN_PRODUCT = 1 / 40
# Beside the marginals a step goes over the rows themselves about twenty times, a fifth of a unit
# each.
_PASSES = 4.0
# A choice subtracts, sorts and adds up every cell of a candidate.
_SCORING = 10.0
# What a look at a candidate takes beside that, 20 µs.
_LOOK = 1e4
# Finding out how far a measured marginal is to be believed, 0.5 ms.
_LEARNING = 2.5e5


def outline(
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: int | None,
    public: PublicTable | None = None,
) -> list[PlannedStep]:
    """Columns one by one, then rounds of choosing and measuring, then the workload where that pays.

    Which marginals are measured is chosen from noisy scores, so the cells assume candidates of mean
    size, by code: those over groups have fewer. How many there are follows from the number of
    records; where that is unknown, the plan is for the fewest.
    """
    domain = workload.domain
    steps = _walked(
        workload, settings, budget_rho=budget_rho, neighbors=neighbors, records=float(rows or 1)
    )
    chosen = [step for step in steps if isinstance(step, Choose)]
    measured = [step for step in steps if isinstance(step, MeasureChosen)]
    picks = sum(step.picks for step in chosen)
    pool_cells = (
        sum(domain.size_of(marginal.columns) for marginal in chosen[0].pool.candidates)
        if chosen
        else 0
    )
    measured_cells = picks * pool_cells // len(chosen[0].pool.candidates) if chosen else 0

    rows_stay = any(isinstance(step, StartRows) and step.rows_stay for step in steps)
    after_round = settings.steps_after_round(rows_stay=rows_stay)

    def fitting(steps: int, fitted_cells: float) -> float:
        """Operations of a fit: forward once, backward twice; all that goes over the rows
        themselves.
        """
        return (
            steps
            * (3.0 * _IN_PRODUCT * fitted_cells + _PASSES * domain.onehot_size)
            * settings.synthetic_rows
        )

    def stddev(rho: Fraction) -> float:
        return stddev_for(neighbors.marginal_l2_squared, rho)

    planned: list[PlannedStep] = []
    for step in steps:
        if isinstance(step, CountRecords):
            planned += total_of_records(step.rho, neighbors)
        elif isinstance(step, MeasureColumns):
            shares = ColumnMarginals.of(workload, step.shares, settings.rules).shares
            least = step.rho * Fraction(min(shares)) / sum(Fraction(share) for share in shares)
            planned.append(
                PlannedStep(
                    f"{len(domain)} columns one by one", step.rho, stddev(least), domain.onehot_size
                )
            )
    if public is not None:
        work = fitting(settings.final_steps, public.cells) + fitting(after_round, 0)
        planned.append(PlannedStep("start from the public table", Fraction(0), None, 0, work))
    if chosen:
        at_least = "" if rows is not None else " or more"
        planned += [
            PlannedStep(
                f"choose {picks}{at_least} times in {len(chosen)} rounds among "
                f"{len(chosen[0].pool.candidates):,} marginals, fine or coarse",
                sum((step.rho for step in chosen), Fraction(0)),
                None,
                0,
                float(
                    len(chosen)
                    * (
                        pool_cells * (_IN_PRODUCT * settings.synthetic_rows + _SCORING)
                        + _LOOK * len(chosen[0].pool.candidates)
                    )
                ),
            ),
            PlannedStep(
                "measure them",
                sum((step.rho for step in measured), Fraction(0)),
                max(stddev(step.rho_each) for step in measured),
                measured_cells,
                # The mean round fits half of what is measured in the end.
                fitting(len(chosen) * after_round, measured_cells / 2)
                + (0 if has_sweep(steps) else fitting(settings.final_steps, measured_cells)),
            ),
        ]
    for step in steps:
        if isinstance(step, MeasureWorkload):
            cells = sum(domain.size_of(marginal.columns) for marginal in step.marginals)
            planned.append(
                PlannedStep(
                    f"measure the workload's {len(step.marginals):,} marginals",
                    step.rho,
                    stddev(step.rho * Fraction(min(step.shares)) / sum(map(Fraction, step.shares))),
                    cells,
                    fitting(settings.final_steps, measured_cells + cells)
                    + _LEARNING * len(step.marginals),
                )
            )
        elif isinstance(step, MeasureOne):
            cells = step.marginal.size(domain)
            label = f"measure {step.marginal}, which answers the whole workload"
            planned.append(
                PlannedStep(
                    label, step.rho, stddev(step.rho), cells, float(cells * domain.onehot_size)
                )
            )
    return planned


def _walked(
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    records: float,
) -> list[Step]:
    """All steps, with one number of records throughout."""
    walked: list[Step] = []

    def take(step: Step) -> float:
        walked.append(step)
        return records

    walk(spending(workload, settings, rho=budget_rho, neighbors=neighbors, public=False), take)
    return walked
