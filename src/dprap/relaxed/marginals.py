"""Answers of query families on relaxed rows.

A relaxed row is a product distribution, so the cell table of a marginal is the weighted mean over
rows of outer products of column blocks. Thresholds and prefixes are the same linear map of that
table as for records. The columns are folded into two factors whose product is one matrix product
over the rows.

`answers` serves any family and any weights; it makes the factors in chunks, so nothing ever has
the size of queries times rows. `Blocks` serves the partitions that a fit looks at again and again:
rows of equal weight, all in memory, groups of codes summed before they are multiplied.

Both are NumPy: the work is a matrix product, and every marginal has another shape, each of which
JAX would compile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32

from dprap.array_types import Answers, Relaxed
from dprap.domain import Domain
from dprap.products import product
from dprap.queries import Custom, Family, Halfspace, Marginal, from_cells
from dprap.queries.code_groups import Starts
from dprap.relaxed.drawn import drawn_answers, halfspace_answers
from dprap.relaxed.rows import RelaxedDataset, column_slices

MEMORY_BYTES = 2**30
"""Default memory budget of a streamed evaluation."""

Axis: TypeAlias = tuple[str, Starts]
"""A column, by code or by group of codes."""


def answers(
    relaxed: RelaxedDataset, families: Iterable[Family], *, memory_bytes: int = MEMORY_BYTES
) -> Iterator[Answers]:
    """Yield the answers of each family as fractions, flat, in C order of its cells.

    Args:
        relaxed: The rows, of any weights.
        families: What is asked. Halfspaces and custom functions that are no tables are answered on drawn records.
        memory_bytes: The most that factors and products may take at a time.

    Yields:
        One array for each family, in their order.

    """
    for family in families:
        if isinstance(family, Halfspace):
            yield halfspace_answers(relaxed, family)
        elif isinstance(family, Custom) and not from_cells(family, relaxed.domain):
            yield drawn_answers(relaxed, family)
        else:
            if isinstance(family, Marginal):
                family.shape(relaxed.domain)  # refuses groups that the domain does not have
            yield family.answers(cell_table(relaxed, family.columns, memory_bytes=memory_bytes)).reshape(-1)


def cell_table(
    relaxed: RelaxedDataset, columns: Sequence[str], *, memory_bytes: int = MEMORY_BYTES
) -> Float32[np.ndarray, "..."]:
    """Fractions of all cells over some columns, as an array with one axis for each column."""
    fold = Fold.of(relaxed.domain, columns)
    probabilities, weights = relaxed.probabilities, relaxed.weights
    table = np.empty((fold.left_size, fold.right_size), dtype=np.float32)
    chunk = _chunk(relaxed.rows, memory_bytes)
    for left in range(0, fold.left_size, chunk):
        heavy = weights * _factor(probabilities, relaxed.domain, fold.left, range(left, left + chunk))
        for right in range(0, fold.right_size, chunk):
            light = _factor(probabilities, relaxed.domain, fold.right, range(right, right + chunk))
            table[left : left + chunk, right : right + chunk] = product(heavy, light.T)
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
        # Moving one column at a time to the right is within a small factor of the best of all
        # splits.
        for name in sorted(columns, key=domain.size, reverse=True):
            best = min(best, best | {name}, key=cost)
        left = tuple(name for name in columns if name not in best)
        right = tuple(name for name in columns if name in best)
        return cls(left, right, domain.size_of(left), domain.size_of(right))


def _chunk(rows: int, memory_bytes: int) -> int:
    """Cells of a factor to make at once: two factors, their copies and product must fit."""
    by_factors = memory_bytes // (4 * 4 * rows)
    by_product = math.isqrt(memory_bytes // (4 * 4))
    return max(min(by_factors, by_product), 1)


def _factor(
    probabilities: Relaxed, domain: Domain, columns: tuple[str, ...], cells: range
) -> Float32[np.ndarray, "cells rows"]:
    """Probabilities of some cells in every row; the range may reach beyond the last cell."""
    size = domain.size_of(columns)
    if not columns:
        return np.ones((1, probabilities.shape[1]), dtype=probabilities.dtype)
    codes = np.unravel_index(np.arange(cells.start, min(cells.stop, size)), domain.shape_of(columns))
    first, *others = (domain.offset(name) + code for name, code in zip(columns, codes, strict=True))
    product: Float32[np.ndarray, "cells rows"] = probabilities[first]
    for coordinates in others:
        product *= probabilities[coordinates]
    return product


class Blocks:
    """Column blocks of rows of equal weight; blocks of groups are summed once and kept."""

    def __init__(self, domain: Domain, probabilities: Relaxed) -> None:
        self.domain = domain
        self.slices = column_slices(domain)
        self.probabilities = probabilities
        self._grouped: dict[Axis, Relaxed] = {}

    def forget(self) -> None:
        """Say that the probabilities have changed."""
        self._grouped.clear()

    def of(self, axis: Axis) -> Relaxed:
        """Probabilities of a column's codes, or of its groups, in every row."""
        name, starts = axis
        codes = self.probabilities[self.slices[name]]
        if starts is None:
            return codes
        if axis not in self._grouped:
            self._grouped[axis] = np.add.reduceat(codes, starts, axis=0)
        return self._grouped[axis]

    def product(
        self, axes: Sequence[Axis], out: Float32[np.ndarray, "cells rows"] | None = None
    ) -> Float32[np.ndarray, "cells rows"]:
        """The Khatri-Rao product of blocks: the probability of every cell in every row."""
        rows = self.probabilities.shape[1]
        if len(axes) < 2:
            alone = self.of(axes[0]) if axes else np.ones((1, rows), self.probabilities.dtype)
            if out is not None:
                out[:] = alone
            return alone if out is None else out
        before, last = self.product(axes[:-1]), self.of(axes[-1])
        shaped = None if out is None else out.reshape(len(before), len(last), rows)
        product: Float32[np.ndarray, "cells rows"] = np.multiply(before[:, None, :], last[None], out=shaped).reshape(
            -1, rows
        )
        return product

    def cells(self, axes: Sequence[Axis]) -> int:
        """The number of cells over some columns, by code or by group."""
        return math.prod(self.domain.size(name) if starts is None else len(starts) for name, starts in axes)

    def halves(self, axes: Sequence[Axis]) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
        """A prefix and a suffix whose numbers of cells add up to as little as possible.

        A split in the order of the columns needs no transposition, forward or backward.
        """
        cuts = range(1, max(len(axes), 2))
        cut = min(cuts, key=lambda cut: self.cells(axes[:cut]) + self.cells(axes[cut:]))
        return tuple(axes[:cut]), tuple(axes[cut:])

    def shares(self, marginal: Marginal) -> Float32[np.ndarray, " cells"]:
        """Shares of all cells of a marginal, as a fit sees them."""
        left, right = self.halves(axes_of(marginal))
        return np.ravel(product(self.product(left), self.product(right).T)) / np.float32(self.probabilities.shape[1])


def axes_of(marginal: Marginal) -> tuple[Axis, ...]:
    """The columns of a marginal, each by code or by group."""
    return marginal.starts_by_column()
