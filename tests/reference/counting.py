"""Counting the slow, obvious way."""

from __future__ import annotations

import numpy as np

from dprap.domain import Domain
from dprap.queries import Marginal


def counted(domain: Domain, marginal: Marginal, rows: np.ndarray) -> np.ndarray:
    """Counts of all cells of a marginal, one record after the other."""
    counts = np.zeros(domain.shape_of(marginal.columns), dtype=np.int64)
    for row in rows.tolist():
        counts[tuple(row[domain.position(name)] for name in marginal.columns)] += 1
    return counts.ravel()
