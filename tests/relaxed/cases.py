"""Small relaxed data sets and families for the tests of dprap.relaxed."""

from __future__ import annotations

import numpy as np

from dprap.domain import Domain
from dprap.queries import Marginal, Query, Range, Threshold
from dprap.relaxed import RelaxedDataset, uniform_weights
from dprap.relaxed.jax.start import initialise

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 4, "d": 2})

FAMILIES = (
    Marginal(()),
    Marginal(("c",)),
    Marginal(("c", "a")),
    Marginal(("b", "d", "a", "c")),
    Threshold(("a", "b", "c"), 1),
    Threshold(("d", "b", "c"), 2),
    Threshold(("a", "b", "c"), 3),
    Threshold(("a", "b", "c", "d"), 2),
    Range.prefixes(("b", "c"), ("c",)),
    Range.prefixes(("c", "a", "b"), ("b", "c")),
    Range(("a", "c"), {"c": "all"}),
    Range(("c", "b"), {"c": [(1, 2), (0, 3)], "b": "prefixes"}),
)


def all_queries(domain: Domain = DOMAIN) -> list[Query]:
    return [Query(family, index) for family in FAMILIES for index in range(family.size(domain))]


def relaxed_rows(rows: int = 7, seed: int = 0, domain: Domain = DOMAIN) -> RelaxedDataset:
    """Random rows with uneven weights."""
    start = initialise(domain, rows, seed)
    weights = np.random.default_rng(seed).dirichlet(np.ones(rows))
    return RelaxedDataset(domain, start.probabilities, weights.astype(np.float32))


def onehot_rows(domain: Domain, records: list[tuple[int, ...]]) -> RelaxedDataset:
    """Relaxed rows that are records."""
    probabilities = np.zeros((domain.onehot_size, len(records)), dtype=np.float32)
    for row, record in enumerate(records):
        for offset, code in zip(domain.offsets, record, strict=True):
            probabilities[offset + code, row] = 1
    return RelaxedDataset(domain, probabilities, uniform_weights(len(records)))
