"""How many passes over the records a set of marginals needs, so that the counters of each pass fit
in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from dprap.array_types import CodeColumn
from dprap.counting.cells import CellCounts
from dprap.counting.tally import DENSE_CELLS, PENDING_CELLS, Tally, counting_threads
from dprap.counting.unions import plan_unions
from dprap.domain import Domain
from dprap.queries.marginal import Marginal

Pass: TypeAlias = dict[Marginal, list[Marginal]]
"""What one pass counts over the records, each with the marginals that are summed out of it."""

MEMORY_LIMIT = 1 << 29
"""Bytes that a source may use for its counters, or for codes kept in memory: 512 MB."""

UNION_CELLS = 1 << 13
"""Marginals are counted together up to this many cells: 64 KB of counts stay in the nearest caches,
adding those of a block takes an eighth of counting it, and cell numbers fit into two bytes.
"""

_RECORDS_PER_CELL = 4
# With fewer records for each cell of a union, summing its cells out takes longer than counting what
# it serves.

_LEAST_CELLS = 1 << 8

_BETWEEN_LOOKS = 1 << 27
# Records times unions that are counted before somebody is told: half a second.

_LEAST_BETWEEN_LOOKS = 1 << 16
# Fewer records at a time would cost more in calls than in counting.


def plan_passes(
    domain: Domain,
    marginals: Sequence[Marginal],
    *,
    rows: int,
    memory_limit: int = MEMORY_LIMIT,
    told: Callable[[], None] = lambda: None,
) -> Iterator[Pass]:
    """Passes whose counters fit into the limit; every marginal is in one of them, once.

    >>> domain = Domain.of({"a": 9, "b": 8, "c": 7})
    >>> pairs = [Marginal(("a", "b")), Marginal(("b", "c")), Marginal(("a", "c"))]
    >>> [[str(union) for union in each] for each in plan_passes(domain, pairs, rows=10**6)]
    [['a×b×c']]
    >>> [
    ...     [str(union) for union in each]
    ...     for each in plan_passes(domain, pairs, rows=100, memory_limit=1200)
    ... ]
    [['a×b', 'a×c'], ['b×c']]
    """
    wanted = list(dict.fromkeys(marginals))
    most = max(_LEAST_CELLS, min(UNION_CELLS, rows // _RECORDS_PER_CELL))
    present: Pass = {}
    used = 0
    for union, served in _unions(domain, tuple(wanted), most, told).items():
        narrow = [wanted[number] for number in served]
        sizes = (marginal.size(domain) for marginal in narrow if marginal != union)
        needed = _counter_bytes(union.size(domain), rows) + sum(
            8 * size for size in sizes if size <= DENSE_CELLS
        )
        if present and used + needed > memory_limit:
            yield present
            present, used = {}, 0
        present[union] = narrow
        used += needed
    if present:
        yield present


# A run counts the same workload over the private table, over the synthetic one and over that of its
# first repetition, one after the other. So the last plan is kept.
_Planned: TypeAlias = tuple[tuple[Domain, tuple[Marginal, ...], int], dict[Marginal, list[int]]]
_last_plan: list[_Planned] = []


def _unions(
    domain: Domain, marginals: tuple[Marginal, ...], max_cells: int, told: Callable[[], None]
) -> dict[Marginal, list[int]]:
    wanted = (domain, marginals, max_cells)
    for known, unions in tuple(_last_plan):
        if known == wanted:
            return unions
    unions = plan_unions(domain, marginals, max_cells=max_cells, told=told)
    _last_plan[:] = [(wanted, unions)]
    return unions


def count_columns(
    domain: Domain,
    columns: Sequence[CodeColumn],
    marginals: Sequence[Marginal],
    *,
    watch: Callable[[int, int], None] | None = None,
) -> dict[Marginal, CellCounts]:
    """Exact counts of marginals over records in memory, whose columns stand in the domain's order.

    `watch` is told now and then how many records have been counted, of how many in all passes; none
    while passes are planned.

    >>> import numpy as np
    >>> domain, ab = Domain.of({"a": 2, "b": 2}), Marginal(("a", "b"))
    >>> count_columns(domain, [np.array([0, 1], np.uint8), np.array([1, 1], np.uint8)], [ab])[
    ...     ab
    ... ].dense().tolist()
    [0, 1, 0, 1]
    """
    counted: dict[Marginal, CellCounts] = {}
    records = len(columns[0]) if columns else 0

    def told() -> None:
        if watch is not None:
            watch(0, max(1, records))

    passes = [
        part
        for plan in plan_passes(domain, marginals, rows=records, told=told)
        for part in _parts(plan, max(1, _BETWEEN_LOOKS // _LEAST_BETWEEN_LOOKS))
    ]
    for number, plan in enumerate(passes):
        tally = Tally(domain, plan, threads=counting_threads())
        some = max(_LEAST_BETWEEN_LOOKS, _BETWEEN_LOOKS // len(plan))
        for start in range(0, records, some):
            tally.add([column[start : start + some] for column in columns])
            if watch is not None:
                watch(number * records + min(start + some, records), len(passes) * records)
        counted.update(tally.results())
    return counted


def _parts(plan: Pass, unions: int) -> Iterator[Pass]:
    """A pass in parts of so many unions: records in memory may be gone over as often as one
    likes.
    """
    every = list(plan.items())
    for start in range(0, len(every), unions):
        yield dict(every[start : start + unions])


def first_pass(
    domain: Domain, marginals: Sequence[Marginal], *, rows: int, memory_limit: int
) -> Tally:
    """A tally of as many of the marginals as one pass can count."""
    plan = next(plan_passes(domain, marginals, rows=rows, memory_limit=memory_limit), {})
    return Tally(domain, plan, threads=counting_threads())


def _counter_bytes(size: int, rows: int) -> int:
    """What counting a marginal takes at most: a count a cell, or pairs of cell and count before
    they are merged.
    """
    if size <= DENSE_CELLS:
        return 8 * size
    return 16 * (min(size, rows) + min(PENDING_CELLS, rows))
