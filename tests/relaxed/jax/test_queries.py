from __future__ import annotations

import itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.reference import relaxed as reference
from tests.relaxed.cases import DOMAIN, all_queries, onehot_rows, relaxed_rows

from dprap.errors import WorkloadError
from dprap.queries import Custom, Marginal, Query
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.jax.queries import (
    QueryBatch,
    compile_queries,
    padded_size,
    product_means,
    threshold_means,
)

INDEX_ROWS = [[0, 1, 2], [3, 3, 4], [5, 0, 5], [2, 4, 1]]
THRESHOLDS = (1, 2, 3, 2)
INDEX = jnp.array(INDEX_ROWS)
AT_LEAST = jnp.array(THRESHOLDS)


@jax.jit
def answer_on(batch: QueryBatch, probabilities: jax.Array, weights: jax.Array) -> jax.Array:
    return batch.answers(
        probabilities.at[batch.coordinates].get(mode="fill", fill_value=0), weights
    )


def answer(batch: QueryBatch, relaxed: RelaxedDataset) -> np.ndarray:
    return np.asarray(answer_on(batch, relaxed.probabilities, relaxed.weights))


def test_every_query_is_its_expectation() -> None:
    queries = all_queries()[::3]
    relaxed = relaxed_rows()
    batch, places = compile_queries(DOMAIN, queries)
    expected = [
        reference.relaxed_answer(
            q, DOMAIN, np.asarray(relaxed.probabilities), np.asarray(relaxed.weights)
        )
        for q in queries
    ]
    answered = answer(batch, relaxed)
    np.testing.assert_allclose(answered[places], expected, atol=1e-6)
    assert not answered[np.setdiff1d(np.arange(batch.size), places)].any()


def test_every_query_agrees_with_its_definition_on_every_record() -> None:
    queries = all_queries()
    batch, places = compile_queries(DOMAIN, queries)
    for record in itertools.product(*(range(size) for size in DOMAIN.sizes)):
        answered = answer(batch, onehot_rows(DOMAIN, [record]))[places]
        assert answered.tolist() == [
            float(reference.holds(query, DOMAIN, record)) for query in queries
        ]


@pytest.mark.parametrize("kind", ["product", pytest.param("threshold", marks=pytest.mark.slow)])
def test_gradients_three_ways(kind: str) -> None:
    rng = np.random.default_rng(0)
    with jax.enable_x64():
        literals = jnp.asarray(rng.random((7, 5)) * (rng.random((7, 5)) > 0.2))
        weights = jnp.asarray(rng.dirichlet(np.ones(5)))
        cotangent = jnp.asarray(rng.normal(size=4))

        @jax.jit
        def fast(literals: jax.Array) -> jax.Array:
            if kind == "product":
                return product_means(literals, INDEX, weights) @ cotangent
            return threshold_means(literals, INDEX, AT_LEAST, weights) @ cotangent

        @jax.jit
        def plain(literals: jax.Array) -> jax.Array:
            total = jnp.zeros(())
            for query in range(4):
                for outcome in itertools.product((0, 1), repeat=3):
                    if sum(outcome) >= (3 if kind == "product" else THRESHOLDS[query]):
                        chosen = [
                            literals[i] if hit else 1 - literals[i]
                            for i, hit in zip(INDEX_ROWS[query], outcome, strict=True)
                        ]
                        total += cotangent[query] * jnp.sum(
                            weights * chosen[0] * chosen[1] * chosen[2]
                        )
            return total

        by_hand, by_autodiff = jax.grad(fast)(literals), jax.grad(plain)(literals)
        assert float(fast(literals)) == pytest.approx(float(plain(literals)), abs=1e-12)
        numeric = np.zeros((7, 5))
        for place in np.ndindex(7, 5):
            step = jnp.zeros((7, 5)).at[place].set(1e-5)
            numeric[place] = (fast(literals + step) - fast(literals - step)) / 2e-5
    np.testing.assert_allclose(by_hand, by_autodiff, atol=1e-12)
    np.testing.assert_allclose(by_hand, numeric, atol=1e-8)


def test_custom_queries_go_along() -> None:
    family = Custom(
        "both", ("a", "b"), lambda row: jnp.stack([row["a"][0] * row["b"][1], row["b"][2]])
    )
    relaxed = relaxed_rows()
    queries = [Query(family, 1), all_queries()[5], Query(family, 0)]
    batch, places = compile_queries(DOMAIN, queries)
    b, a = np.asarray(relaxed.block("b")), np.asarray(relaxed.block("a"))
    answered = answer(batch, relaxed)[places]
    assert answered[0] == pytest.approx(float(b[2] @ relaxed.weights), abs=1e-6)
    assert answered[2] == pytest.approx(float((a[0] * b[1]) @ relaxed.weights), abs=1e-6)


def test_queries_of_groups_are_refused_not_taken_for_codes() -> None:
    name = DOMAIN.names[0]
    with pytest.raises(WorkloadError, match=r"not a \(2 groups\)"):
        compile_queries(DOMAIN, [Query(Marginal((name,), ((0, 1),)), 0)])


def test_few_padded_sizes() -> None:
    assert {padded_size(count) for count in range(500)} == {0, 32, 128, 512}


def test_a_class_that_nobody_has_named_is_not_taken_for_a_marginal() -> None:
    """A family that shares the columns of a marginal and answers otherwise would be fitted to the
    wrong numbers.
    """

    @dataclass(frozen=True)
    class Outside:
        columns: tuple[str, ...]

    with pytest.raises(WorkloadError, match="a batch takes marginals"):
        compile_queries(DOMAIN, [Query(Outside(DOMAIN.names[:2]), 0)])  # type: ignore[arg-type]
