"""Few wide marginals whose counts serve many: one count over the union of their columns, summed out
later.

Counting costs a pass over the records for each marginal that is counted, whatever its size as long
as its counters stay in cache. All pairs of 60 columns of ten codes are 1,770 marginals, and 341
unions of four columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dprap.domain import Domain
from dprap.products import product
from dprap.queries.marginal import Marginal

_ROUNDING = 1e-4
# Numbers of cells are compared as bits in single precision: nothing close to the limit may pass it.

_FAR = 0.25
# What a marginal that lacks one more column counts for when the next column of a union is chosen.

_TOGETHER = 1 << 11
# Up to so many marginals are planned together, in a fifth of a second; all pairs of 60 columns are
# fewer.

_CHUNK = 1 << 10
# More are planned in chunks, because planning takes time by the square of their number. That costs
# a fifth more unions.

_TILE = 22
# Marginals whose columns lie in the same tiles, of so many columns each, are next to each other in
# chunks: they share most.


def plan_unions(
    domain: Domain, marginals: Sequence[Marginal], *, max_cells: int
) -> dict[Marginal, list[int]]:
    """Marginals to count, each with the positions of those that it serves; at most `max_cells`
    large unless it is one of them.

    Greedy: a union starts from the largest marginal that has none yet and takes column after
    column, always the one that brings most others nearer for its number of codes.

    >>> domain = Domain.of({"a": 9, "b": 8, "c": 7})
    >>> unions = plan_unions(
    ...     domain, [Marginal(("c", "a")), Marginal(("a", "b")), Marginal(("c",))], max_cells=1000
    ... )
    >>> {str(union): served for union, served in unions.items()}
    {'a×b×c': [0, 1, 2]}
    """
    unions: dict[Marginal, list[int]] = {}
    for numbers in _groups(domain, marginals):
        for union, served in _plan(domain, [marginals[number] for number in numbers], max_cells):
            unions.setdefault(union, []).extend(numbers[number] for number in served)
    return unions


def _groups(domain: Domain, marginals: Sequence[Marginal]) -> Iterator[list[int]]:
    """Positions of marginals that are planned together."""
    if len(marginals) <= _TOGETHER:
        yield list(range(len(marginals)))
        return
    tiles = [
        tuple(sorted(domain.position(name) // _TILE for name in marginal.columns))
        for marginal in marginals
    ]
    order = sorted(range(len(marginals)), key=lambda number: tiles[number])
    for start in range(0, len(order), _CHUNK):
        yield order[start : start + _CHUNK]


def _plan(
    domain: Domain, marginals: Sequence[Marginal], max_cells: int
) -> Iterator[tuple[Marginal, list[int]]]:
    names = sorted(
        {name for marginal in marginals for name in marginal.columns}, key=domain.position
    )
    place = {name: position for position, name in enumerate(names)}
    has = np.zeros((len(marginals), len(names)), dtype=np.float32)
    for number, marginal in enumerate(marginals):
        has[number, [place[name] for name in marginal.columns]] = 1
    bits = np.log2([domain.size(name) for name in names], dtype=np.float32)
    left = np.argsort(-product(has, bits), kind="stable")
    while len(left):
        taken = _grown(has[left], bits, float(np.log2(max_cells)) - _ROUNDING)
        is_served = product(has[left], ~taken) == 0
        served = sorted(int(number) for number in left[is_served])
        left = left[~is_served]
        if len(served) == 1:
            yield marginals[served[0]], served
            continue
        used = np.flatnonzero(has[served].sum(axis=0))
        yield Marginal(tuple(names[position] for position in used)), served


def _grown(has: np.ndarray, bits: np.ndarray, max_bits: float) -> np.ndarray:
    """The columns of a union that starts from the first marginal and stays below so many bits."""
    taken: np.ndarray = has[0] > 0
    while True:
        lacking = has * ~taken
        number = lacking.sum(axis=1)
        room = max_bits - float(bits[taken].sum())
        is_near = (number > 0) & (product(lacking, bits) <= room)
        if not is_near.any():
            return taken
        nearness = np.where(is_near, _FAR**number, 0).astype(np.float32)
        taken[np.argmax(product(nearness, lacking) / (bits + 0.5))] = True
