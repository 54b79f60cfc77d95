"""Few wide marginals whose columns cover those of many: for engines where a pass over the records is dear.

Unlike `plan_unions`, which keeps counters near the size of what was asked for, a cover may be as sparse as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dprap.domain import Domain
from dprap.queries.marginal import Marginal

_ROUNDING = 1e-4
# Numbers of cells are compared as bits in single precision: nothing close to the limit may pass it.

_FAR = 0.25
# What a marginal that lacks one more column counts for when the next column of a cover is chosen.


def plan_covers(domain: Domain, marginals: Sequence[Marginal], *, max_cells: int) -> dict[Marginal, list[int]]:
    """Marginals to count, each with the positions of those that it serves; at most `max_cells` large unless it is one of them.

    Greedy: a cover starts from the largest marginal that has none yet and takes column after column, always the one that
    brings most others nearer for its number of codes.

    >>> domain = Domain.of({"a": 9, "b": 8, "c": 7})
    >>> covers = plan_covers(domain, [Marginal(("c", "a")), Marginal(("a", "b")), Marginal(("c",))], max_cells=1000)
    >>> {str(cover): served for cover, served in covers.items()}
    {'a×b×c': [0, 1, 2]}
    """
    names = sorted({name for marginal in marginals for name in marginal.columns}, key=domain.position)
    place = {name: position for position, name in enumerate(names)}
    has = np.zeros((len(marginals), len(names)), dtype=np.float32)
    for number, marginal in enumerate(marginals):
        has[number, [place[name] for name in marginal.columns]] = 1
    bits = np.log2([domain.size(name) for name in names], dtype=np.float32)
    left = np.argsort(-(has @ bits), kind="stable")
    covers: dict[Marginal, list[int]] = {}
    while len(left):
        taken = _grown(has[left], bits, float(np.log2(max_cells)) - _ROUNDING)
        is_served = has[left] @ ~taken == 0
        served = sorted(int(number) for number in left[is_served])
        left = left[~is_served]
        if len(served) == 1:
            covers[marginals[served[0]]] = served
            continue
        used = np.flatnonzero(has[served].sum(axis=0))
        covers[Marginal(tuple(names[position] for position in used))] = served
    return covers


def _grown(has: np.ndarray, bits: np.ndarray, max_bits: float) -> np.ndarray:
    """The columns of a cover that starts from the first marginal and stays below so many bits."""
    taken: np.ndarray = has[0] > 0
    while True:
        lacking = has * ~taken
        number = lacking.sum(axis=1)
        room = max_bits - float(bits[taken].sum())
        is_near = (number > 0) & (lacking @ bits <= room)
        if not is_near.any():
            return taken
        nearness = np.where(is_near, _FAR**number, 0).astype(np.float32)
        taken[np.argmax(nearness @ lacking / (bits + 0.5))] = True
