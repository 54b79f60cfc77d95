"""Marginals that are counted together: one count over the union of their columns serves them all, summed out later.

Sums of integers are exact in any order, so the result is the same; what is saved is a pass over the records for each
marginal that shares its columns with others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.sources.protocol import CellCounts

_CHOICES = 64
# Unions that a marginal may choose from, the latest ones, so that thousands of marginals are planned quickly.

_DENSE = 16
# Up to so many cells a count, adding into a vector of all cells is faster than sorting cell numbers.


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


def summed_out(domain: Domain, counts: CellCounts, wider: Marginal, marginal: Marginal) -> CellCounts:
    """Counts of a marginal from those of one that has all its columns.

    >>> domain, ab = Domain.of({"a": 2, "b": 2}), Marginal(("a", "b"))
    >>> summed_out(domain, CellCounts(4, np.array([5, 7]), np.array([1, 2])), ab, Marginal(("b",))).dense().tolist()
    [7, 5]
    """
    return next(iter(all_summed_out(domain, counts, wider, [marginal])))


def all_summed_out(
    domain: Domain, counts: CellCounts, wider: Marginal, marginals: Sequence[Marginal]
) -> Iterator[CellCounts]:
    """Counts of several marginals from those of one that has all their columns."""
    shape = domain.shape_of(wider.columns)
    codes = None if counts.cells is None or not shape else np.unravel_index(counts.cells, shape)
    for marginal in marginals:
        size = marginal.size(domain)
        axes = [wider.columns.index(name) for name in marginal.columns]
        if wider == marginal:
            yield counts
        elif not axes:
            yield CellCounts(1, np.array([counts.counts.sum()]))
        elif codes is None:
            others = [axis for axis in range(len(shape)) if axis not in axes]
            table = counts.counts.reshape(shape).transpose(axes + others)
            yield CellCounts(size, table.reshape(size, -1).sum(axis=1))
        else:
            cells = np.ravel_multi_index([codes[axis] for axis in axes], [shape[axis] for axis in axes])
            if size <= _DENSE * len(cells):
                # weights are floats, and whole numbers up to 2^53 are exact in them
                totals = np.bincount(cells, weights=counts.counts, minlength=size).astype(np.int64)
                yield CellCounts(size, totals)
            else:
                cells, totals = merge_sparse([(cells, counts.counts)])
                yield CellCounts(size, totals, cells)


def merge_sparse(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Sum sparse counts: sorted distinct cells and their total counts."""
    cells = np.concatenate([part[0] for part in parts])
    counts = np.concatenate([part[1] for part in parts])
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    return cells[starts], np.add.reduceat(counts, starts) if len(starts) else counts
