"""HDMM for marginals (McKenna et al. 2018, 2019): the best weighted marginals, measured once, and
one inference over all.

The strategy is optimised over weighted marginals (`dprap_bench.mechanisms.strategy`). Inference is
by least squares, made non-negative marginal by marginal (HDMM+LLS), or by a graphical model
(HDMM+PGM; for marginals whose junction tree is small). Range and threshold families are answered
from the marginal over their columns; HDMM proper would measure ranges too, where here the strategy
is the best of weighted marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np

from dprap.accounting import Measurement, Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.mechanisms.cell_answers import cell_families, family_answers
from dprap.mechanisms.outline import PlannedStep, rho_of_records, total_of_records
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.workload import Workload
from dprap_bench.mechanisms.graphical import check_model_size, fit_model
from dprap_bench.mechanisms.junction import Table
from dprap_bench.mechanisms.strategy import Strategy, best_strategy


@dataclass(frozen=True)
class HdmmSettings:
    """`inference` from the measured marginals; the last two settings are the graphical model's."""

    inference: Literal["least_squares", "graphical"] = "least_squares"
    iterations: int = 1000
    max_model_megabytes: float = 200.0
    records_share: float = 0.01

    def __post_init__(self) -> None:
        if self.inference not in ("least_squares", "graphical"):
            raise SettingsError(
                f"inference must be 'least_squares' or 'graphical', not {self.inference!r}."
            )


def outline(
    workload: Workload,
    settings: HdmmSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """The marginals of the best strategy, once."""
    strategy = _strategy(workload, settings, neighbors)
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    rho = budget_rho - records_rho
    smallest = (
        rho * Fraction(min(strategy.shares)) / sum(Fraction(share) for share in strategy.shares)
    )
    stddev = stddev_for(neighbors.marginal_l2_squared, smallest)
    cells = sum(marginal.size(workload.domain) for marginal in strategy.marginals)
    fit = 10.0 * cells * (settings.iterations if settings.inference == "graphical" else 1)
    return [
        *total_of_records(records_rho, neighbors),
        PlannedStep(f"{len(strategy.marginals):,} weighted marginals", rho, stddev, cells, fit),
    ]


def run(
    curator: Curator,
    workload: Workload,
    settings: HdmmSettings,
    *,
    seed: int,  # noqa: ARG001 - every method has the same signature; this one makes no public choices
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Measure the best weighted marginals and answer the workload from all of them together."""
    families = cell_families(workload, "hdmm")
    strategy = _strategy(workload, settings, curator.neighbors)
    wanted = list(dict.fromkeys(Marginal(family.columns) for family in families))
    progress(Progress("measure", 0, 1, f"{len(strategy.marginals)} marginals"))
    records = count_records(curator, settings.records_share)
    measured = curator.measure(
        strategy.marginals, curator.remaining, [Fraction(share) for share in strategy.shares]
    )
    progress(Progress("measure", 1, 1))
    if settings.inference == "graphical":
        model = fit_model(workload.domain, measured, records.count, iterations=settings.iterations)
        fractions = {marginal: model.fractions(marginal) for marginal in wanted}
    else:
        residuals = best_residuals(
            workload.domain, [*records.measurements, *measured], records.count
        )
        fractions = {
            marginal: least_squares(workload.domain, residuals, marginal).ravel() / records.count
            for marginal in wanted
        }
    answers = [
        family_answers(workload.domain, family, fractions[Marginal(family.columns)])
        for family in families
    ]
    return MechanismResult(None, answers, (*records.measurements, *measured), records.count)


def _strategy(workload: Workload, settings: HdmmSettings, neighbors: Neighbors) -> Strategy:
    """The best strategy; refuses one whose graphical model would not fit, where one is asked
    for.
    """
    cell_families(workload, "hdmm")
    strategy = best_strategy(workload, total_is_known=neighbors.rows_are_public)
    if settings.inference == "graphical":
        check_model_size(workload.domain, strategy.marginals, settings.max_model_megabytes)
    return strategy


def best_residuals(
    domain: Domain, measured: Sequence[Measurement], records: float
) -> dict[frozenset[str], tuple[tuple[str, ...], Table]]:
    """Estimate, for every set of columns, the part of the counts that lives on exactly these.

    It is the minimum-variance mean of what each marginal says about it: summing a marginal's cells
    down to the set multiplies their variance by the number of cells summed.
    """
    sums: dict[frozenset[str], tuple[tuple[str, ...], Table, float]] = {}
    for measurement in measured:
        given = measurement.marginal.columns
        columns = tuple(sorted(given, key=domain.position))
        table = measurement.counts.astype(np.float64).reshape(domain.shape_of(given))
        table = table.transpose([given.index(name) for name in columns])
        for size in range(len(columns) + 1):
            for kept in combinations(columns, size):
                residual = _residual(table, columns, kept)
                summed = domain.size_of(columns) / domain.size_of(kept)
                information = 1 / (measurement.stddev_counts**2 * summed)
                _, total, known = sums.get(frozenset(kept), (kept, np.zeros_like(residual), 0.0))
                sums[frozenset(kept)] = (kept, total + information * residual, known + information)
    found = {key: (kept, total / known) for key, (kept, total, known) in sums.items()}
    found[frozenset()] = ((), np.array(records))
    return found


def _residual(table: Table, columns: tuple[str, ...], kept: tuple[str, ...]) -> Table:
    summed = tuple(axis for axis, name in enumerate(columns) if name not in kept)
    residual: Table = table.sum(axis=summed)
    for axis in range(len(kept)):
        residual = residual - residual.mean(axis=axis, keepdims=True)
    return residual


def least_squares(
    domain: Domain,
    residuals: dict[frozenset[str], tuple[tuple[str, ...], Table]],
    marginal: Marginal,
) -> Table:
    """The least-squares estimate of a marginal's counts: the sum of its residuals, each spread
    evenly.
    """
    estimate = np.zeros(domain.shape_of(marginal.columns))
    for size in range(len(marginal.columns) + 1):
        for kept in combinations(marginal.columns, size):
            columns, residual = residuals[frozenset(kept)]
            aligned = residual.transpose([columns.index(name) for name in kept])
            shape = [domain.size(name) if name in kept else 1 for name in marginal.columns]
            estimate += aligned.reshape(shape) * (
                domain.size_of(kept) / domain.size_of(marginal.columns)
            )
    return estimate


MECHANISM = Mechanism(
    run, outline, HdmmSettings, "the best weighted marginals, measured once; answers only"
)
