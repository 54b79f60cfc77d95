"""Every column by itself: the product of noisy one-way marginals, as if the columns were
unrelated.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Neighbors
from dprap.mechanisms.cell_answers import distribution_of
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
from dprap.relaxed.rows import RelaxedDataset, uniform_weights
from dprap.workload import Workload


@dataclass(frozen=True)
class IndependentSettings:
    """`records_share` of the budget is spent on the number of records where that is private."""

    records_share: float = 0.01


def outline(
    workload: Workload,
    settings: IndependentSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: (int | None),  # noqa: ARG001 - every method has the same signature; this one does not depend on it
) -> list[PlannedStep]:
    """Every column once."""
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    columns = [Marginal((name,)) for name in workload.domain.names]
    label = f"{len(columns)} columns one by one"
    measured = measured_marginals(
        label, columns, workload.domain, rho=budget_rho - records_rho, neighbors=neighbors
    )
    return [*total_of_records(records_rho, neighbors), measured]


def run(
    curator: Curator,
    workload: Workload,
    settings: IndependentSettings,
    *,
    seed: int,  # noqa: ARG001 - every method has the same signature; this one makes no public choices
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Measure all one-way marginals, not only the workload's, and publish one relaxed row."""
    records = count_records(curator, settings.records_share)
    progress(Progress("measure", 0, 1, f"{len(workload.domain)} columns"))
    measured = curator.measure(
        [Marginal((name,)) for name in workload.domain.names], curator.remaining
    )
    progress(Progress("measure", 1, 1))
    row = np.concatenate([distribution_of(m, records.count) for m in measured])
    relaxed = RelaxedDataset(workload.domain, row[:, None].astype(np.float32), uniform_weights(1))
    return MechanismResult(
        relaxed, None, (*records.measurements, *measured), records.count, predictions=()
    )


MECHANISM = Mechanism(
    run,
    outline,
    IndependentSettings,
    "columns one by one, as if unrelated",
    predicts=True,
)
