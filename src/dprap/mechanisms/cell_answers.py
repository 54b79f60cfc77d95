"""Noisy cells made into answers: of marginals, and of families that are sums of cells."""

from __future__ import annotations

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Float
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import CellFamily, Custom, Halfspace, Marginal
from dprap.queries.custom_values import MAX_TABLE_CELLS
from dprap.relaxed.simplex import project_simplex
from dprap.workload import Workload

Distribution = Float[np.ndarray, " cells"]
"""Non-negative numbers that sum to one."""


def distribution_of(measurement: Measurement, records: float) -> Distribution:
    """A measured marginal as the nearest distribution."""
    return project_simplex(measurement.counts / records)


def family_answers(
    domain: Domain, family: CellFamily | Custom, fractions: Float[np.ndarray, " cells"]
) -> Answers:
    """Answers of a family from unbiased estimates of its cells.

    Cells of a marginal are made a distribution. Sums of many cells are not: pushing the noise of
    empty cells above zero would add up to far more than the noise itself.
    """
    if isinstance(family, Marginal):
        return project_simplex(fractions)
    table = fractions.reshape(domain.shape_of(family.columns))
    return np.clip(np.asarray(family.answers(table), dtype=np.float64).ravel(), 0.0, 1.0)


def cell_families(workload: Workload, method: str) -> tuple[CellFamily | Custom, ...]:
    """The workload's families, which must all follow from tables of cell counts.

    Raises:
        WorkloadError: if there are halfspaces, or a custom query has too many cells for a table.

    """
    found: list[CellFamily | Custom] = []
    for family in workload.families:
        if isinstance(family, Halfspace):
            raise WorkloadError(
                f"method {method} does not take {family}. Use the method rap++ or adaptive."
            )
        if isinstance(family, Custom) and not family.is_table(workload.domain):
            raise WorkloadError(
                f"method {method} takes custom queries over at most {MAX_TABLE_CELLS:,} cells;"
                f" {family} has {workload.domain.size_of(family.columns):,}. Use the method rap."
            )
        found.append(family)
    return tuple(found)
