"""Counts of marginals from those of wider ones. Sums of integers are exact in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dprap.counting.cells import CellCounts, merge_sparse
from dprap.domain import Domain
from dprap.queries.marginal import Marginal

_DENSE = 16
# Up to so many cells a count, adding into a vector of all cells is faster than sorting cell
# numbers.

_EXACT_IN_FLOATS = 2**53


def summed_out(
    domain: Domain, counts: CellCounts, wider: Marginal, marginal: Marginal
) -> CellCounts:
    """Counts of a marginal from those of one that has all its columns.

    >>> domain, ab = Domain.of({"a": 2, "b": 2}), Marginal(("a", "b"))
    >>> summed_out(
    ...     domain, CellCounts(4, np.array([5, 7]), np.array([1, 2])), ab, Marginal(("b",))
    ... ).dense().tolist()
    [7, 5]
    """
    return next(iter(all_summed_out(domain, counts, wider, [marginal])))


def all_summed_out(
    domain: Domain, counts: CellCounts, wider: Marginal, marginals: Sequence[Marginal]
) -> Iterator[CellCounts]:
    """Counts of several marginals from those of one that has all their columns."""
    shape = domain.shape_of(wider.columns)
    codes = None if counts.cells is None or not shape else np.unravel_index(counts.cells, shape)
    total = int(counts.counts.sum(dtype=np.int64))
    for marginal in marginals:
        size = marginal.size(domain)
        axes = [wider.columns.index(name) for name in marginal.columns]
        if wider == marginal:
            yield counts
        elif not axes:
            yield CellCounts(1, np.array([total]))
        elif codes is None:
            others = [axis for axis in range(len(shape)) if axis not in axes]
            table = counts.counts.reshape(shape).transpose(axes + others)
            yield CellCounts(size, table.reshape(size, -1).sum(axis=1, dtype=np.int64))
        else:
            cells = np.ravel_multi_index(
                [codes[axis] for axis in axes], [shape[axis] for axis in axes]
            )
            if size <= _DENSE * len(cells) and total < _EXACT_IN_FLOATS:
                # weights are floats, and whole numbers up to 2^53 are exact in them
                totals = np.bincount(cells, weights=counts.counts, minlength=size).astype(np.int64)
                yield CellCounts(size, totals)
            else:
                whole = counts.counts.astype(np.int64, copy=False)
                cells, totals = merge_sparse([(cells, whole)])
                yield CellCounts(size, totals, cells)
