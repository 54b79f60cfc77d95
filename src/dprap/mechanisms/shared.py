"""What several baselines need: the number of records, and noisy counts made into a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Float, Num

from dprap.array_types import Answers
from dprap.domain import Domain
from dprap.errors import SettingsError, WorkloadError
from dprap.privacy import Curator, Measurement
from dprap.queries import CellFamily, Custom, Marginal
from dprap.workload import Workload

Distribution = Float[np.ndarray, "cells"]
"""Non-negative numbers that sum to one."""


@dataclass(frozen=True)
class Records:
    """The number of records as far as it is known, with the measurement it took (none where it is public)."""

    count: float
    measurements: tuple[Measurement, ...] = ()


def count_records(curator: Curator, share: float | Fraction) -> Records:
    """The public n under replacement; otherwise a noisy total, for `share` of the curator's budget."""
    if curator.neighbors.rows_are_public:
        return Records(float(curator.n))
    if not 0 < share < 1:
        raise SettingsError(f"the share of the budget for the number of records must be between 0 and 1, not {share}.")
    (total,) = curator.measure([Marginal(())], curator.remaining * Fraction(share))
    return Records(max(float(total.counts[0]), 1.0), (total,))


def project_simplex(values: Num[np.ndarray, "cells"], total: float = 1.0) -> Distribution:
    """The nearest point, in Euclidean distance, with non-negative entries that sum to `total`.

    >>> project_simplex(np.array([0.9, 0.7, -0.3])).tolist()
    [0.6, 0.3999999999999999, 0.0]
    """
    values = np.asarray(values, dtype=np.float64)
    # Nothing more than `total` below the maximum can stay positive; most cells of a noisy marginal need no sorting.
    highest = values.max()
    descending = np.sort(values[values > highest - total])[::-1]
    excess = np.cumsum(descending) - total
    kept = np.flatnonzero(descending * np.arange(1, len(descending) + 1) > excess)[-1]
    projected: Distribution = np.maximum(values - excess[kept] / (kept + 1), 0.0)
    return projected


def distribution_of(measurement: Measurement, records: float) -> Distribution:
    """A measured marginal as the nearest distribution."""
    return project_simplex(measurement.counts / records)


def family_answers(domain: Domain, family: CellFamily, fractions: Float[np.ndarray, "cells"]) -> Answers:
    """Answers of a family from unbiased estimates of its cells.

    Cells of a marginal are made a distribution. Sums of many cells are not: pushing the noise of empty cells above zero would
    add up to far more than the noise itself.
    """
    if isinstance(family, Marginal):
        return project_simplex(fractions)
    table = fractions.reshape(domain.shape_of(family.columns))
    return np.clip(np.asarray(family.answers(table), dtype=np.float64).ravel(), 0.0, 1.0)


def cell_families(workload: Workload, method: str) -> tuple[CellFamily, ...]:
    """The workload's families, which must all follow from tables of cell counts."""
    families = tuple(family for family in workload.families if not isinstance(family, Custom))
    if len(families) < len(workload):
        raise WorkloadError(
            f"method {method} answers marginals, thresholds and prefixes, not custom queries. Use the method rap."
        )
    return families
