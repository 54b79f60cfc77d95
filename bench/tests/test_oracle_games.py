"""FEM and DualQuery, and the oracle they share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

from dprap.accounting import Relation
from dprap.domain import Domain
from dprap.errors import SettingsError, WorkloadError
from dprap.evaluate import evaluate
from dprap.queries import Marginal, Query, Threshold
from dprap.relaxed.marginals import answers
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.mechanisms import dualquery, fem, zero
from dprap_bench.mechanisms.oracle import Oracle
from dprap_bench.mechanisms.signed_selection import as_relaxed, cell_fractions, select_signed

pytest.importorskip("scipy")


def brute_force(oracle: Oracle, bonus: np.ndarray) -> float:
    every_record = itertools.product(*(range(size) for size in oracle.domain.sizes))
    return max(oracle.value(np.array(record), bonus) for record in every_record)


@pytest.mark.parametrize("seed", range(12))
def test_oracle_finds_what_brute_force_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain.of({"a": 2, "b": 3, "c": 5, "d": 1})
    marginals = [*all_kway(domain, 2).marginals, *all_kway(domain, 3).marginals]
    queries = []
    for _ in range(rng.integers(1, 25)):
        marginal = marginals[rng.integers(len(marginals))]
        queries.append(
            (Query(marginal, int(rng.integers(marginal.size(domain)))), float(rng.choice((-1, 1))))
        )
    oracle = Oracle.of(domain, queries)
    for scale in (0.01, 0.5, 3.0):
        bonus = rng.exponential(scale, domain.onehot_size)
        assert oracle.value(oracle.best(bonus), bonus) == pytest.approx(
            brute_force(oracle, bonus), abs=1e-6
        )


def test_oracle_without_rewards_follows_the_bonus() -> None:
    bonus = np.arange(DOMAIN.onehot_size, dtype=float)
    assert Oracle.of(DOMAIN, []).best(bonus).tolist() == [1, 2, 3, 1]
    opposite = [(Query(Marginal(("a",)), 0), 1.0), (Query(Marginal(("a",)), 0), -1.0)]
    assert Oracle.of(DOMAIN, opposite).rewards == ()


def test_signed_selection_finds_cell_and_direction() -> None:
    codes = small_codes()
    all_zero = np.zeros((10, 4), dtype=np.int64)
    marginals = [Marginal(("a", "b"))]
    truth = exact_fractions(codes, ("a", "b"))
    (pick,) = select_signed(
        curator_on(codes, epsilon=5.0), marginals, all_zero, records=2000, k=1, rho=0.3
    )
    estimate = cell_fractions(DOMAIN, all_zero, marginals[0])
    assert pick.query.index == int(np.argmax(np.abs(truth - estimate)))
    assert pick.sign == np.sign(truth - estimate)[pick.query.index] == -1
    exactly_right = np.stack([codes.column(name).astype(np.int64) for name in DOMAIN.names], axis=1)
    signs = [
        p.sign
        for p in select_signed(
            curator_on(codes, epsilon=5.0), marginals, exactly_right, records=2000, k=12, rho=0.3
        )
    ]
    assert sorted(signs) == [-1] * 6 + [1] * 6  # twelve candidates: six cells, two directions


def test_records_as_relaxed_rows_answer_alike() -> None:
    table = np.array([[0, 1, 2, 0], [1, 1, 3, 1], [0, 1, 2, 0]])
    relaxed = as_relaxed(DOMAIN, table)
    assert relaxed.rows == 2
    (got,) = answers(relaxed, [Marginal(("b", "c"))])
    assert got == pytest.approx(cell_fractions(DOMAIN, table, Marginal(("b", "c"))))


@pytest.mark.parametrize("relation", [Relation.REPLACE, Relation.ADD_REMOVE])
@pytest.mark.parametrize(
    ("module", "settings"),
    [
        (fem, fem.FemSettings(rounds=12, samples=10, noise_scale=1.0)),
        (dualquery, dualquery.DualQuerySettings(rounds=25, samples=5)),
    ],
)
def test_games_beat_zero_and_spend_the_budget(module, settings, relation: Relation) -> None:
    codes, workload = small_codes(), all_kway(DOMAIN, 2)
    curator = curator_on(codes, epsilon=10.0, relation=relation)
    source = MemorySource(codes)
    found = evaluate(source, workload, module.run(curator, workload, settings, seed=0))
    nothing = evaluate(source, workload, zero.run(curator, workload, zero.ZeroSettings(), seed=0))
    assert found.max < nothing.max / 2
    assert curator.remaining == 0


def test_authors_terms() -> None:
    assert fem.FemSettings.authors(1.155e-4, epsilon_0=0.0025, noise_scale=1.25).rounds == 36


def test_refusals() -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        fem.FemSettings(rounds=0)
    with pytest.raises(SettingsError, match="2 rounds"):
        dualquery.DualQuerySettings(rounds=1)
    workload = Workload(DOMAIN, (Threshold(("a", "b"), 1),))
    with pytest.raises(WorkloadError, match="marginals only"):
        fem.run(curator_on(small_codes(50)), workload, fem.FemSettings(), seed=0)


def test_zero_spends_nothing() -> None:
    curator = curator_on(small_codes(50))
    result = zero.run(curator, all_kway(DOMAIN, 2), zero.ZeroSettings(), seed=0)
    assert result.answers is not None
    assert not any(answer.any() for answer in result.answers)
    assert curator.spent == 0
