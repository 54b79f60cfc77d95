"""Which queries a repetition leaves out of its workload, so that it shows what a workload leaves
out.

A release knows nothing of relations that its workload lacks. To see how far it may be off there, a
repetition is run without some queries that the release does know: what it then makes of their
relations, the model alone says, and the truth is in the synthetic table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np

from dprap.workload import Workload

# The share of the queries that is left out with pairs of columns, the most that it may come to
# where a pair has many, and the share whose pairs others have. A few strong relations decide how
# wide an interval must be, and among few pairs there are none or too many of them by chance.
_WITH_PAIRS = 0.3
_MOST_WITH_PAIRS = 0.4
_SINGLY = 0.2
# A smaller workload is left as it is.
_LEAST_FAMILIES = 4


def held_out(
    workload: Workload,
    rng: np.random.Generator,
    known: Callable[[tuple[str, ...]], bool],
    told: Callable[[], None] = lambda: None,
) -> Workload | None:
    """A workload without some of its families; None where it is too small for that.

    First every family with one of some random pairs of columns goes, after which nothing is said of
    these pairs. Then some go of which every pair of columns is in others: what is left out are
    relations of three columns.

    Args:
        workload: The whole one.
        rng: Chooses.
        known: Whether the release knows a pair of columns. Such pairs go first: only of what the
            release knows can be said how far a run without it is off, and the more pairs are seen,
            the less is left to chance.
        told: Is called now and then: a large workload takes seconds.
    """
    many = len(workload.families)
    if many < _LEAST_FAMILIES:
        return None
    sets = [frozenset(family.columns) for family in workload.families]
    having_pair: dict[tuple[str, str], set[int]] = {}
    for at, each in enumerate(sets):
        for pair in combinations(sorted(each), 2):
            having_pair.setdefault(pair, set()).add(at)
    told()
    pairs = sorted(having_pair)
    gone: set[int] = set()
    shuffled = [pairs[place] for place in rng.permutation(len(pairs))]
    for pair in sorted(shuffled, key=lambda each: not known(each)):
        if len(gone) >= _WITH_PAIRS * many:
            break
        more = having_pair[pair]
        # a pair that most of the workload has would take the workload with it
        if len(gone) + len(more - gone) <= _MOST_WITH_PAIRS * many or not gone:
            gone |= more
    told()
    others = [at for at in range(many) if at not in gone]
    having = Counter(pair for at in others for pair in combinations(sorted(sets[at]), 2))
    room = int(_SINGLY * many)
    for place in rng.permutation(len(others)):
        own = list(combinations(sorted(sets[others[place]]), 2))
        if room > 0 and len(own) > 1 and all(having[pair] > 1 for pair in own):
            gone.add(others[place])
            having.subtract(own)
            room -= 1
    told()
    kept = [at for at in range(many) if at not in gone]
    if not kept:
        return None
    return Workload(
        workload.domain,
        tuple(workload.families[at] for at in kept),
        tuple(workload.weights[at] for at in kept),
        workload.max_cells,
    )
