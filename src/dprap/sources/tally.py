"""The counting kernel: one pass over blocks of codes counts all marginals, by `bincount` on mixed-radix cell numbers.

Small marginals that share columns are counted together, as one marginal over the union of their columns, and summed
out at the end: fewer passes over a block, and cell numbers of two bytes. Sums of integers are exact in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Integer

from dprap.array_types import CodeColumn
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import Marginal
from dprap.sources.protocol import CellCounts
from dprap.sources.unions import merge_sparse, plan_unions, summed_out

BLOCK_RECORDS = 65_536
"""Records per block: small enough that a block's codes and the hot counts stay in cache."""

DENSE_CELLS = 1 << 19
"""Above this many cells, adding a dense vector per block costs more than sorting the block's cell numbers."""

PENDING_CELLS = 1 << 22
"""A sparse tally merges its pending cells when there are this many: 64 MB."""

_MAX_CELL_NUMBER = 2**62

UNION_CELLS = 1 << 16
"""Marginals are counted together up to this many cells: 512 KB of counts stay in cache, and numbers fit into two bytes."""

_UNION_GROWTH = 4.0
# Cells of a union against those of its members: memory stays what the marginals themselves would need, nearly.


class Tally:
    """Running exact counts of some marginals.

    >>> tally = Tally(Domain.of({"sex": 2, "region": 3}), [Marginal(("sex", "region"))])
    >>> tally.add((np.array([0, 1, 1], np.uint8), np.array([2, 0, 0], np.uint8)))
    >>> tally.result()[0].dense().tolist()
    [0, 0, 1, 2, 0, 0]
    """

    def __init__(self, domain: Domain, marginals: Sequence[Marginal]) -> None:
        if any(marginal.size(domain) > _MAX_CELL_NUMBER for marginal in marginals):
            raise WorkloadError("a marginal has more cells than 64-bit cell numbers can tell apart.")
        self._domain = domain
        self._marginals = list(marginals)
        self._unions = plan_unions(domain, marginals, max_cells=UNION_CELLS, max_growth=_UNION_GROWTH)
        counted = list(dict.fromkeys(self._unions))
        self._counters: dict[Marginal, _DenseCounter | _SparseCounter] = {
            union: _DenseCounter(size) if size <= DENSE_CELLS else _SparseCounter(size)
            for union, size in ((union, union.size(domain)) for union in counted)
        }
        self._radix = {
            union: [(domain.position(name), domain.size(name)) for name in union.columns] for union in counted
        }

    def add(self, columns: Sequence[CodeColumn]) -> None:
        """Count the records of one batch; columns stand in the domain's order."""
        records = len(columns[0]) if columns else 0
        for start in range(0, records, BLOCK_RECORDS):
            block = [column[start : start + BLOCK_RECORDS] for column in columns]
            for union, counter in self._counters.items():
                counter.add(_cell_numbers(block, self._radix[union], counter.size))

    def result(self) -> list[CellCounts]:
        """Counts of the marginals in their order."""
        counted = {union: counter.result() for union, counter in self._counters.items()}
        return [
            summed_out(self._domain, counted[union], union, marginal)
            for marginal, union in zip(self._marginals, self._unions, strict=True)
        ]


def _cell_numbers(
    block: Sequence[CodeColumn], radix: list[tuple[int, int]], size: int
) -> Integer[np.ndarray, " records"]:
    """Mixed-radix cell numbers in the smallest type that holds them all, so in the fewest bytes moved."""
    dtype = np.uint16 if size <= 1 << 16 else np.int64
    if not radix:
        return np.zeros(len(block[0]), dtype=dtype)
    cells = block[radix[0][0]].astype(dtype)
    for position, codes in radix[1:]:
        # A column of 2^16 codes leaves only 0 to its predecessors, so its factor may wrap around to 0.
        np.multiply(cells, dtype(codes % (1 << 16)) if dtype is np.uint16 else codes, out=cells)
        np.add(cells, block[position].astype(dtype, copy=False), out=cells)
    return cells


class _DenseCounter:
    def __init__(self, size: int) -> None:
        self.size = size
        self._counts = np.zeros(size, dtype=np.int64)

    def add(self, cells: Integer[np.ndarray, " records"]) -> None:
        counted = np.bincount(cells)  # no minlength: high empty cells need not be touched
        self._counts[: len(counted)] += counted

    def result(self) -> CellCounts:
        return CellCounts(len(self._counts), self._counts)


class _SparseCounter:
    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending = 0

    def add(self, cells: Integer[np.ndarray, " records"]) -> None:
        found, counts = np.unique(cells, return_counts=True)
        self._parts.append((found.astype(np.int64), counts.astype(np.int64)))
        self._pending += len(found)
        if self._pending > PENDING_CELLS:
            self._merge()

    def _merge(self) -> None:
        if not self._parts:
            self._parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        elif len(self._parts) > 1:
            self._parts = [merge_sparse(self._parts)]
        self._pending = 0

    def result(self) -> CellCounts:
        self._merge()
        cells, counts = self._parts[0]
        return CellCounts(self.size, counts, cells)
