"""Few wide marginals whose counts serve many: one count over the union of their columns, summed out
later.

Counting costs a pass over the records for each marginal that is counted, whatever its size as long
as its counters stay in cache. All pairs of 60 columns of ten codes are 1,770 marginals, and 341
unions of four columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

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

_CHUNK_OF_PAIRS = 1 << 15
_TILE_OF_PAIRS = 128
# The same for pairs, which are planned by a table of columns × columns and so in far less time.


def plan_unions(
    domain: Domain,
    marginals: Sequence[Marginal],
    *,
    max_cells: int,
    told: Callable[[], None] = lambda: None,
) -> dict[Marginal, list[int]]:
    """Marginals to count, each with the positions of those that it serves; at most `max_cells`
    large unless it is one of them.

    Greedy: a union starts from the largest marginal that has none yet and takes column after
    column, always the one that brings most others nearer for its number of codes. `told` is called
    about once a second.

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
        told()
    return unions


def _groups(domain: Domain, marginals: Sequence[Marginal]) -> Iterator[list[int]]:
    """Positions of marginals that are planned together."""
    if len(marginals) <= _TOGETHER:
        yield list(range(len(marginals)))
        return
    pairs = [number for number, each in enumerate(marginals) if len(each.columns) == 2]
    others = [number for number, each in enumerate(marginals) if len(each.columns) != 2]
    for numbers, chunk, tile in ((others, _CHUNK, _TILE), (pairs, _CHUNK_OF_PAIRS, _TILE_OF_PAIRS)):
        order = sorted(numbers, key=lambda number: _tiles(domain, marginals[number], tile))
        for start in range(0, len(order), chunk):
            yield order[start : start + chunk]


def _tiles(domain: Domain, marginal: Marginal, tile: int) -> tuple[int, ...]:
    return tuple(sorted(domain.position(name) // tile for name in marginal.columns))


def _plan(
    domain: Domain, marginals: Sequence[Marginal], max_cells: int
) -> Iterator[tuple[Marginal, list[int]]]:
    names = sorted(
        {name for marginal in marginals for name in marginal.columns}, key=domain.position
    )
    place = {name: position for position, name in enumerate(names)}
    bits = np.log2([domain.size(name) for name in names], dtype=np.float32)
    max_bits = math.log2(max_cells) - _ROUNDING
    columns = [[place[name] for name in marginal.columns] for marginal in marginals]
    plan = _plan_pairs if all(len(each) == 2 for each in columns) else _plan_any
    for used, served in plan(columns, bits, max_bits):
        if len(served) == 1:
            yield marginals[served[0]], served
        else:
            yield Marginal(tuple(names[position] for position in used)), served


def _plan_any(
    columns: Sequence[Sequence[int]], bits: np.ndarray, max_bits: float
) -> Iterator[tuple[Sequence[int], list[int]]]:
    """Columns of unions, each with the marginals that it serves."""
    has = np.zeros((len(columns), len(bits)), dtype=np.float32)
    for number, each in enumerate(columns):
        has[number, each] = 1
    left = np.argsort(-product(has, bits), kind="stable")
    while len(left):
        taken = _grown(has[left], bits, max_bits)
        is_served = product(has[left], ~taken) == 0
        served = sorted(int(number) for number in left[is_served])
        left = left[~is_served]
        yield np.flatnonzero(has[served].sum(axis=0)).tolist(), served


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


def _plan_pairs(
    columns: Sequence[Sequence[int]], bits: np.ndarray, max_bits: float
) -> Iterator[tuple[Sequence[int], list[int]]]:
    """The same for pairs, by a table that says which pairs are left."""
    numbers_of: dict[tuple[int, ...], list[int]] = {}
    is_left = np.zeros((len(bits), len(bits)), dtype=np.float32)
    for number, (first, second) in enumerate(columns):
        numbers_of.setdefault((min(first, second), max(first, second)), []).append(number)
        is_left[first, second] = is_left[second, first] = 1
    fit_beside = bits[:, None] + bits
    for number in np.argsort([-(bits[first] + bits[second]) for first, second in columns]).tolist():
        taken = list(columns[number])
        if not is_left[taken[0], taken[1]]:
            continue
        room = max_bits - float(bits[taken].sum())
        # for each column, the pairs that it and the taken ones make
        made = is_left[taken[0]] + is_left[taken[1]]
        while True:
            nearer = _FAR * made * (bits <= room)
            if 2 * float(bits.min()) <= room:
                others = is_left * (fit_beside <= room)
                others[:, taken] = 0
                nearer += _FAR**2 * others.sum(axis=1)
            nearer[taken] = 0
            best = int(np.argmax(nearer / (bits + 0.5)))
            if nearer[best] <= 0:
                break
            taken.append(best)
            room -= float(bits[best])
            made = made + is_left[best]
        taken.sort()
        made_pairs = [pair for pair in combinations(taken, 2) if is_left[pair]]
        is_left[np.ix_(taken, taken)] = 0
        used = sorted({position for pair in made_pairs for position in pair})
        yield used, sorted(number for pair in made_pairs for number in numbers_of[pair])
