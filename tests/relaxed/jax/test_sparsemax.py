from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import relaxed as reference

from dprap.domain import Domain
from dprap.relaxed.jax.layout import layout_of
from dprap.relaxed.jax.sparsemax import softmax, sparsemax

DOMAIN = Domain.of({"a": 5, "b": 1, "c": 40, "d": 5, "e": 36, "f": 2})
SPARSEMAX = jax.jit(sparsemax, static_argnums=1)


@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0])
def test_sparsemax_is_the_projection_onto_the_simplex(spread: float) -> None:
    values = np.random.default_rng(0).normal(0, spread, (DOMAIN.onehot_size, 30)).astype(np.float32)
    expected = reference.sparsemax(values, DOMAIN)
    np.testing.assert_allclose(SPARSEMAX(values, DOMAIN), expected, atol=2e-6 * max(spread, 1))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.25, 0.5, 1.0, 1.5, 7.0]), min_size=8, max_size=8)
)
def test_sparsemax_with_ties(values: list[float]) -> None:
    domain = Domain.of({"a": 5, "b": 3})
    column = np.array(values, dtype=np.float32)[:, None]
    result = np.asarray(SPARSEMAX(column, domain))
    np.testing.assert_allclose(result, reference.sparsemax(column, domain), atol=1e-6)
    np.testing.assert_allclose(result[:5].sum(), 1, atol=1e-6)


def test_sparsemax_of_the_simplex_is_itself() -> None:
    onehot = np.zeros((DOMAIN.onehot_size, 1), dtype=np.float32)
    onehot[list(DOMAIN.offsets)] = 1
    np.testing.assert_array_equal(SPARSEMAX(onehot, DOMAIN), onehot)


def test_sparsemax_gradient_three_ways() -> None:
    domain = Domain.of({"a": 4, "b": 3})
    rng = np.random.default_rng(1)
    with jax.enable_x64():
        values = jnp.asarray(rng.normal(size=(7, 3)))
        cotangent = jnp.asarray(rng.normal(size=(7, 3)))

        @jax.jit
        def plain(values: jax.Array) -> jax.Array:
            blocks = []
            for start, stop in ((0, 4), (4, 7)):
                ordered = jnp.sort(values[start:stop], axis=0)[::-1]
                sizes = jnp.arange(1, stop - start + 1)[:, None]
                candidates = (jnp.cumsum(ordered, axis=0) - 1) / sizes
                support = jnp.sum(ordered > candidates, axis=0)
                threshold = jnp.take_along_axis(candidates, support[None] - 1, axis=0)
                blocks.append(jnp.maximum(values[start:stop] - threshold, 0))
            return jnp.concatenate(blocks)

        by_hand = jax.grad(lambda v: jnp.sum(cotangent * SPARSEMAX(v, domain)))(values)
        by_autodiff = jax.grad(lambda v: jnp.sum(cotangent * plain(v)))(values)
        numeric = np.zeros((7, 3))
        for place in np.ndindex(7, 3):
            step = jnp.zeros((7, 3)).at[place].set(1e-6)
            difference = SPARSEMAX(values + step, domain) - SPARSEMAX(values - step, domain)
            numeric[place] = jnp.sum(cotangent * difference) / 2e-6
    np.testing.assert_allclose(by_hand, by_autodiff, atol=1e-9)
    np.testing.assert_allclose(by_hand, numeric, atol=1e-5)


def test_softmax_of_every_block() -> None:
    values = np.random.default_rng(0).normal(size=(DOMAIN.onehot_size, 4)).astype(np.float32)
    expected = [
        jax.nn.softmax(values[offset : offset + size], axis=0)
        for offset, size in zip(DOMAIN.offsets, DOMAIN.sizes, strict=True)
    ]
    np.testing.assert_allclose(
        jax.jit(softmax, static_argnums=1)(values, DOMAIN), np.concatenate(expected), atol=1e-6
    )


def test_layout_puts_columns_of_similar_size_together() -> None:
    layout = layout_of(DOMAIN)
    assert [(bucket.codes, bucket.columns) for bucket in layout.buckets] == [
        (40, 2),
        (5, 2),
        (2, 1),
        (1, 1),
    ]
    assert len(set(layout.slots.tolist())) == DOMAIN.onehot_size
    rows = jnp.arange(DOMAIN.onehot_size, dtype=jnp.float32)[:, None]
    np.testing.assert_array_equal(layout.unpack(layout.pack(rows)), rows)
