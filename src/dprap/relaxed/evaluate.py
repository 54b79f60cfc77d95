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
import numpy as np
from jaxtyping import Float, Float32

from dprap.array_types import Answers, Relaxed
from dprap.domain import Domain
from dprap.queries import Coarse, Custom, Family
from dprap.relaxed.dataset import RelaxedDataset

MEMORY_BYTES = 2**30
"""Default memory budget of a streamed evaluation."""


def answers(
    relaxed: RelaxedDataset, families: Iterable[Family | Coarse], *, memory_bytes: int = MEMORY_BYTES
) -> Iterator[Answers]:
    """Yield the answers of each family as fractions, flat, in C order of its cells."""
    for family in families:
        if isinstance(family, Custom):
            yield _custom_answers(relaxed, family, memory_bytes)
        else:
            if isinstance(family, Coarse):
                family.shape(relaxed.domain)  # refuses groups that the domain does not have
            yield family.answers(cell_table(relaxed, family.columns, memory_bytes=memory_bytes)).reshape(-1)


def cell_table(
    relaxed: RelaxedDataset, columns: Sequence[str], *, memory_bytes: int = MEMORY_BYTES
) -> Float32[np.ndarray, "..."]:
    """Fractions of all cells over some columns, one axis a column.

    In NumPy: the work is one matrix product, and every marginal has other shapes, each of which JAX would compile.
    """
    fold = Fold.of(relaxed.domain, columns)
    probabilities = np.asarray(relaxed.probabilities)
    weights = np.asarray(relaxed.weights)
    table = np.empty((fold.left_size, fold.right_size), dtype=np.float32)
    chunk = _chunk(relaxed.rows, memory_bytes)
    for left in range(0, fold.left_size, chunk):
        heavy = weights * _factor(probabilities, relaxed.domain, fold.left, range(left, left + chunk))
        for right in range(0, fold.right_size, chunk):
            light = _factor(probabilities, relaxed.domain, fold.right, range(right, right + chunk))
            table[left : left + chunk, right : right + chunk] = heavy @ light.T
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


def _chunk(rows: int, memory_bytes: int) -> int:
    """Cells of a factor to make at once: two factors with a working copy each, and their product, must fit."""
    by_factors = memory_bytes // (4 * 4 * rows)
    by_product = math.isqrt(memory_bytes // (4 * 4))
    return max(min(by_factors, by_product), 1)


def _factor(
    probabilities: Float32[np.ndarray, "onehot rows"], domain: Domain, columns: tuple[str, ...], cells: range
) -> Float32[np.ndarray, "cells rows"]:
    """Probabilities of some cells over the columns in every row; the range may reach beyond the last cell."""
    size = domain.size_of(columns)
    if not columns:
        return np.ones((1, probabilities.shape[1]), dtype=probabilities.dtype)
    codes = np.unravel_index(np.arange(cells.start, min(cells.stop, size)), domain.shape_of(columns))
    first, *others = (domain.offset(name) + code for name, code in zip(columns, codes, strict=True))
    product: Float32[np.ndarray, "cells rows"] = probabilities[first]
    for coordinates in others:
        product *= probabilities[coordinates]
    return product


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
