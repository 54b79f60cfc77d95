"""A curator on a table with merged codes: the same budget, and counts of the merged table."""

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import BudgetError, SettingsError
from dprap.privacy import Budget, Curator, Neighbors, Relation
from dprap.privacy.merged import MergedSource
from dprap.queries import Marginal
from dprap.sources import MemorySource

DOMAIN = Domain.of({"a": 4, "b": 3, "c": 2})
MAPS = {"a": np.array([1, 0, 1, 2]), "c": np.array([0, 0])}


def codes() -> Codes:
    rng = np.random.default_rng(0)
    return Codes.of(DOMAIN, {name: rng.integers(0, DOMAIN.size(name), 500) for name in DOMAIN.names})


def test_counts_are_those_of_the_recoded_records() -> None:
    plain = codes()
    merged = MergedSource(MemorySource(plain), MAPS)
    assert merged.domain == Domain.of({"a": 3, "b": 3, "c": 1})
    assert merged.rows == 500
    recoded = {name: MAPS[name][plain.column(name)] if name in MAPS else plain.column(name) for name in DOMAIN.names}
    expected = MemorySource(Codes.of(merged.domain, recoded))
    marginals = [Marginal(()), Marginal(("a",)), Marginal(("b", "a")), Marginal(("c", "a", "b"))]
    for found, wanted in zip(merged.count(marginals), expected.count(marginals), strict=True):
        assert found.dense().tolist() == wanted.dense().tolist()


def test_the_budget_is_shared() -> None:
    curator = Curator(
        MemorySource(codes()),
        budget=Budget.of(epsilon=1.0, delta=1e-7),
        neighbors=Neighbors(Relation.REPLACE),
        ledger=None,
        insecure_noise_seed=0,
    )
    half = curator.remaining / 2
    view = curator.merged(MAPS)
    (measured,) = view.measure([Marginal(("a",))], half)
    assert measured.counts.size == 3
    assert curator.remaining == view.remaining == half
    curator.measure([Marginal(("a",))], half)
    with pytest.raises(BudgetError):
        view.measure([Marginal(("a",))], half)


@pytest.mark.parametrize("new", [[0, 1, 2], [0, 0, 0, 2], [0, 1, -1, 2]])
def test_a_map_must_take_every_code_to_a_new_one(new: list[int]) -> None:
    with pytest.raises(SettingsError, match="'a'"):
        MergedSource(MemorySource(codes()), {"a": np.array(new)})
