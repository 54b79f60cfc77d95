"""The counting kernel: one pass over blocks of codes counts all marginals, by `bincount` on
mixed-radix cell numbers.

Marginals that share columns are counted together, as one marginal over the union of their columns,
and summed out at the end: fewer passes over a block, and cell numbers of two bytes. Sums of
integers are exact in any order, so threads and blocks change nothing. Counters are 64-bit integers:
with fewer than 2^63 records none overflows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dprap.array_types import CodeColumn, Integer
from dprap.counting.cells import CellCounts, cell_numbers, merge_sparse
from dprap.counting.sums import all_summed_out
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import Marginal

BLOCK_RECORDS = 65_536
"""Records per block: small enough that a block's codes and the hot counts stay in cache."""

DENSE_CELLS = 1 << 19
"""Above this many cells, adding a dense vector per block costs more than sorting the block's cell
numbers.
"""

PENDING_CELLS = 1 << 22
"""A sparse tally merges its pending cells when there are this many: 64 MB."""

_MAX_CELL_NUMBER = 2**62

_WORTH_THREADS = 1 << 22
# Records times counters of a batch from which starting threads is little beside counting.


def counting_threads() -> int:
    """How many threads count in this process: one for each processor, or as OMP_NUM_THREADS
    says.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(asked) if asked.isdecimal() else os.cpu_count() or 1)


class Tally:
    """Running exact counts of some marginals.

    Args:
        domain: The domain of the codes.
        plan: The marginals to count over the records, each with those that are summed out of it.
        threads: How many threads count at a time; each has its own counters.

    >>> pair = Marginal(("sex", "region"))
    >>> tally = Tally(Domain.of({"sex": 2, "region": 3}), {pair: [pair, Marginal(("sex",))]})
    >>> tally.add((np.array([0, 1, 1], np.uint8), np.array([2, 0, 0], np.uint8)))
    >>> [counts.dense().tolist() for _, counts in tally.results()]
    [[0, 0, 1, 2, 0, 0], [1, 2]]

    """

    def __init__(
        self, domain: Domain, plan: Mapping[Marginal, Sequence[Marginal]], *, threads: int = 1
    ) -> None:
        self._domain = domain
        self._plan = plan
        counters = [_Counter(domain, union) for union in plan]
        self._shares = [counters[first::threads] for first in range(threads)]
        self._counters = dict(zip(plan, counters, strict=True))

    def add(self, columns: Sequence[CodeColumn]) -> None:
        """Count the records of one batch; columns stand in the domain's order."""
        records = len(columns[0]) if columns else 0
        if len(self._shares) == 1 or len(self._counters) * records < _WORTH_THREADS:
            _count(columns, list(self._counters.values()))
            return
        with ThreadPoolExecutor(len(self._shares)) as threads:
            list(threads.map(lambda counters: _count(columns, counters), self._shares))

    def results(self) -> Iterator[tuple[Marginal, CellCounts]]:
        """The marginals with their counts.

        Counters are given up one by one, so this can be asked once.
        """
        for union, served in self._plan.items():
            counts = self._counters.pop(union).result()
            yield from zip(served, all_summed_out(self._domain, counts, union, served), strict=True)


def _count(columns: Sequence[CodeColumn], counters: Sequence[_Counter]) -> None:
    records = len(columns[0]) if columns else 0
    for start in range(0, records, BLOCK_RECORDS):
        block = [column[start : start + BLOCK_RECORDS] for column in columns]
        for counter in counters:
            counter.add(block)


class _Counter:
    """Counts of the cells of one marginal: a number for each cell, or of a large marginal for those
    that occur.
    """

    def __init__(self, domain: Domain, marginal: Marginal) -> None:
        self._size = marginal.size(domain)
        if self._size > _MAX_CELL_NUMBER:
            raise WorkloadError(
                "a marginal has more cells than 64-bit cell numbers can tell apart."
            )
        self._positions = [domain.position(name) for name in marginal.columns]
        self._sizes = domain.shape_of(marginal.columns)
        self._dense = np.zeros(self._size, dtype=np.int64) if self._size <= DENSE_CELLS else None
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending = 0

    def add(self, block: Sequence[CodeColumn]) -> None:
        cells = cell_numbers(
            [block[position] for position in self._positions], self._sizes, len(block[0])
        )
        if self._dense is None:
            self._add_sparse(cells)
            return
        counted = np.bincount(cells)  # no minlength: high empty cells need not be touched
        self._dense[: len(counted)] += counted

    def _add_sparse(self, cells: Integer[np.ndarray, " records"]) -> None:
        found, counts = np.unique(cells, return_counts=True)
        self._parts.append((found.astype(np.int64), counts.astype(np.int64)))
        self._pending += len(found)
        if self._pending > PENDING_CELLS:
            self._merge()

    def _merge(self) -> None:
        if len(self._parts) > 1:
            self._parts = [merge_sparse(self._parts)]
        self._pending = 0

    def result(self) -> CellCounts:
        if self._dense is not None:
            return CellCounts(self._size, self._dense)
        self._merge()
        cells, counts = (
            self._parts[0] if self._parts else (np.zeros(0, np.int64), np.zeros(0, np.int64))
        )
        return CellCounts(self._size, counts, cells)
