"""Answers of query families on relaxed rows of any weights.

The cell table of a marginal is the weighted mean over rows of outer products of column blocks
(`folding`). Thresholds, ranges and functions are the same linear maps of that table as for records.
Rows are taken in chunks, so that nothing ever has the size of queries times rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dprap.array_types import Answers, Float32
from dprap.queries import Custom, Family, Halfspace, Marginal, from_cells
from dprap.relaxed.folding import Fold, folded_table
from dprap.relaxed.rows import RelaxedDataset
from dprap.relaxed.sampled_answers import drawn_answers, halfspace_answers

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
    fold = _fold(relaxed.domain.shape_of(columns))
    blocks = [relaxed.block(name) for name in columns]
    chunk = max(memory_bytes // (4 * fold.cells), 1)
    table = _summed(
        folded_table(
            {place: block[:, start : start + chunk] for place, block in enumerate(blocks)},
            relaxed.weights[start : start + chunk],
            fold.places,
        )
        for start in range(0, relaxed.rows, chunk)
    )
    return np.ascontiguousarray(table, dtype=np.float32)


@dataclass(frozen=True)
class _Folded:
    """How columns of some numbers of codes are split, by their places."""

    places: Fold[int]
    cells: int
    """Of both halves, a copy of one of them and a second table, for each row."""


# Most marginals of a workload have the same few shapes.
@lru_cache(maxsize=256)
def _fold(sizes: tuple[int, ...]) -> _Folded:
    fold = Fold.of(dict(enumerate(sizes)))
    left, right = (math.prod(sizes[place] for place in half) for half in (fold.left, fold.right))
    return _Folded(fold, 2 * left + right)


def _summed(tables: Iterator[Float32[np.ndarray, "..."]]) -> Float32[np.ndarray, "..."]:
    total = next(tables)
    for table in tables:
        total += table
    return total
