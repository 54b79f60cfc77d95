"""Answers of whole query families on relaxed rows, streamed within a memory budget.

A relaxed row is a product distribution, so the cell table of a marginal is the weighted mean over rows of outer
products of column blocks, and the answers of thresholds and prefixes are the same linear map of that table as for
records. The columns are folded into two factors whose product is one matrix product over the rows; factors are made
in chunks, so nothing ever has size queries times rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Float32, Int

from dprap.array_types import Answers, Relaxed
from dprap.domain import Domain
from dprap.queries import Custom, Family
from dprap.relaxed.dataset import RelaxedDataset

MEMORY_BYTES = 2**30
"""Default memory budget of a streamed evaluation."""

_ROUND_UP = 64
_PRECISION = jax.lax.Precision.HIGHEST


def answers(
    relaxed: RelaxedDataset, families: Iterable[Family], *, memory_bytes: int = MEMORY_BYTES
) -> Iterator[Answers]:
    """Yield the answers of each family as fractions, flat, in C order of its cells."""
    for family in families:
        if isinstance(family, Custom):
            yield _custom_answers(relaxed, family, memory_bytes)
        else:
            yield family.answers(cell_table(relaxed, family.columns, memory_bytes=memory_bytes)).reshape(-1)


def cell_table(
    relaxed: RelaxedDataset, columns: Sequence[str], *, memory_bytes: int = MEMORY_BYTES
) -> Float32[np.ndarray, "..."]:
    """Fractions of all cells over some columns, one axis a column."""
    fold = Fold.of(relaxed.domain, columns)
    table = np.empty((fold.left_size, fold.right_size), dtype=np.float32)
    chunk = _chunk(fold, relaxed.rows, memory_bytes)
    for left in range(0, fold.left_size, chunk):
        left_cells = np.arange(left, min(left + chunk, fold.left_size))
        left_index = _coordinates(relaxed.domain, fold.left, left_cells)
        for right in range(0, fold.right_size, chunk):
            right_cells = np.arange(right, min(right + chunk, fold.right_size))
            right_index = _coordinates(relaxed.domain, fold.right, right_cells)
            block = _cell_block(relaxed.probabilities, relaxed.weights, left_index, right_index)
            table[np.ix_(left_cells, right_cells)] = np.asarray(block)[: len(left_cells), : len(right_cells)]
    shaped = table.reshape(relaxed.domain.shape_of((*fold.left, *fold.right)))
    order = [(*fold.left, *fold.right).index(name) for name in columns]
    return np.ascontiguousarray(shaped.transpose(order))


@dataclass(frozen=True)
class Fold:
    """Columns split in two, so that both factors are about as small as they can be."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    left_size: int
    right_size: int

    @classmethod
    def of(cls, domain: Domain, columns: Sequence[str]) -> Fold:
        """Split columns of a domain."""

        def cost(right: frozenset[str]) -> int:
            left = [name for name in columns if name not in right]
            return domain.size_of(left) + domain.size_of(right)

        best: frozenset[str] = frozenset()
        # Moving one column at a time to the right is within a small factor of the best of all splits.
        for name in sorted(columns, key=domain.size, reverse=True):
            best = min(best, best | {name}, key=cost)
        left = tuple(name for name in columns if name not in best)
        right = tuple(name for name in columns if name in best)
        return cls(left, right, domain.size_of(left), domain.size_of(right))


def _chunk(fold: Fold, rows: int, memory_bytes: int) -> int:
    """Cells of a factor to make at once: two factors with a working copy each, and their product, must fit."""
    by_factors = memory_bytes // (4 * 4 * rows)
    by_product = math.isqrt(memory_bytes // (4 * 4))
    most = max(min(by_factors, by_product) // _ROUND_UP * _ROUND_UP, 1)
    return min(most, max(fold.left_size, fold.right_size))


def _coordinates(
    domain: Domain, columns: tuple[str, ...], cells: Int[np.ndarray, "cells"]
) -> Int[np.ndarray, "k cells"]:
    """One-hot coordinates of cells, one row a column; padded, so that few shapes are ever compiled."""
    size = len(cells)
    step = _ROUND_UP if size > _ROUND_UP else 8
    # Above some size, steps grow with it: at most a quarter is padding.
    step = max(step, 2 ** max(size.bit_length() - 3, 0))
    padded = np.pad(cells, (0, -size % step), mode="edge")
    codes = np.unravel_index(padded, domain.shape_of(columns)) if columns else ()
    return np.array(
        [domain.offset(name) + code for name, code in zip(columns, codes, strict=True)], dtype=np.int32
    ).reshape(len(columns), len(padded))


@jax.jit
def _cell_block(
    probabilities: Relaxed,
    weights: jax.Array,
    left: Int[jax.Array, "k left"],
    right: Int[jax.Array, "l right"],
) -> Float[jax.Array, "left right"]:
    rows = probabilities.shape[1]

    def factor(index: jax.Array, start: jax.Array) -> jax.Array:
        for coordinates in index:
            start = start * probabilities[coordinates]
        return start

    heavy = factor(left, jnp.broadcast_to(weights, (left.shape[1], rows)))
    light = factor(right, jnp.ones((right.shape[1], rows), probabilities.dtype))
    return jnp.matmul(heavy, light.T, precision=_PRECISION)


def _custom_answers(relaxed: RelaxedDataset, family: Custom, memory_bytes: int) -> Answers:
    size = family.size(relaxed.domain)
    chunk = max(memory_bytes // (16 * (relaxed.domain.onehot_size + size)), 1)
    total = np.zeros(size)
    for start in range(0, relaxed.rows, chunk):
        rows = slice(start, start + chunk)
        values = _custom_values(family, relaxed.domain, relaxed.probabilities[:, rows])
        total += np.asarray(values @ relaxed.weights[rows], dtype=np.float64)
    return total


def _custom_values(family: Custom, domain: Domain, rows: Relaxed) -> Float[jax.Array, "queries rows"]:
    values: jax.Array = jax.jit(family.values, static_argnums=0)(domain, rows)
    return values
