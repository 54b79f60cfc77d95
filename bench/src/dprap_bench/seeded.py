"""Curators for benchmarks.

NOT PRIVATE: their noise is seeded, so that a figure can be made again.
"""

from __future__ import annotations

from dprap.accounting import Accounting, Budget, Neighbors, Relation
from dprap.privacy import Curator
from dprap.sources import MemorySource


def seeded_curator(
    source: MemorySource,
    *,
    epsilon: float,
    seed: int,
    relation: str = Relation.REPLACE,
    accounting: Accounting = Accounting.TIGHT,
) -> Curator:
    """A curator with δ = 1/n² whose noise repeats."""
    return Curator(
        source,
        budget=Budget.of(epsilon=epsilon, delta=1 / source.rows**2, accounting=accounting),
        neighbors=Neighbors(Relation(relation)),
        ledger=None,
        insecure_noise_seed=seed,
    )
