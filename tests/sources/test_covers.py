"""Covers: every marginal is served once, by one that has its columns and not too many cells."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dprap.datasets import example_schema
from dprap.domain import Domain
from dprap.queries import Marginal
from dprap.sources.covers import plan_covers

DOMAIN = example_schema().domain


@pytest.mark.parametrize("max_cells", [1, 1 << 10, 1 << 20, 1 << 62])
@pytest.mark.parametrize("seed", range(3))
def test_every_marginal_has_one_cover(seed: int, max_cells: int) -> None:
    rng = np.random.default_rng(seed)
    marginals = [
        Marginal(tuple(rng.permutation(DOMAIN.names)[: rng.integers(0, 5)].tolist()))
        for _ in range(rng.integers(1, 80))
    ]
    covers = plan_covers(DOMAIN, marginals, max_cells=max_cells)
    assert sorted(number for served in covers.values() for number in served) == list(range(len(marginals)))
    for cover, served in covers.items():
        assert all(set(marginals[number].columns) <= set(cover.columns) for number in served)
        own = max(marginals[number].size(DOMAIN) for number in served)
        assert cover.size(DOMAIN) <= max(max_cells, own)


def test_covers_are_few() -> None:
    triples = [Marginal(columns) for columns in combinations(DOMAIN.names, 3)]
    assert len(plan_covers(DOMAIN, triples, max_cells=DOMAIN.size_of(DOMAIN.names) * 2)) == 1
    assert len(plan_covers(DOMAIN, triples, max_cells=1 << 24)) < len(triples) / 5


def test_columns_with_one_code_and_no_marginals() -> None:
    domain = Domain.of({"a": 1, "b": 4, "c": 4})
    assert plan_covers(domain, [], max_cells=10) == {}
    covers = plan_covers(domain, [Marginal(("a", "b")), Marginal(("a", "c"))], max_cells=4)
    assert sorted(covers.values()) == [[0], [1]]
