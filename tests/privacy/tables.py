"""Small random tables, their neighbours, and curators over them."""

from __future__ import annotations

import numpy as np

from dprap.accounting import Budget, Neighbors, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Curator, Ledger
from dprap.sources import MemorySource

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 4})
REPLACE = Neighbors(Relation.REPLACE)
ADD_REMOVE = Neighbors(Relation.ADD_REMOVE)


def codes_of(domain: Domain, rows: np.ndarray) -> Codes:
    """Codes from a matrix with one row a record."""
    return Codes.of(domain, {name: rows[:, position] for position, name in enumerate(domain.names)})


def random_rows(generator: np.random.Generator, domain: Domain, rows: int) -> np.ndarray:
    return np.stack([generator.integers(0, size, rows) for size in domain.sizes], axis=1)


def neighbor_of(
    generator: np.random.Generator, domain: Domain, rows: np.ndarray, neighbors: Neighbors
) -> np.ndarray:
    """A random neighbour: some of one person's records replaced by others, added or removed."""
    moved = int(generator.integers(1, neighbors.max_rows_per_person + 1))
    # Half of the time all new records are alike, which is the worst case.
    fresh = random_rows(generator, domain, moved)
    if generator.random() < 0.5:
        fresh[:] = fresh[0]
    if neighbors.relation is Relation.REPLACE:
        changed = rows.copy()
        changed[generator.permutation(len(rows))[:moved]] = fresh
        return changed
    if generator.random() < 0.5:
        return np.concatenate([rows, fresh])
    return np.delete(rows, generator.permutation(len(rows))[:moved], axis=0)


def curator_of(
    rows: np.ndarray,
    *,
    domain: Domain = DOMAIN,
    neighbors: Neighbors = REPLACE,
    rho: float = 0.5,
    delta: float = 1e-6,
    ledger: Ledger | None = None,
    run: str | None = None,
    seed: int | None = None,
) -> Curator:
    return Curator(
        MemorySource(codes_of(domain, rows)),
        budget=Budget.of_rho(rho, delta=delta),
        neighbors=neighbors,
        ledger=ledger,
        run=run,
        insecure_noise_seed=seed,
    )
