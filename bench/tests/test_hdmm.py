"""HDMM's strategy and least squares, against dense linear algebra on a tiny domain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, curator_on, small_codes

from dprap.accounting import Measurement, Relation
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.evaluate import evaluate
from dprap.mechanisms import gaussian
from dprap.queries import Marginal, Range
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.mechanisms import hdmm
from dprap_bench.mechanisms.strategy import best_strategy

TINY = Domain.of({"a": 2, "b": 3, "c": 2})


def matrix_of(domain: Domain, marginal: Marginal) -> np.ndarray:
    """The linear map from the whole table to a marginal, cell by cell."""
    records = np.array(list(itertools.product(*(range(size) for size in domain.sizes))))
    matrix = np.zeros((marginal.size(domain), len(records)))
    for record, codes in enumerate(records):
        matrix[
            marginal.cell(domain, [codes[domain.position(name)] for name in marginal.columns]),
            record,
        ] = 1
    return matrix


def dense_variance(domain: Domain, workload: Workload, marginals, shares) -> float:
    gram = sum(
        share * matrix_of(domain, m).T @ matrix_of(domain, m)
        for m, share in zip(marginals, shares, strict=True)
    )
    inverse = np.linalg.pinv(gram)
    total = 0.0
    for family, weight in zip(workload.families, workload.weights, strict=True):
        cells = matrix_of(domain, Marginal(family.columns))
        asked = np.stack(
            [family.answers(c.reshape(domain.shape_of(family.columns))).ravel() for c in cells.T],
            axis=1,
        )
        total += weight * np.trace(asked @ inverse @ asked.T)
    return total


CELLS = (Marginal(("a", "b")), Marginal(("b", "c")), Marginal(("c",)))
PREFIXES = (
    Range.prefixes(("a", "b"), ("b",)),
    Range.prefixes(("c", "b"), ("b", "c")),
    Marginal(("c",)),
)


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (10.0, 1.0, 0.1)])
@pytest.mark.parametrize("families", [CELLS, PREFIXES])
def test_strategy_variance_is_that_of_dense_least_squares_and_cannot_be_improved(
    families, weights
) -> None:
    workload = Workload(TINY, families, weights)
    best = best_strategy(workload, total_is_known=False)
    assert sum(best.shares) == pytest.approx(1)
    assert best.total_variance == pytest.approx(
        dense_variance(TINY, workload, best.marginals, best.shares), rel=1e-6
    )
    every = workload.closure(smallest=0)
    shares = np.array(
        [dict(zip(best.marginals, best.shares, strict=True)).get(m, 0.0) for m in every]
    )
    rng = np.random.default_rng(0)
    # the problem is convex: if no step towards another strategy helps, none does
    for _ in range(30):
        other = 0.97 * shares + 0.03 * rng.dirichlet(np.full(len(every), 0.3))
        assert dense_variance(TINY, workload, every, other) >= best.total_variance * (1 - 1e-6)


def test_a_known_total_leaves_nothing_for_the_total() -> None:
    strategy = best_strategy(
        Workload(TINY, (Marginal(("a",)), Marginal(("b", "c")))), total_is_known=True
    )
    assert Marginal(()) not in strategy.marginals


def test_least_squares_is_that_of_dense_algebra() -> None:
    rng = np.random.default_rng(1)
    measured = [
        Measurement(Marginal(columns), rng.integers(-5, 50, TINY.size_of(columns)), stddev, 0.1)
        for columns, stddev in [
            (("a", "b"), 2.0),
            (("c", "b"), 5.0),
            (("b", "a", "c"), 9.0),
            (("a",), 0.5),
            ((), 1.0),
        ]
    ]
    design = np.concatenate([matrix_of(TINY, m.marginal) / m.stddev_counts for m in measured])
    values = np.concatenate([m.counts / m.stddev_counts for m in measured])
    table = np.linalg.pinv(design) @ values
    residuals = hdmm.best_residuals(TINY, measured, records=float(table.sum()))
    for columns in (("a", "b"), ("b", "c"), ("b",)):
        got = hdmm.least_squares(TINY, residuals, Marginal(columns)).ravel()
        assert got == pytest.approx(matrix_of(TINY, Marginal(columns)) @ table)


@pytest.mark.parametrize("relation", [Relation.REPLACE, Relation.ADD_REMOVE])
def test_hdmm_beats_measuring_each_marginal_by_itself(relation: Relation) -> None:
    codes = small_codes()
    workload = Workload(DOMAIN, (*all_kway(DOMAIN, 3).families, Range.prefixes(("a", "c"), ("c",))))
    ratios = []
    for noise_seed in range(5):
        curator = curator_on(codes, epsilon=0.5, relation=relation, noise_seed=noise_seed)
        found = evaluate(
            MemorySource(codes), workload, hdmm.run(curator, workload, hdmm.HdmmSettings(), seed=0)
        )
        assert curator.remaining == 0
        plain = curator_on(codes, epsilon=0.5, relation=relation, noise_seed=noise_seed)
        alone = evaluate(
            MemorySource(codes),
            workload,
            gaussian.run(plain, workload, gaussian.GaussianSettings(), seed=0),
        )
        ratios.append(found.rmse / alone.rmse)
    assert np.mean(ratios) < 0.95


def test_refusal() -> None:
    with pytest.raises(SettingsError, match="inference must be"):
        hdmm.HdmmSettings(inference="magic")  # type: ignore[arg-type]
