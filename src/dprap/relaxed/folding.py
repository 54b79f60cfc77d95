"""Cell tables of rows as one matrix product: the arithmetic that every evaluation of rows shares.

A row is a product distribution. With p_r(c) the probability of code c in row r and w_r the row's
weight, the share of a cell (a, b, c) is Σ_r w_r · p_r(a) · p_r(b) · p_r(c). The columns are split
in two halves; the Khatri-Rao product of a half's blocks has the probability of each of its cells in
every row, and the cell table is the matrix product of the two halves over the rows.

Everything here is written with operations that arrays of NumPy and of JAX have in common. NumPy
serves answers and the fit of `adaptive`, where every marginal has another shape, each of which JAX
would compile; JAX serves `rap`, which differentiates the same table.

Two ways of splitting the columns stand side by side on purpose. `Fold` takes the cheapest split of
all and transposes the table once, which is right for an answer that is asked for once. A fit asks
for the same marginals a hundred times, forward and backward, so that `blocks.Blocks.halves` splits
in the order of the columns, where nothing is transposed. Sums then run in another order, and the
last digits differ: with one split for both, either seeded releases of `rap` or those of `adaptive`
would change without a gain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeAlias, TypeVar

from dprap.products import product

Array: TypeAlias = Any
"""An array of NumPy or of JAX."""

Key = TypeVar("Key", bound=Hashable)
"""What names a block: a column, or a column with groups of its codes."""


@dataclass(frozen=True)
class Fold(Generic[Key]):
    """Columns split in two, so that both halves together have about as few cells as they can."""

    left: tuple[Key, ...]
    right: tuple[Key, ...]

    @classmethod
    def of(cls, sizes: Mapping[Key, int]) -> Fold[Key]:
        """Split columns of the given numbers of codes.

        >>> Fold.of({"sex": 2, "age": 73, "region": 9})
        Fold(left=('sex', 'region'), right=('age',))
        """

        def cost(right: frozenset[Key]) -> int:
            return cells(name for name in sizes if name not in right) + cells(right)

        def cells(names: Iterable[Key]) -> int:
            return math.prod(sizes[name] for name in names)

        best: frozenset[Key] = frozenset()
        # Moving one column at a time to the right is within a small factor of the best of all
        # splits.
        for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
            best = min(best, best | {name}, key=cost)
        left = tuple(name for name in sizes if name not in best)
        return cls(left, tuple(name for name in sizes if name in best))


def khatri_rao(blocks: Sequence[Array]) -> Array:
    """The probability of every combination of codes in every row, from that of the codes.

    Args:
        blocks: For each of one or more columns an array of codes by rows.

    Returns:
        An array of cells by rows; the last column's code moves fastest.

    >>> import numpy as np
    >>> khatri_rao([np.array([[0.5], [0.5]]), np.array([[0.1], [0.9]])]).ravel().tolist()
    [0.05, 0.45, 0.05, 0.45]
    """
    return reduce(lambda one, other: (one[:, None] * other[None]).reshape(-1, one.shape[1]), blocks)


def folded_table(blocks: Mapping[Key, Array], weights: Array, fold: Fold[Key]) -> Array:
    """The cell table over the columns of `blocks`: one axis for each, in their order.

    Args:
        blocks: For each column the probabilities of its codes in every row.
        weights: How much each row counts.
        fold: How the columns are split.

    Returns:
        Σ_r weights_r · Π probabilities, for every cell.
    """
    ones = (0 * weights + 1)[None]  # the one cell of no columns
    left, right = (
        khatri_rao([blocks[name] for name in half]) if half else ones
        for half in (fold.left, fold.right)
    )
    names = (*fold.left, *fold.right)
    table = product(left * weights, right.T).reshape(tuple(blocks[name].shape[0] for name in names))
    return table.transpose([names.index(name) for name in blocks])
