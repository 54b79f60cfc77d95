"""The fit to noisy marginals, and its view of them, against slow, obvious twins."""

import inspect
import itertools
from dataclasses import replace

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Marginal
from dprap.relaxed import FitSettings, RelaxedDataset, Target, answers, fit
from dprap.relaxed.blocks import Blocks, axes_of
from dprap.relaxed.fit import Fit, unwatched
from dprap.relaxed.gradient import Gradient
from dprap.relaxed.shares import SharePlan

DOMAIN = Domain.of({"a": 3, "b": 2, "c": 4, "d": 2})
PLAIN = [
    Marginal(("a",)),
    Marginal(("a", "c")),
    Marginal(("b", "c", "d")),
    Marginal(("a", "b", "c", "d")),
]
COARSE = [
    Marginal(("a",), ((0, 1),)),
    Marginal(("a", "c"), (None, (0, 1, 3))),
    Marginal(("c", "a", "b", "d"), ((0, 2), (0, 2), None, (0,))),
]


PRIOR = np.log(np.concatenate([np.full((size, 1), 1 / size, np.float32) for size in DOMAIN.sizes]))
LONG = FitSettings(prior=PRIOR, kl_weight=0.0, steps=400, learning_rate=0.1, cool_down=0.7)


def some_rows(seed: int = 0, rows: int = 7) -> RelaxedDataset:
    """Rows near the product of uniform columns."""
    return RelaxedDataset.from_logits(
        DOMAIN, PRIOR + np.random.default_rng(seed).gumbel(size=(DOMAIN.onehot_size, rows))
    )


def shares(rows: RelaxedDataset, marginal: Marginal) -> np.ndarray:
    return Blocks(DOMAIN, rows.probabilities).shares(marginal)


def brute_marginal(rows: RelaxedDataset, marginal: Marginal) -> np.ndarray:
    columns = marginal.columns
    cells = itertools.product(*(range(DOMAIN.size(name)) for name in columns))
    shares = np.array(
        [
            np.mean(
                np.prod(
                    [
                        rows.probabilities[DOMAIN.offset(n) + code]
                        for n, code in zip(columns, cell, strict=True)
                    ],
                    0,
                )
            )
            for cell in cells
        ]
    )
    return marginal.answers(shares.reshape(DOMAIN.shape_of(columns))).ravel()


@pytest.mark.parametrize("marginal", [*PLAIN, *COARSE], ids=str)
def test_marginals_agree_with_brute_force_and_with_the_relaxed_data_set(marginal):
    rows = some_rows()
    np.testing.assert_allclose(shares(rows, marginal), brute_marginal(rows, marginal), atol=1e-6)
    (evaluated,) = answers(rows, [marginal])
    np.testing.assert_allclose(shares(rows, marginal), evaluated, atol=1e-6)


@pytest.mark.parametrize(
    "marginals", [*([each] for each in (*PLAIN, *COARSE)), [*PLAIN, *COARSE]], ids=str
)
@pytest.mark.parametrize("small_cells", [0, 4096], ids=["one by one", "together"])
def test_gradient_agrees_with_finite_differences(marginals, small_cells, monkeypatch):
    monkeypatch.setattr("dprap.relaxed.gradient._SMALL_CELLS", small_cells)
    rows = some_rows()
    generator = np.random.default_rng(1)
    sizes = [marginal.size(DOMAIN) for marginal in marginals]
    targets = [
        Target(
            marginal,
            generator.random(size).astype(np.float32),
            generator.random(size).astype(np.float32),
        )
        for marginal, size in zip(marginals, sizes, strict=True)
    ]
    gradient = np.zeros_like(rows.probabilities)
    of_codes = np.zeros(len(gradient), np.float32)
    of_targets = Gradient(Blocks(DOMAIN, rows.probabilities), targets, gradient)
    loss = of_targets.add_and_measure(of_codes)
    of_twice = of_codes.copy()
    of_targets.add(of_twice)  # what a step leaves in memory does not show in the next one
    np.testing.assert_array_equal(of_twice, 2 * of_codes)
    gradient /= 2
    gradient += of_codes[:, None]

    def loss_at(probabilities: np.ndarray) -> float:
        moved = Blocks(DOMAIN, probabilities)
        return sum(
            float(np.sum(t.weights * (moved.shares(t.marginal) - t.shares) ** 2)) for t in targets
        )

    assert loss == pytest.approx(loss_at(rows.probabilities), rel=1e-5)
    # losses are polynomials of low degree: central differences in float64 are nearly exact
    step = 1e-3
    for coordinate, row in [(0, 0), (4, 3), (6, 2), (10, 6)]:
        up, down = rows.probabilities.astype(np.float64), rows.probabilities.astype(np.float64)
        up[coordinate, row] += step
        down[coordinate, row] -= step
        slope = (loss_at(up) - loss_at(down)) / (2 * step)
        assert gradient[coordinate, row] / rows.rows == pytest.approx(slope / 2, abs=2e-4)


def test_the_gradient_of_halves_of_three_columns_agrees_with_the_chain_rule():
    domain = Domain.of(dict.fromkeys("abcdef", 2))
    rows = RelaxedDataset.from_logits(domain, np.random.default_rng(0).normal(size=(12, 5)))
    wide = Marginal(tuple("abcdef"))
    generator = np.random.default_rng(1)
    target = Target(wide, *(generator.random(64).astype(np.float32) for _ in range(2)))
    blocks = Blocks(domain, rows.probabilities)
    assert [len(half) for half in blocks.halves(axes_of(wide))] == [3, 3]
    gradient, of_codes = np.zeros_like(rows.probabilities), np.zeros(12, np.float32)
    Gradient(blocks, [target], gradient).add(of_codes)
    slopes = (target.weights * (blocks.shares(wide) - target.shares)).reshape([2] * 6)
    for row in range(5):
        columns = rows.probabilities[:, row].reshape(6, 2)
        for column in range(6):
            # every other column's probabilities taken into the slopes
            of_column = slopes
            for other in reversed(range(6)):
                if other != column:
                    of_column = np.tensordot(of_column, columns[other], axes=(other, 0))
            np.testing.assert_allclose(
                gradient[2 * column : 2 * column + 2, row], of_column, rtol=1e-4
            )


def test_pairs_answered_together_are_those_answered_alone():
    rows = some_rows()
    blocks = Blocks(DOMAIN, rows.probabilities)
    marginals = [
        Marginal(("a", "b")),
        Marginal(("a", "c")),
        COARSE[1],
        Marginal(("a", "d")),
        PLAIN[2],
        PLAIN[0],
    ]
    together = list(SharePlan.of(DOMAIN, marginals).shares(blocks))
    assert [len(each) for each in together] == [1, 1, 1, 1, 1, 1]
    for marginal, (shares_of_cells,) in zip(marginals, together, strict=True):
        np.testing.assert_allclose(shares_of_cells, blocks.shares(marginal), rtol=1e-5)


def test_pairs_of_as_many_cells_are_rows_of_one_array():
    domain = Domain.of({"a": 3, "b": 2, "c": 2, "d": 4, "e": 4})
    rows = RelaxedDataset.from_logits(
        domain, np.random.default_rng(0).normal(size=(domain.onehot_size, 7))
    )
    blocks = Blocks(domain, rows.probabilities)
    pairs = [Marginal(each) for each in itertools.combinations("abcde", 2)]
    together = list(SharePlan.of(domain, pairs).shares(blocks))
    assert [each.shape for each in together] == [(2, 6), (2, 12), (1, 4), (2, 8), (2, 8), (1, 16)]
    for pair, found in zip(pairs, (row for each in together for row in each), strict=True):
        np.testing.assert_allclose(found, blocks.shares(pair), rtol=1e-5)


@pytest.mark.parametrize("marginal", [PLAIN[1], COARSE[1]], ids=str)
def test_fit_reaches_a_reachable_target_and_stays_a_distribution(marginal):
    wanted = shares(some_rows(seed=5, rows=50), marginal)
    target = Target(marginal, wanted, np.full(len(wanted), 1e6, np.float32))
    start = some_rows(rows=20)
    before = start.probabilities.copy()
    result = fit(start, [target], LONG)
    rows = result.rows
    assert result.steps == 400
    np.testing.assert_array_equal(start.probabilities, before, "the start stays as it is")
    np.testing.assert_allclose(shares(rows, marginal), wanted, atol=2e-3)
    for name in DOMAIN:
        block = rows.probabilities[DOMAIN.offset(name) : DOMAIN.offset(name) + DOMAIN.size(name)]
        np.testing.assert_allclose(block.sum(axis=0), 1.0, atol=1e-5)


def test_without_targets_rows_go_back_to_the_product_of_columns():
    rows = fit(some_rows(), [], replace(LONG, kl_weight=1.0)).rows
    np.testing.assert_allclose(rows.probabilities[:3], 1 / 3, atol=1e-2)


def test_the_misfit_is_that_before_the_last_step():
    marginal = PLAIN[1]
    wanted = shares(some_rows(seed=5), marginal)
    target = Target(marginal, wanted, np.full(len(wanted), 1e4, np.float32))
    rows = some_rows()
    result = fit(rows, [target], replace(LONG, steps=1))
    assert result.misfit == pytest.approx(
        float(np.sum(1e4 * (shares(rows, marginal) - wanted) ** 2)), rel=1e-4
    )


def test_rows_that_the_fit_cannot_move_are_refused():
    rows = some_rows()
    with pytest.raises(SettingsError, match="equal weight"):
        fit(RelaxedDataset(DOMAIN, rows.probabilities, rows.weights), [], LONG)
    uneven = np.arange(1, 8, dtype=np.float32) / 28
    with pytest.raises(SettingsError, match="equal weight"):
        fit(replace(rows, weights=uneven), [], LONG)


def test_every_fit_has_the_form_that_is_declared():
    from dprap.relaxed.jax.families import fit_families
    from dprap.relaxed.jax.mixed import fit_mixed
    from dprap.relaxed.jax.projection import fit_queries

    (_, *declared), returned = parameters(Fit.__call__)
    assert declared == ["start", "targets", "settings", "watch"]
    for each in (fit, fit_queries, fit_families, fit_mixed):
        found, result = parameters(each)
        assert found == declared
        assert result.partition("[")[0] == returned.partition("[")[0] == "FitResult"
        assert inspect.signature(each).parameters["watch"].default is unwatched


def parameters(function):
    signature = inspect.signature(function)
    return list(signature.parameters), signature.return_annotation
