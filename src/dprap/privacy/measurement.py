"""What the curator hands out: noisy counts with their noise, and nothing that was not paid for."""

from __future__ import annotations

from dataclasses import dataclass

from dprap.array_types import Counts
from dprap.queries.marginal import Marginal
from dprap.queries.query import Query


@dataclass(frozen=True)
class Measurement:
    """Noisy counts of all cells of a marginal; each cell has independent noise of the same standard deviation."""

    marginal: Marginal
    counts: Counts
    stddev_counts: float
    rho: float


@dataclass(frozen=True)
class QueryMeasurement:
    """The noisy count of a single query."""

    query: Query
    count: float
    stddev_counts: float
    rho: float


@dataclass(frozen=True)
class Certificate:
    """A noisy maximum error of a release over many queries, with a one-sided confidence bound."""

    queries: int
    noisy_max_error_counts: float
    stddev_counts: float
    confidence: float
    upper_bound_counts: float
    rho: float
