"""Answers of custom functions on relaxed rows."""

from __future__ import annotations

import jax
import numpy as np

from dprap.array_types import Answers
from dprap.queries import Custom
from dprap.relaxed.rows import RelaxedDataset


def mean_values(relaxed: RelaxedDataset, family: Custom, *, memory_bytes: int) -> Answers:
    """Weighted means over rows of a function's values, some rows at a time."""
    size = family.size(relaxed.domain)
    chunk = max(memory_bytes // (16 * (relaxed.domain.onehot_size + size)), 1)
    total = np.zeros(size)
    for start in range(0, relaxed.rows, chunk):
        rows = slice(start, start + chunk)
        values = jax.jit(family.values, static_argnums=0)(relaxed.domain, relaxed.probabilities[:, rows])
        total += np.asarray(values @ relaxed.weights[rows], dtype=np.float64)
    return total
