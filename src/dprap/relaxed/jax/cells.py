"""Cell tables of relaxed rows as JAX arrays, for families that are linear maps of them; differentiable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import jax
import jax.numpy as jnp

from dprap.domain import Domain
from dprap.relaxed.jax.layout import JaxRows
from dprap.relaxed.marginals import Fold


def blocks_of(rows: JaxRows, domain: Domain, columns: Iterable[str]) -> dict[str, jax.Array]:
    """The probabilities of each column's codes in every row."""
    return {name: rows[domain.offset(name) : domain.offset(name) + domain.size(name)] for name in columns}


def folded_table(blocks: Mapping[str, jax.Array], weights: jax.Array, fold: Fold) -> jax.Array:
    """The cell table over the columns of `blocks`, in their order, as one matrix product of two factors."""

    def factor(names: tuple[str, ...]) -> jax.Array:
        product = jnp.ones((1, len(weights)), weights.dtype)
        for name in names:
            product = (product[:, None] * blocks[name][None]).reshape(-1, len(weights))
        return product

    names = (*fold.left, *fold.right)
    table = (factor(fold.left) * weights) @ factor(fold.right).T
    shaped = table.reshape(tuple(blocks[name].shape[0] for name in names))
    return shaped.transpose([names.index(name) for name in blocks])
