"""How many passes over the data a set of marginals needs, so that the counters of each pass fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.sources.protocol import CellCounts
from dprap.sources.tally import DENSE_CELLS, PENDING_CELLS, UNION_CELLS

MEMORY_LIMIT = 1 << 29
"""Bytes that a source may use for its counters, or for codes kept in memory: 512 MB."""


def split_passes(
    domain: Domain, marginals: Sequence[Marginal], *, rows: int, memory_limit: int
) -> Iterator[list[Marginal]]:
    """The marginals in their order, cut into groups whose counters fit into the limit; a group is never empty."""
    group: list[Marginal] = []
    used = 0
    for marginal in marginals:
        needed = _counter_bytes(marginal.size(domain), rows)
        if group and used + needed > memory_limit:
            yield group
            group, used = [], 0
        group.append(marginal)
        used += needed
    if group:
        yield group


def compact(counts: CellCounts) -> CellCounts:
    """The same counts without their zeros where that takes less memory: results are kept for the whole run."""
    if counts.cells is not None:
        return counts
    cells = np.flatnonzero(counts.counts)
    if 2 * len(cells) >= counts.size:
        return counts
    return CellCounts(counts.size, counts.counts[cells], cells)


def _counter_bytes(size: int, rows: int) -> int:
    """What counting a marginal takes at most: a count a cell, or pairs of cell and count before they are merged."""
    if size <= UNION_CELLS:
        return 8 * size * 5  # its part of a union, of at most four times the cells of its members, and its own result
    if size <= DENSE_CELLS:
        return 8 * size
    return 16 * (min(size, rows) + min(PENDING_CELLS, rows))
