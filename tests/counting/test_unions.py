"""Unions: every marginal is served once, by one that has its columns and not too many cells."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dprap.counting import unions as unions_module
from dprap.counting.unions import plan_unions
from dprap.datasets import example_schema
from dprap.domain import Domain
from dprap.queries import Marginal

DOMAIN = example_schema().domain


@pytest.mark.parametrize("max_cells", [1, 1 << 10, 1 << 20, 1 << 62])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("together", [7, 1 << 12])
@pytest.mark.parametrize("widths", [(0, 5), (2, 3)])
def test_every_marginal_has_one_union(
    seed: int,
    max_cells: int,
    together: int,
    widths: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unions_module, "_TOGETHER", together)
    monkeypatch.setattr(unions_module, "_CHUNK", together)
    monkeypatch.setattr(unions_module, "_TILE", 3)
    monkeypatch.setattr(unions_module, "_CHUNK_OF_PAIRS", together)
    monkeypatch.setattr(unions_module, "_TILE_OF_PAIRS", 3)
    rng = np.random.default_rng(seed)
    marginals = [
        Marginal(tuple(rng.permutation(DOMAIN.names)[: rng.integers(*widths)].tolist()))
        for _ in range(rng.integers(1, 80))
    ]
    unions = plan_unions(DOMAIN, marginals, max_cells=max_cells)
    assert sorted(number for served in unions.values() for number in served) == list(
        range(len(marginals))
    )
    for union, served in unions.items():
        assert all(set(marginals[number].columns) <= set(union.columns) for number in served)
        own = max(marginals[number].size(DOMAIN) for number in served)
        assert union.size(DOMAIN) <= max(max_cells, own)


def test_unions_are_few() -> None:
    triples = [Marginal(columns) for columns in combinations(DOMAIN.names, 3)]
    assert len(plan_unions(DOMAIN, triples, max_cells=DOMAIN.size_of(DOMAIN.names) * 2)) == 1
    assert len(plan_unions(DOMAIN, triples, max_cells=1 << 24)) < len(triples) / 5


def test_pairs_of_many_columns_need_few_unions() -> None:
    """Four columns of ten codes hold six pairs, so 60 columns need at least 295 unions; this plan
    has 341.
    """
    domain = Domain.of({f"c{number}": 10 for number in range(60)})
    pairs = [Marginal(columns) for columns in combinations(domain.names, 2)]
    assert len(plan_unions(domain, pairs, max_cells=1 << 16)) < 1.2 * len(pairs) / 6


def test_columns_with_one_code_and_no_marginals() -> None:
    domain = Domain.of({"a": 1, "b": 4, "c": 4})
    assert plan_unions(domain, [], max_cells=10) == {}
    unions = plan_unions(domain, [Marginal(("a", "b")), Marginal(("a", "c"))], max_cells=4)
    assert sorted(unions.values()) == [[0], [1]]


def test_unions_of_more_cells_than_64_bits_number() -> None:
    domain = Domain.of({f"c{number}": 16 for number in range(16)})
    pairs = [Marginal(pair) for pair in combinations(domain.names, 2)]
    whole = 2**64
    assert domain.size_of(domain.names) == whole
    assert [*plan_unions(domain, pairs, max_cells=2 * whole - 1)] == [Marginal(domain.names)]
