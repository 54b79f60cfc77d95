"""A small table with related columns, and curators on it, for tests of mechanisms."""

from __future__ import annotations

import numpy as np

from dprap.accounting import Budget, Neighbors, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Curator
from dprap.sources import MemorySource

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 4, "d": 2})


def small_codes(rows: int = 2000, seed: int = 0) -> Codes:
    """Records in which b follows a, c follows b, and d is a coin."""
    rng = np.random.default_rng(seed)
    a = (rng.random(rows) < 0.3).astype(np.int64)
    b = np.where(rng.random(rows) < 0.7, a, 2)
    c = np.where(rng.random(rows) < 0.6, b, 3)
    return Codes.of(DOMAIN, {"a": a, "b": b, "c": c, "d": rng.integers(0, 2, rows)})


def curator_on(
    codes: Codes,
    *,
    epsilon: float = 1.0,
    relation: Relation = Relation.REPLACE,
    noise_seed: int = 1,
) -> Curator:
    """A curator with seeded noise."""
    return Curator(
        MemorySource(codes),
        budget=Budget.of(epsilon=epsilon, delta=1e-7),
        neighbors=Neighbors(relation),
        ledger=None,
        insecure_noise_seed=noise_seed,
    )


def exact_fractions(codes: Codes, columns: tuple[str, ...]) -> np.ndarray:
    """The true cell fractions over some columns, in C order."""
    cells = np.ravel_multi_index(
        tuple(codes.column(name).astype(np.int64) for name in columns),
        codes.domain.shape_of(columns),
    )
    return np.bincount(cells, minlength=codes.domain.size_of(columns)) / codes.rows
