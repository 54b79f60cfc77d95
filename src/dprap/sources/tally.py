"""The counting kernel: one pass over blocks of codes counts all marginals, by `bincount` on mixed-radix cell numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

from dprap.array_types import CodeColumn
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import Marginal
from dprap.sources.protocol import CellCounts

BLOCK_RECORDS = 65_536
"""Records per block: small enough that a block's codes and the hot counts stay in cache."""

_DENSE_CELLS = 1 << 19
# Above this many cells, adding a dense vector per block costs more than sorting the block's cell numbers.

_PENDING_CELLS = 1 << 22
# A sparse tally merges its pending cells when there are this many: 64 MB.


_MAX_CELL_NUMBER = 2**62


class Tally:
    """Running exact counts of some marginals.

    >>> tally = Tally(Domain.of({"sex": 2, "region": 3}), [Marginal(("sex", "region"))])
    >>> tally.add((np.array([0, 1, 1], np.uint8), np.array([2, 0, 0], np.uint8)))
    >>> tally.result()[0].dense().tolist()
    [0, 0, 1, 2, 0, 0]
    """

    def __init__(self, domain: Domain, marginals: Sequence[Marginal]) -> None:
        self._domain = domain
        self._radix = [
            [(domain.position(name), domain.size(name)) for name in marginal.columns] for marginal in marginals
        ]
        if any(marginal.size(domain) > _MAX_CELL_NUMBER for marginal in marginals):
            raise WorkloadError("a marginal has more cells than 64-bit cell numbers can tell apart.")
        self._used = sorted({position for radix in self._radix for position, _ in radix})
        self._counters: list[_DenseCounter | _SparseCounter] = [
            _DenseCounter(size) if size <= _DENSE_CELLS else _SparseCounter(size)
            for size in (marginal.size(domain) for marginal in marginals)
        ]

    def add(self, columns: Sequence[CodeColumn]) -> None:
        """Count the records of one batch; columns stand in the domain's order."""
        records = len(columns[0]) if columns else 0
        for start in range(0, records, BLOCK_RECORDS):
            stop = min(start + BLOCK_RECORDS, records)
            block = {position: columns[position][start:stop].astype(np.int64) for position in self._used}
            for radix, counter in zip(self._radix, self._counters, strict=True):
                counter.add(_cell_numbers(block, radix, stop - start))

    def result(self) -> list[CellCounts]:
        """Counts of the marginals in their order."""
        return [counter.result() for counter in self._counters]


def _cell_numbers(
    block: dict[int, Int64[np.ndarray, "records"]], radix: list[tuple[int, int]], records: int
) -> Int64[np.ndarray, "records"]:
    if not radix:
        return np.zeros(records, dtype=np.int64)
    cells = block[radix[0][0]]
    for position, size in radix[1:]:
        cells = cells * size + block[position]
    return cells


class _DenseCounter:
    def __init__(self, size: int) -> None:
        self._counts = np.zeros(size, dtype=np.int64)

    def add(self, cells: Int64[np.ndarray, "records"]) -> None:
        counted = np.bincount(cells)  # no minlength: high empty cells need not be touched
        self._counts[: len(counted)] += counted

    def result(self) -> CellCounts:
        return CellCounts(len(self._counts), self._counts)


class _SparseCounter:
    def __init__(self, size: int) -> None:
        self._size = size
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending = 0

    def add(self, cells: Int64[np.ndarray, "records"]) -> None:
        found, counts = np.unique(cells, return_counts=True)
        self._parts.append((found, counts.astype(np.int64)))
        self._pending += len(found)
        if self._pending > _PENDING_CELLS:
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
        return CellCounts(self._size, counts, cells)


def merge_sparse(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Sum sparse counts: sorted distinct cells and their total counts."""
    cells = np.concatenate([part[0] for part in parts])
    counts = np.concatenate([part[1] for part in parts])
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    return cells[starts], np.add.reduceat(counts, starts) if len(starts) else counts
