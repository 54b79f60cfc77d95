"""The Gaussian mechanism on every marginal or query of the workload: answers, no table.

Each measured marginal is projected onto the simplex, which is free and removes most of the noise on
empty cells; prefixes and thresholds are summed from the cells before that. Marginals are not made
consistent with each other, and the noise grows with the square root of their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dprap.accounting import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.errors import SettingsError, WorkloadError
from dprap.limits import MAX_MEASURED_COUNTS
from dprap.mechanisms.cell_answers import cell_families, family_answers
from dprap.mechanisms.outline import (
    PlannedStep,
    measured_marginals,
    rho_of_records,
    total_of_records,
)
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.relaxed.simplex import project_simplex
from dprap.workload import Workload

# Counts and answers of a release that can be read again; a sixteenth is left for all else that
# stands in its files.
MOST_COUNTS = MAX_MEASURED_COUNTS * 15 // 16


@dataclass(frozen=True)
class GaussianSettings:
    """How the budget is paid out.

    `per` = "marginal" pays once for all cells of a marginal; "query" pays for every query, as the
    paper's T = 1 does. `records_share` is spent on the number of records where that is private.
    """

    per: Literal["marginal", "query"] = "marginal"
    records_share: float = 0.01

    def __post_init__(self) -> None:
        if self.per not in ("marginal", "query"):
            raise SettingsError(f"per must be 'marginal' or 'query', not {self.per!r}.")


def outline(
    workload: Workload,
    settings: GaussianSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """Every marginal, or every query, once."""
    _check_size(workload, settings)
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    rho = budget_rho - records_rho
    if settings.per == "query":
        stddev = stddev_for(neighbors.query**2, rho / workload.queries)
        measured = PlannedStep(f"{workload.queries:,} queries", rho, stddev, workload.queries)
    else:
        marginals = _marginals(workload)
        label = f"{len(marginals):,} marginals"
        measured = measured_marginals(
            label, marginals, workload.domain, rho=rho, neighbors=neighbors
        )
    return [*total_of_records(records_rho, neighbors), measured]


def _check_size(workload: Workload, settings: GaussianSettings) -> None:
    """Refuse a workload whose release would be too large to be read again."""
    cells = (
        0
        if settings.per == "query"
        else sum(each.size(workload.domain) for each in _marginals(workload))
    )
    found = max(cells, workload.queries)
    if found > MOST_COUNTS:
        raise WorkloadError(
            f"the workload has {found:,} queries, and a release of the method gaussian holds at"
            f" most {MOST_COUNTS:,}. Ask for fewer marginals, or use another method."
        )


def _marginals(workload: Workload) -> list[Marginal]:
    """The tables of cells that the workload follows from, each once."""
    return list(
        dict.fromkeys(Marginal(family.columns) for family in cell_families(workload, "gaussian"))
    )


def run(
    curator: Curator,
    workload: Workload,
    settings: GaussianSettings,
    *,
    seed: int,  # noqa: ARG001 - every method has the same signature; this one makes no public choices
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Measure everything once and answer from the measurements."""
    _check_size(workload, settings)  # before the first charge
    if settings.per == "query":
        return _per_query(curator, workload, settings, progress)
    families = cell_families(workload, "gaussian")
    records = count_records(curator, settings.records_share)
    marginals = _marginals(workload)
    progress(Progress("measure", 0, 1, f"{len(marginals)} marginals"))
    measured = curator.measure(marginals, curator.remaining)
    progress(Progress("measure", 1, 1))
    fractions = {m.marginal: m.counts / records.count for m in measured}
    answers = [
        family_answers(workload.domain, family, fractions[Marginal(family.columns)])
        for family in families
    ]
    return MechanismResult(None, answers, (*records.measurements, *measured), records.count)


def _per_query(
    curator: Curator, workload: Workload, settings: GaussianSettings, progress: ProgressCallback
) -> MechanismResult:
    records = count_records(curator, settings.records_share)
    answers = []
    for family, counts, _ in curator.measure_all(workload.families, curator.remaining):
        fractions = np.asarray(counts, dtype=np.float64) / records.count
        answers.append(
            project_simplex(fractions)
            if isinstance(family, Marginal)
            else np.clip(fractions, 0.0, 1.0)
        )
        progress(Progress("measure", len(answers), len(workload)))
    return MechanismResult(None, answers, records.measurements, records.count)


MECHANISM = Mechanism(run, outline, GaussianSettings, "every marginal once; answers only")
