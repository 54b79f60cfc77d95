from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, curator_on, small_codes

from dprap.accounting import Relation
from dprap.errors import SettingsError
from dprap.evaluate import evaluate
from dprap.mechanisms import independent
from dprap.queries import Marginal
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.mechanisms import mwem


@pytest.mark.parametrize("relation", [Relation.REPLACE, Relation.ADD_REMOVE])
def test_mwem_finds_the_relations_between_columns(relation: Relation) -> None:
    codes, workload = small_codes(), all_kway(DOMAIN, 2)
    curator = curator_on(codes, epsilon=10.0, relation=relation)
    settings = mwem.MwemSettings(rounds=30)
    found = evaluate(MemorySource(codes), workload, mwem.run(curator, workload, settings, seed=0))
    assert curator.remaining == 0
    alone = independent.run(
        curator_on(codes, epsilon=10.0), workload, independent.IndependentSettings(), seed=0
    )
    assert found.max < evaluate(MemorySource(codes), workload, alone).max / 2


def test_answers_are_distributions_in_the_order_of_the_marginals_columns() -> None:
    codes = small_codes()
    workload = Workload(DOMAIN, (Marginal(("c", "a")), Marginal(("a", "c", "b"))))
    result = mwem.run(curator_on(codes), workload, mwem.MwemSettings(rounds=5), seed=0)
    assert result.answers is not None
    pair, triple = result.answers
    assert pair.sum() == pytest.approx(1)
    assert triple.reshape(2, 4, 3).sum(axis=2).T.ravel() == pytest.approx(pair)
    assert len(result.measurements) == 5


def test_large_domains_are_refused_before_anything_is_spent() -> None:
    curator = curator_on(small_codes(50))
    with pytest.raises(SettingsError, match="48 combinations"):
        mwem.run(curator, all_kway(DOMAIN, 3), mwem.MwemSettings(max_domain=10), seed=0)
    assert curator.spent == 0
    assert np.isfinite(float(curator.remaining))
