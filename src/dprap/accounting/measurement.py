"""What the curator hands out: noisy counts with their noise, and nothing that was not paid for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dprap.array_types import Answers, Counts
from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.queries.query import Query


@dataclass(frozen=True)
class Measurement:
    """Noisy counts of all cells of a marginal; each cell has independent noise of the same standard
    deviation.
    """

    marginal: Marginal
    counts: Counts
    stddev_counts: float
    rho: float

    def by_codes(self, domain: Domain) -> Measurement:
        """What it says of single codes: columns that were measured by group are summed out.

        Args:
            domain: The domain of the table.

        Returns:
            A measurement without groups; this one, where there are none. Its noise is that of the
            sums.

        Raises:
            WorkloadError: If the groups are not of the domain's codes.

        >>> import numpy as np
        >>> by_decade = Measurement(
        ...     Marginal(("sex", "age"), (None, (0, 2))), np.array([3, 4, 5, 6]), 1.0, 0.1
        ... )
        >>> summed = by_decade.by_codes(Domain.of({"sex": 2, "age": 3}))
        >>> str(summed.marginal), summed.counts.tolist(), round(summed.stddev_counts, 3)
        ('sex', [7, 11], 1.414)
        """
        if self.marginal.groups is None:
            return self
        shape = self.marginal.shape(domain)
        grouped = tuple(
            axis for axis, groups in enumerate(self.marginal.groups) if groups is not None
        )
        columns = tuple(
            name for axis, name in enumerate(self.marginal.columns) if axis not in grouped
        )
        stddev = self.stddev_counts * math.sqrt(math.prod(shape[axis] for axis in grouped))
        return Measurement(
            Marginal(columns),
            self.counts.reshape(shape).sum(axis=grouped).ravel(),
            stddev,
            self.rho,
        )


@dataclass(frozen=True)
class QueryMeasurement:
    """The noisy count of a single query."""

    query: Query
    count: float
    stddev_counts: float
    rho: float


@dataclass(frozen=True)
class FoundValues:
    """The values of a column whose noisy counts reached a threshold, sorted."""

    column: str
    values: tuple[str | int, ...]
    stddev_counts: float
    threshold_counts: int
    rho: float
    delta: float
    noisy_counts: tuple[int, ...]


@dataclass(frozen=True)
class DrawnTable:
    """A synthetic table to be certified beside the fit: public, like everything made of earlier
    results.

    `answers_counts` are its answers, one array a family, on the scale of the fit's estimates;
    `digest` tells it from others.
    """

    rows: int
    digest: str
    answers_counts: Iterable[Answers]


@dataclass(frozen=True)
class Certificate:
    """A noisy maximum error of a release over many queries, with a one-sided confidence bound.

    The maximum is over the fitted answers and, where `table_rows` and `table_digest` name one, over
    those of a synthetic table. Both are None where no table was drawn, and in releases of earlier
    versions, which certified the fit alone.
    """

    queries: int
    noisy_max_error_counts: float
    stddev_counts: float
    confidence: float
    upper_bound_counts: float
    rho: float
    table_rows: int | None = None
    table_digest: str | None = None
