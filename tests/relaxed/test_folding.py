"""All ways to look at rows say the same: NumPy and JAX, one marginal and many, with slopes and
without.
"""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from tests.relaxed.cases import DOMAIN, relaxed_rows

from dprap.queries import Marginal
from dprap.relaxed import Target, cell_table
from dprap.relaxed.blocks import Blocks
from dprap.relaxed.folding import Fold, folded_table
from dprap.relaxed.gradient import Gradient
from dprap.relaxed.rows import RelaxedDataset, uniform_weights
from dprap.relaxed.shares import SharePlan

MARGINALS = [
    Marginal(columns)
    for k in (1, 2, 3)
    for columns in itertools.permutations(DOMAIN.names, k)
    if k < 3 or columns[0] < columns[2]
]


def even_rows() -> RelaxedDataset:
    relaxed = relaxed_rows()
    return RelaxedDataset(DOMAIN, relaxed.probabilities, uniform_weights(relaxed.rows))


@pytest.mark.parametrize("columns", [(), *(marginal.columns for marginal in MARGINALS[::5])])
def test_the_table_of_jax_is_that_of_numpy(columns: tuple[str, ...]) -> None:
    relaxed = relaxed_rows()
    fold = Fold.of({name: DOMAIN.size(name) for name in columns})
    blocks = {name: jnp.asarray(relaxed.block(name)) for name in columns}
    table = folded_table(blocks, jnp.asarray(relaxed.weights), fold)
    np.testing.assert_allclose(np.asarray(table), cell_table(relaxed, columns), atol=1e-6)


def test_shares_that_a_fit_sees_are_those_of_tables() -> None:
    relaxed = even_rows()
    blocks = Blocks(DOMAIN, relaxed.probabilities)
    planned = [row for rows in SharePlan.of(DOMAIN, MARGINALS).shares(blocks) for row in rows]
    for marginal, at_once in zip(MARGINALS, planned, strict=True):
        expected = cell_table(relaxed, marginal.columns).ravel()
        np.testing.assert_allclose(blocks.shares(marginal), expected, atol=1e-6)
        np.testing.assert_allclose(at_once, expected, atol=1e-6)


def test_the_gradient_vanishes_exactly_where_tables_say_that_targets_are_met() -> None:
    relaxed = even_rows()
    blocks = Blocks(DOMAIN, relaxed.probabilities)
    for marginal in MARGINALS:
        shares = cell_table(relaxed, marginal.columns).ravel()
        for off in (0.0, 0.25):
            target = Target(marginal, shares + np.float32(off), np.ones_like(shares))
            gradient, of_codes = (
                np.zeros_like(relaxed.probabilities),
                np.zeros(DOMAIN.onehot_size, np.float32),
            )
            chi_square = Gradient(blocks, [target], gradient).add_and_measure(of_codes)
            assert chi_square == pytest.approx(len(shares) * off**2, rel=1e-4, abs=1e-9)
            slope = np.abs(gradient + of_codes[:, None]).max()
            assert (slope < 1e-5) if off == 0 else (slope > 0.1)
