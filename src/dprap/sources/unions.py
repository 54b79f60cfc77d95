"""Marginals that are counted together: one count over the union of their columns serves them all, summed out later.

Sums of integers are exact in any order, so the result is the same; what is saved is a pass over the records for each
marginal that shares its columns with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.sources.protocol import CellCounts

_CHOICES = 64
# Unions that a marginal may choose from, the latest ones, so that thousands of marginals are planned quickly.


@dataclass
class _Union:
    columns: set[str]
    size: int
    member_cells: int
    members: list[int]


def plan_unions(
    domain: Domain, marginals: Sequence[Marginal], *, max_cells: int, max_growth: float = float("inf")
) -> list[Marginal]:
    """For each marginal the one to count in its place: itself, or one over a few more columns that serves others too.

    Greedy: large marginals first, each joins the union that it makes grow least. A union has at most `max_cells` cells
    and at most `max_growth` times the cells of its members.

    >>> domain = Domain.of({"a": 9, "b": 8, "c": 7})
    >>> [str(union) for union in plan_unions(domain, [Marginal(("c", "a")), Marginal(("a", "b"))], max_cells=1000)]
    ['a×b×c', 'a×b×c']
    """
    unions: list[_Union] = []
    for number in sorted(range(len(marginals)), key=lambda number: -marginals[number].size(domain)):
        columns, size = set(marginals[number].columns), marginals[number].size(domain)
        best, best_size = None, max_cells + 1
        for union in unions[-_CHOICES:]:
            grown = union.size * domain.size_of(columns - union.columns)
            if grown < best_size and grown <= max_growth * (union.member_cells + size):
                best, best_size = union, grown
        if best is None:
            unions.append(_Union(columns, size, size, [number]))
        else:
            best.columns |= columns
            best.size = best_size
            best.member_cells += size
            best.members.append(number)
    chosen = list(marginals)
    for union in unions:
        if len(union.members) > 1:
            together = Marginal(tuple(sorted(union.columns, key=domain.position)))
            for number in union.members:
                chosen[number] = together
    return chosen


def summed_out(domain: Domain, counts: CellCounts, union: Marginal, marginal: Marginal) -> CellCounts:
    """Counts of a marginal from those of one that has all its columns."""
    if union == marginal:
        return counts
    table = counts.dense().reshape(domain.shape_of(union.columns))
    kept = [name for name in union.columns if name in marginal.columns]
    dropped = tuple(axis for axis, name in enumerate(union.columns) if name not in marginal.columns)
    table = table.sum(axis=dropped) if dropped else table
    table = table.transpose([kept.index(name) for name in marginal.columns])
    return CellCounts(marginal.size(domain), np.ascontiguousarray(table).ravel())
