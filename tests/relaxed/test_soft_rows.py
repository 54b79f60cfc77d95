"""The adaptive mechanism's kernel against slow, obvious twins."""

import itertools

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.queries import Coarse, Marginal, Partition
from dprap.relaxed import answers
from dprap.relaxed.soft_rows import SoftRows, Target, fit_rows

DOMAIN = Domain.of({"a": 3, "b": 2, "c": 4, "d": 2})
PLAIN = [Marginal(("a",)), Marginal(("a", "c")), Marginal(("b", "c", "d")), Marginal(("a", "b", "c", "d"))]
COARSE = [
    Coarse(("a",), ((0, 1),)),
    Coarse(("a", "c"), (None, (0, 1, 3))),
    Coarse(("c", "a", "b", "d"), ((0, 2), (0, 2), None, (0,))),
]


def soft_rows(seed: int = 0, rows: int = 7) -> SoftRows:
    one_way = [np.full(size, 1 / size) for size in DOMAIN.sizes]
    return SoftRows(DOMAIN, one_way, rows=rows, jitter=1.0, seed=seed)


def brute_marginal(rows: SoftRows, marginal: Partition) -> np.ndarray:
    columns = marginal.columns
    cells = itertools.product(*(range(DOMAIN.size(name)) for name in columns))
    shares = np.array(
        [
            np.mean(
                np.prod([rows.probabilities[DOMAIN.offset(n) + code] for n, code in zip(columns, cell, strict=True)], 0)
            )
            for cell in cells
        ]
    )
    return marginal.answers(shares.reshape(DOMAIN.shape_of(columns))).ravel()


@pytest.mark.parametrize("marginal", [*PLAIN, *COARSE], ids=str)
def test_marginals_agree_with_brute_force_and_with_the_relaxed_data_set(marginal):
    rows = soft_rows()
    np.testing.assert_allclose(rows.marginal(marginal), brute_marginal(rows, marginal), atol=1e-6)
    (evaluated,) = answers(rows.relaxed(), [marginal])
    np.testing.assert_allclose(rows.marginal(marginal), evaluated, atol=1e-6)


@pytest.mark.parametrize("marginal", [*PLAIN, *COARSE], ids=str)
def test_gradient_agrees_with_finite_differences(marginal):
    rows = soft_rows()
    generator = np.random.default_rng(1)
    size = marginal.size(DOMAIN)
    target = Target(marginal, generator.random(size).astype(np.float32), generator.random(size).astype(np.float32))
    gradient = np.zeros_like(rows.probabilities)
    loss = rows.add_gradient(target, gradient)

    def loss_at(probabilities: np.ndarray) -> float:
        moved = soft_rows()
        moved.probabilities = probabilities
        return float(np.sum(target.weights * (moved.marginal(marginal) - target.shares) ** 2))

    assert loss == pytest.approx(loss_at(rows.probabilities), rel=1e-5)
    rows.hand_on_to_codes(gradient)
    step = 1e-3  # losses are polynomials of low degree: central differences in float64 are nearly exact
    for coordinate, row in [(0, 0), (4, 3), (6, 2), (10, 6)]:
        up, down = rows.probabilities.astype(np.float64), rows.probabilities.astype(np.float64)
        up[coordinate, row] += step
        down[coordinate, row] -= step
        slope = (loss_at(up) - loss_at(down)) / (2 * step)
        assert gradient[coordinate, row] / rows.rows == pytest.approx(slope / 2, abs=1e-4)


@pytest.mark.parametrize("marginal", [PLAIN[1], COARSE[1]], ids=str)
def test_fit_reaches_a_reachable_target_and_stays_a_distribution(marginal):
    wanted = soft_rows(seed=5, rows=50).marginal(marginal)
    rows = soft_rows(rows=20)
    target = Target(marginal, wanted, np.full(len(wanted), 1e6, np.float32))
    fit_rows(rows, [target], kl_weight=0.0, steps=400, learning_rate=0.1, cool_down=0.7)
    np.testing.assert_allclose(rows.marginal(marginal), wanted, atol=2e-3)
    for name in DOMAIN:
        block = rows.probabilities[DOMAIN.offset(name) : DOMAIN.offset(name) + DOMAIN.size(name)]
        np.testing.assert_allclose(block.sum(axis=0), 1.0, atol=1e-5)


def test_without_targets_rows_go_back_to_the_product_of_columns():
    rows = soft_rows()
    fit_rows(rows, [], kl_weight=1.0, steps=400, learning_rate=0.1, cool_down=0.7)
    np.testing.assert_allclose(rows.probabilities[:3], 1 / 3, atol=1e-2)
