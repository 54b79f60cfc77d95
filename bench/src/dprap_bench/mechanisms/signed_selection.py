"""Signed selection through the curator, and records as answers: what FEM and DualQuery share.

Both pick a query *and the sign of its error* by the exponential mechanism. The curator scores
candidates by |count − estimate|. Shifting a public estimate by at least the number of records makes
that distance linear:

    |count − (estimate − shift)| = shift + (count − estimate)
    |count − (estimate + shift)| = shift − (count − estimate)

So one selection over two copies of every family, one shifted down and one up, is the signed
exponential mechanism, with the same sensitivity and nothing else to prove. The second copy of a
marginal is the prefix family without cumulative columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.array_types import Answers, Int
from dprap.domain import Domain
from dprap.privacy import Curator
from dprap.queries import Family, Marginal, Query, Range
from dprap.relaxed.rows import RelaxedDataset

RecordTable = Int[np.ndarray, "records columns"]
"""Records as rows of codes, columns in the domain's order."""


@dataclass(frozen=True)
class SignedQuery:
    """A cell and the direction of its error: +1 where the estimate is too low."""

    query: Query
    sign: int


def select_signed(
    curator: Curator,
    marginals: Sequence[Marginal],
    estimates: RecordTable,
    *,
    records: float,
    k: int,
    rho: Fraction,
) -> list[SignedQuery]:
    """The k cells with the largest signed errors of the estimates' fractions; `rho` is the
    total.
    """
    families: list[Family] = [
        *marginals,
        *(Range.prefixes(marginal.columns, ()) for marginal in marginals),
    ]

    def shifted() -> Iterator[Answers]:
        for shift in (-2 * records, 2 * records):
            for marginal in marginals:
                yield cell_fractions(curator.domain, estimates, marginal) * records + shift

    picked = curator.select_queries(families, shifted(), k=k, rho=rho)
    return [
        SignedQuery(
            Query(Marginal(query.family.columns), query.index),
            1 if isinstance(query.family, Marginal) else -1,
        )
        for query in picked
    ]


def cell_fractions(domain: Domain, table: RecordTable, marginal: Marginal) -> Answers:
    """Fractions of records in the cells of a marginal."""
    codes = tuple(table[:, domain.position(name)] for name in marginal.columns)
    cells = np.ravel_multi_index(codes, domain.shape_of(marginal.columns))
    return np.bincount(cells, minlength=marginal.size(domain)) / len(table)


def as_relaxed(domain: Domain, table: RecordTable) -> RelaxedDataset:
    """Records as relaxed rows: equal records become one row with their joint weight."""
    distinct, counts = np.unique(table, axis=0, return_counts=True)
    rows = np.zeros((domain.onehot_size, len(distinct)), dtype=np.float32)
    for column, offset in enumerate(domain.offsets):
        rows[offset + distinct[:, column], np.arange(len(distinct))] = 1.0
    weights = (counts / len(table)).astype(np.float32)
    return RelaxedDataset(domain, rows, weights)
