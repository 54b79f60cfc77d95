"""Graphical models and the methods that infer with them."""

from __future__ import annotations

import importlib.util
import itertools
import warnings

import jax
import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, curator_on, small_codes

from dprap.accounting import Measurement, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.evaluate import evaluate, published_answers
from dprap.mechanisms import independent
from dprap.queries import Marginal
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.mechanisms import aim, hdmm, mst
from dprap_bench.mechanisms.graphical import GraphicalModel, check_model_size, fit_model
from dprap_bench.mechanisms.junction import JunctionTree

CHAIN = Domain.of({"a": 2, "b": 3, "c": 2, "d": 3, "e": 2})


def chain_model(rng: np.random.Generator) -> tuple[GraphicalModel, np.ndarray]:
    """a-b, b-c, c-d as a tree, e apart; and the joint distribution by brute force."""
    first = rng.dirichlet(np.ones(6)).reshape(2, 3)
    second = first.sum(axis=0)[:, None] * rng.dirichlet(np.ones(2), 3)
    third = second.sum(axis=0)[:, None] * rng.dirichlet(np.ones(3), 2)
    alone = rng.dirichlet(np.ones(2))
    joint = np.einsum(
        "ab,bc,cd,e->abcde",
        first,
        second / second.sum(1, keepdims=True),
        third / third.sum(1, keepdims=True),
        alone,
    )
    tree = JunctionTree(CHAIN, (("a", "b"), ("b", "c"), ("c", "d"), ("e",)), (None, 0, 1, None))
    model = GraphicalModel(tree, (first, second, third, alone), parameters={})
    return model, joint


def test_any_marginal_of_a_tree_is_that_of_the_joint_distribution() -> None:
    model, joint = chain_model(np.random.default_rng(0))
    for size in range(6):
        for columns in itertools.permutations(CHAIN.names, size):
            axes = tuple(CHAIN.position(name) for name in CHAIN.names if name not in columns)
            kept = [name for name in CHAIN.names if name in columns]
            truth = joint.sum(axis=axes).transpose([kept.index(name) for name in columns]).ravel()
            assert model.fractions(Marginal(columns)) == pytest.approx(truth)


def test_records_drawn_follow_the_model() -> None:
    model, joint = chain_model(np.random.default_rng(1))
    drawn = model.sample(40_000, np.random.default_rng(2))
    counted = (
        np.bincount(np.ravel_multi_index(tuple(drawn.T), CHAIN.sizes), minlength=joint.size)
        / 40_000
    )
    # Each cell's error has a standard deviation of at most .0025; six of them over 72 cells: one
    # false alarm in 10^7.
    assert np.abs(counted - joint.ravel()).max() < 6 * 0.0025


# a cycle: its tree needs a chord
FACTORS = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("e",)]


def test_calibration_is_summation_of_the_joint_distribution() -> None:
    rng = np.random.default_rng(3)
    factors = {columns: rng.normal(0, 2, CHAIN.shape_of(columns)) for columns in FACTORS}
    joint = np.zeros(CHAIN.sizes)
    for columns, table in factors.items():
        joint += table.reshape([CHAIN.size(name) if name in columns else 1 for name in CHAIN.names])
    joint = np.exp(joint) / np.exp(joint).sum()
    tree = JunctionTree.of(CHAIN, FACTORS)
    assert set().union(*tree.cliques) == set(CHAIN.names)
    fresh = tree.calibrate(factors)
    for tables in (fresh, tree.calibrate(factors, into=[table.copy() for table in fresh])):
        for clique, table in zip(tree.cliques, tables, strict=True):
            truth = np.einsum(joint, range(len(CHAIN)), [CHAIN.position(name) for name in clique])
            assert table == pytest.approx(truth)


def noisy_measurements(codes: Codes, noise_seed: int = 0) -> list[Measurement]:
    curator = curator_on(codes, epsilon=1.0, noise_seed=noise_seed)
    marginals = [
        Marginal(("a",)),
        Marginal(("b", "a")),
        Marginal(("b", "c")),
        Marginal(("c", "d")),
        Marginal(("a",)),
    ]
    return curator.measure(marginals, curator.remaining)


def test_fit_is_the_one_of_mbi() -> None:
    if importlib.util.find_spec("mbi") is None:
        pytest.skip("needs what dprap-bench needs: mbi")
    codes = small_codes()
    measured = noisy_measurements(codes)
    ours = fit_model(DOMAIN, measured, codes.rows, iterations=2000)
    with warnings.catch_warnings(), jax.enable_x64(True):  # noqa: FBT003
        warnings.simplefilter("ignore")
        import mbi

        theirs = mbi.estimation.MirrorDescent().estimate(
            mbi.Domain(DOMAIN.names, DOMAIN.sizes),
            [
                mbi.LinearMeasurement(m.counts.astype(float), m.marginal.columns, m.stddev_counts)
                for m in measured
            ],
            known_total=float(codes.rows),
            iters=5000,
        )
        for columns in (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")):
            expected = np.asarray(theirs.project(columns).datavector()) / codes.rows
            assert ours.fractions(Marginal(columns)) == pytest.approx(expected, abs=2e-4)


def test_fit_from_a_fitted_model_stays_there() -> None:
    codes = small_codes()
    measured = noisy_measurements(codes)
    first = fit_model(DOMAIN, measured, codes.rows, iterations=1000)
    again = fit_model(DOMAIN, measured, codes.rows, iterations=1, start=first)
    assert again.fractions(Marginal(("b", "c"))) == pytest.approx(
        first.fractions(Marginal(("b", "c"))), abs=1e-3
    )


@pytest.mark.parametrize("relation", [Relation.REPLACE, Relation.ADD_REMOVE])
@pytest.mark.parametrize(
    ("module", "settings"),
    [
        (aim, aim.AimSettings(synthetic_rows=500)),
        (mst, mst.MstSettings(iterations=200)),
        (hdmm, hdmm.HdmmSettings(inference="graphical", iterations=200)),
    ],
)
def test_methods_beat_independence_and_spend_the_budget(
    module, settings, relation: Relation
) -> None:
    codes, workload = small_codes(), all_kway(DOMAIN, 2)
    curator = curator_on(codes, epsilon=2.0, relation=relation)
    result = module.run(curator, workload, settings, seed=0)
    assert curator.remaining == 0
    found = evaluate(MemorySource(codes), workload, result)
    alone = independent.run(
        curator_on(codes, epsilon=2.0), workload, independent.IndependentSettings(), seed=0
    )
    assert found.max < evaluate(MemorySource(codes), workload, alone).max / 2
    if module is aim:
        assert result.relaxed is not None
        assert evaluate(MemorySource(codes), workload, result.relaxed).max < found.max + 0.1


def test_mst_on_a_single_column() -> None:
    domain = Domain.of({"a": 3})
    codes = Codes.of(domain, {"a": np.arange(300) % 3})
    curator = curator_on(codes, epsilon=5.0)
    result = mst.run(
        curator, Workload(domain, (Marginal(("a",)),)), mst.MstSettings(iterations=50), seed=0
    )
    assert result.answers is not None
    assert result.answers[0] == pytest.approx(np.full(3, 1 / 3), abs=0.1)


def test_models_that_do_not_fit_are_refused() -> None:
    domain = Domain.of(dict.fromkeys("abc", 1000))
    with pytest.raises(SettingsError, match="7,629 MB"):
        check_model_size(domain, [Marginal(("a", "b", "c"))], 100)


def test_aim_weights_count_shared_columns() -> None:
    workload = Workload(DOMAIN, (Marginal(("a", "b")), Marginal(("b", "c"))), (1.0, 3.0))
    candidates = [Marginal(("a",)), Marginal(("b",)), Marginal(("b", "c"))]
    assert aim.candidate_weights(workload, candidates) == [1.0, 4.0, 7.0]


def test_refusals() -> None:
    with pytest.raises(SettingsError, match="must be positive"):
        aim.AimSettings(iterations=0)
    with pytest.raises(SettingsError, match="at least 1"):
        mst.MstSettings(iterations=0)


def test_mst_keeps_apart_what_it_moves() -> None:
    """A single rare code is merged with none, but stands last in the model: measured pairs must
    follow it there.
    """
    domain = Domain.of({"a": 4, "b": 3})
    a = np.repeat([0, 2, 3], [3000, 2000, 1000])  # code 1 has no records
    codes = Codes.of(domain, {"a": a, "b": np.searchsorted([0, 2, 3], a)})
    workload = Workload(domain, (Marginal(("a", "b")),))
    result = mst.run(curator_on(codes, epsilon=10.0), workload, mst.MstSettings(), seed=0)
    assert evaluate(MemorySource(codes), workload, result).max < 0.05
    assert all(item.counts.size == item.marginal.size(domain) for item in result.measurements)  # type: ignore[union-attr]


def test_mst_merges_rare_codes() -> None:
    domain = Domain.of({"a": 60, "b": 2})
    rng = np.random.default_rng(0)
    common = rng.integers(0, 3, 3000)
    codes = Codes.of(
        domain,
        {"a": np.append(common, np.arange(60)), "b": np.append(common % 2, np.arange(60) % 2)},
    )
    workload = Workload(domain, (Marginal(("b", "a")),))
    curator = curator_on(codes, epsilon=1.0)
    result = mst.run(curator, workload, mst.MstSettings(synthetic_rows=4000), seed=0)
    assert curator.remaining == 0
    assert all(item.counts.size == item.marginal.size(domain) for item in result.measurements)  # type: ignore[union-attr]
    assert result.answers is not None
    assert result.relaxed is not None
    table = result.answers[0].reshape(2, 60)
    assert table.sum() == pytest.approx(1)
    assert table[:, 3:] == pytest.approx(np.tile(table[:, 3:4], 57))  # merged, so they are alike
    assert table[0, 0] > 0.2 > 0.05 > table[1, 0]
    # 4,000 records: a cell's fraction is off by six standard deviations of at most .008 in one of
    # 10^8 cases.
    assert evaluate(MemorySource(codes), workload, result.relaxed).max < 0.1
    (drawn,) = published_answers(result.relaxed, workload.families)
    assert np.abs(drawn - result.answers[0]).max() < 6 * 0.008
