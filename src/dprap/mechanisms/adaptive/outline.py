"""The adaptive mechanism's plan, by the functions that its run uses."""

from __future__ import annotations

from fractions import Fraction

from dprap.mechanisms.adaptive.schedule import has_pairs, one_way_rho, one_way_shares, plan_schedule
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.outline import PlannedStep, rho_of_records, total_of_records
from dprap.privacy import Neighbors
from dprap.privacy.gaussian import stddev_for
from dprap.public import PublicTable
from dprap.workload import Workload


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

    Which marginals are measured is chosen from noisy scores, so the cells assume candidates of mean size, by code: those over groups have fewer.
    How many there are follows from the number of records; where that is unknown, the plan is for the fewest.
    """
    domain = workload.domain
    records_rho = rho_of_records(budget_rho, settings.total_share, neighbors)
    records = float(rows or 1)
    columns_rho = budget_rho - records_rho
    if has_pairs(workload):
        columns_rho = one_way_rho(workload, settings, rho=budget_rho, records=records, neighbors=neighbors)
    shares = one_way_shares(workload)
    largest = columns_rho * Fraction(min(shares)) / sum(Fraction(share) for share in shares)
    steps = [
        *total_of_records(records_rho, neighbors),
        PlannedStep(
            f"{len(domain)} columns one by one",
            columns_rho,
            stddev_for(neighbors.marginal_l2_squared, largest),
            domain.onehot_size,
        ),
    ]
    left = budget_rho - records_rho - columns_rho
    schedule = plan_schedule(workload, settings, rho=budget_rho, left=left, records=records, neighbors=neighbors)
    cells = sum(domain.size_of(marginal.columns) for marginal in schedule.candidates)
    swept = sum(domain.size_of(marginal.columns) for marginal in schedule.swept)
    picks = sum(each.picks for each in schedule.rounds)
    measured = picks * cells // max(len(schedule.candidates), 1)
    at_least = "" if rows is not None else " or more"

    def fitting(steps: int, fitted_cells: float) -> float:
        """Operations of a fit: forward once, backward twice."""
        return 3.0 * steps * (domain.onehot_size + fitted_cells) * settings.synthetic_rows

    if public is not None:
        work = fitting(settings.final_steps, public.cells) + fitting(settings.steps, 0)
        steps.append(PlannedStep("start from the public table", Fraction(0), None, 0, work))
    if schedule.rounds:
        fits = len(schedule.rounds) * settings.steps
        steps += [
            PlannedStep(
                f"choose {picks}{at_least} of {len(schedule.candidates):,} marginals or coarser ones, "
                f"in {len(schedule.rounds)} rounds",
                sum((each.select_rho * each.picks for each in schedule.rounds), Fraction(0)),
                None,
                0,
                float(len(schedule.rounds) * cells * settings.synthetic_rows),
            ),
            PlannedStep(
                "measure them",
                sum((each.measure_rho * each.picks for each in schedule.rounds), Fraction(0)),
                max(stddev_for(neighbors.marginal_l2_squared, each.measure_rho) for each in schedule.rounds),
                measured,
                fitting(fits, measured / 2),  # in the mean round half of what is measured in the end
            ),
        ]
    if schedule.swept:
        steps.append(
            PlannedStep(
                f"measure the workload's {len(schedule.swept):,} marginals",
                schedule.sweep_rho,
                stddev_for(neighbors.marginal_l2_squared, schedule.sweep_rho / len(schedule.swept)),
                swept,
                fitting(settings.final_steps, measured + swept),
            )
        )
    return steps
