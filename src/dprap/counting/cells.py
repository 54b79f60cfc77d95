"""Cell numbers of records, and counts of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import CodeColumn, Counts, Int64, Integer, NarrowCounts

_TWO_BYTES = 1 << 16
_MOST_IN_32_BITS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Exact counts of one marginal's cells: all of them, or (`cells` given) only those that are not
    zero.

    Counts are 64-bit integers, or 32-bit ones where they are kept (`narrow`). Every sum of them is
    a 64-bit integer: a table of fewer than 2^63 records overflows none.
    """

    size: int
    counts: Counts | NarrowCounts
    cells: Int64[np.ndarray, " nonzero"] | None = None

    def dense(self) -> Counts:
        """Counts of all cells in 64 bits; zeros come from the declared domain."""
        if self.cells is None:
            return self.counts.astype(np.int64, copy=False)
        full = np.zeros(self.size, dtype=np.int64)
        full[self.cells] = self.counts
        return full

    def compact(self) -> CellCounts:
        """The same counts without their zeros where that takes less memory.

        >>> CellCounts(5, np.array([0, 0, 0, 7, 0])).compact().cells.tolist()
        [3]
        """
        if self.cells is not None:
            return self
        cells = np.flatnonzero(self.counts)
        if 2 * len(cells) >= self.size:
            return self
        return CellCounts(self.size, self.counts[cells], cells)

    def narrow(self) -> CellCounts:
        """The same counts in 32 bits where all of them fit: half the memory while they are kept.

        >>> CellCounts(2, np.array([3, 2**31 - 1])).narrow().counts.dtype.name
        'int32'
        >>> CellCounts(2, np.array([3, 2**31])).narrow().counts.dtype.name
        'int64'
        """
        return CellCounts(self.size, narrowed(self.counts), self.cells)


def narrowed(counts: Counts | NarrowCounts) -> Counts | NarrowCounts:
    """Counts in 32 bits where all of them fit, else as they are."""
    if counts.dtype == np.int32 or (counts.size and int(counts.max()) > _MOST_IN_32_BITS):
        return counts
    return counts.astype(np.int32)


def cell_numbers(
    columns: Sequence[CodeColumn], sizes: Sequence[int], records: int
) -> Integer[np.ndarray, " records"]:
    """Mixed-radix cell numbers of records, the last column's codes next to each other.

    They come in the smallest type that holds them all, so that the fewest bytes are moved.

    Args:
        columns: The codes of each column of a marginal, in its order.
        sizes: How many codes each column has.
        records: How many records there are: a marginal of no columns has one cell.

    Returns:
        Unsigned numbers of two bytes up to 2^16 cells, else 64-bit numbers; fewer than 2^63 cells
        fit.

    >>> cell_numbers(
    ...     [np.array([0, 1, 1], np.uint8), np.array([2, 0, 1], np.uint8)], [2, 3], 3
    ... ).tolist()
    [2, 3, 4]
    """
    dtype = np.uint16 if math.prod(sizes) <= _TWO_BYTES else np.int64
    if not columns:
        return np.zeros(records, dtype=dtype)
    cells = columns[0].astype(dtype)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        # A column of 2^16 codes leaves only 0 to its predecessors, so its factor may wrap around to
        # 0.
        np.multiply(cells, dtype(size % _TWO_BYTES) if dtype is np.uint16 else size, out=cells)
        np.add(cells, column.astype(dtype, copy=False), out=cells)
    return cells


def merge_sparse(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Sum sparse counts: sorted distinct cells and their total counts."""
    cells = np.concatenate([part[0] for part in parts])
    counts = np.concatenate([part[1] for part in parts])
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    return cells[starts], np.add.reduceat(counts, starts) if len(starts) else counts
