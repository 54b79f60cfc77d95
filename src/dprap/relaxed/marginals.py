"""Answers of query families on relaxed rows of any weights.

The cell table of a marginal is the weighted mean over rows of outer products of column blocks
(`folding`). Thresholds, ranges and functions are the same linear maps of that table as for records.
Rows are taken in chunks, so that nothing ever has the size of queries times rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dprap.array_types import Answers, Float32
from dprap.queries import Custom, Family, Halfspace, Marginal, from_cells
from dprap.relaxed.drawn import drawn_answers, halfspace_answers
from dprap.relaxed.folding import Fold, folded_table
from dprap.relaxed.rows import RelaxedDataset

MEMORY_BYTES = 2**30
"""Default memory budget of a streamed evaluation."""


def answers(
    relaxed: RelaxedDataset, families: Iterable[Family], *, memory_bytes: int = MEMORY_BYTES
) -> Iterator[Answers]:
    """Yield the answers of each family as fractions, flat, in C order of its cells.

    Args:
        relaxed: The rows, of any weights.
        families: What is asked. Halfspaces and custom functions that are no tables are answered on
            drawn records.
        memory_bytes: The most that factors and products may take at a time.

    Yields:
        One array for each family, in their order.

    """
    for family in families:
        if isinstance(family, Halfspace):
            yield halfspace_answers(relaxed, family)
        elif isinstance(family, Custom) and not from_cells(family, relaxed.domain):
            yield drawn_answers(relaxed, family)
        else:
            if isinstance(family, Marginal):
                family.shape(relaxed.domain)  # refuses groups that the domain does not have
            yield family.answers(
                cell_table(relaxed, family.columns, memory_bytes=memory_bytes)
            ).reshape(-1)


def cell_table(
    relaxed: RelaxedDataset, columns: Sequence[str], *, memory_bytes: int = MEMORY_BYTES
) -> Float32[np.ndarray, "..."]:
    """Fractions of all cells over some columns, as an array with one axis for each column.

    Args:
        relaxed: The rows, of any weights.
        columns: The columns, in the order of the axes.
        memory_bytes: The most that the halves of the columns may take at a time, beside the table.

    Returns:
        The table, in C order.

    """
    sizes = {name: relaxed.domain.size(name) for name in columns}
    fold = Fold.of(sizes)
    blocks = {name: relaxed.block(name) for name in columns}
    chunk = _rows_at_once(relaxed, fold, memory_bytes)
    table = _summed(
        folded_table(
            {name: block[:, start : start + chunk] for name, block in blocks.items()},
            relaxed.weights[start : start + chunk],
            fold,
        )
        for start in range(0, relaxed.rows, chunk)
    )
    return np.ascontiguousarray(table, dtype=np.float32)


def _rows_at_once(relaxed: RelaxedDataset, fold: Fold[str], memory_bytes: int) -> int:
    """Rows for which both halves, a copy of one of them and a second table fit."""
    cells = 2 * relaxed.domain.size_of(fold.left) + relaxed.domain.size_of(fold.right)
    return max(memory_bytes // (4 * cells), 1)


def _summed(tables: Iterator[Float32[np.ndarray, "..."]]) -> Float32[np.ndarray, "..."]:
    total = next(tables)
    for table in tables:
        total += table
    return total
