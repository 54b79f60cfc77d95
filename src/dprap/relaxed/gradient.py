"""The gradient of rows' distance from marginals, for all marginals of a fit together.

A marginal's columns are split into two halves. The probability of every cell of a half in every row
is a Khatri-Rao product of column blocks; the marginal is the matrix product of the two halves, and
so are both parts of its gradient. What takes time beside these products is kept small:

* Small marginals that share a half are taken together, so that one matrix product serves many.
* All arrays of the size of a marginal or a half stand in memory that is used again for the next
  one. Fresh memory is handed out page by page, which costs more than the products themselves.
* One-way marginals are sums of rows, taken for all columns at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Float32, Int64, Relaxed
from dprap.products import product
from dprap.queries import Marginal
from dprap.relaxed.blocks import Axis, Blocks, axes_of

Half = tuple[Axis, ...]

# Marginals of at most this many cells are taken together where they share a half: for them the
# calls cost more than the multiplications.
_SMALL_CELLS = 4096
# Together the other halves have at most this many cells, so that they stay in the cache.
_CELLS_TOGETHER = 1024


@dataclass(frozen=True)
class Target:
    """What rows should say about a marginal, in shares, and how much each cell counts.

    `weights` are inverse variances of the shares, so that the weighted squared distance is a
    chi-square.
    """

    marginal: Marginal
    shares: Float32[np.ndarray, " cells"]
    weights: Float32[np.ndarray, " cells"]


@dataclass(frozen=True)
class _Together:
    """Marginals that share a half, side by side.

    `wanted` are the shares times the number of rows, `weights` those of the cells over it. `places`
    has, where the other halves are single columns by code, the coordinates of all of them.
    """

    shared: Half
    others: tuple[Half, ...]
    cells: tuple[int, ...]
    places: Int64[np.ndarray, " others"] | None
    wanted: Float32[np.ndarray, "shared others"]
    weights: Float32[np.ndarray, "shared others"]


@dataclass(frozen=True)
class _Columns:
    """One-way marginals by code, one after the other: where each code stands, and what is
    wanted.
    """

    places: Int64[np.ndarray, " codes"]
    wanted: Float32[np.ndarray, " codes"]
    weights: Float32[np.ndarray, " codes"]


class Gradient:
    """The gradient of ½ Σ weight · (marginal − share)² over all targets."""

    def __init__(self, blocks: Blocks, targets: Sequence[Target]) -> None:
        self._blocks = blocks
        self._rows: int = blocks.probabilities.shape[1]
        plain = [_is_column(target.marginal) for target in targets]
        self._columns = self._side_by_side(
            [target for target, is_column in zip(targets, plain, strict=True) if is_column]
        )
        self._together = list(
            self._batches(
                [target for target, is_column in zip(targets, plain, strict=True) if not is_column]
            )
        )
        self._ones = np.ones(self._rows, np.float32)
        self._scratch: dict[str, dict[tuple[int, int], Relaxed]] = {}
        self._of_groups: dict[Axis, Relaxed] = {}

    def add(self, gradient: Relaxed, of_codes: Float32[np.ndarray, " onehot"]) -> float:
        """Add the gradient with respect to the probabilities, times the number of rows.

        Args:
            gradient: To which is added what differs from row to row.
            of_codes: To which is added what a code has in all rows alike.

        Returns:
            The chi-square Σ weight · (marginal − share)².

        """
        chi_square = self._add_columns(of_codes)
        chi_square += sum(self._add_together(batch, gradient) for batch in self._together)
        for (name, starts), of_groups in self._of_groups.items():
            widths = np.diff((*(starts or ()), self._blocks.domain.size(name)))
            gradient[self._blocks.slices[name]] += np.repeat(of_groups, widths, axis=0)
        self._of_groups.clear()
        return chi_square

    def _side_by_side(self, targets: Sequence[Target]) -> _Columns:
        blocks = [self._blocks.slices[target.marginal.columns[0]] for target in targets]
        return _Columns(
            np.concatenate(
                [np.empty(0, np.int64), *(np.arange(block.start, block.stop) for block in blocks)]
            ),
            np.concatenate([np.empty(0, np.float32), *(target.shares for target in targets)])
            * np.float32(self._rows),
            np.concatenate([np.empty(0, np.float32), *(target.weights for target in targets)])
            / np.float32(self._rows),
        )

    def _batches(self, targets: Sequence[Target]) -> Iterator[_Together]:
        """Large targets alone, small ones with others that share the half that most of them
        have.
        """
        halves = [self._blocks.halves(axes_of(target.marginal)) for target in targets]
        small = [len(target.shares) <= _SMALL_CELLS for target in targets]
        uses = Counter(
            half for pair, is_small in zip(halves, small, strict=True) if is_small for half in pair
        )
        sharing: dict[Half, list[tuple[Half, Target, bool]]] = {}
        for (left, right), target, is_small in zip(halves, targets, small, strict=True):
            if not is_small:
                yield self._batch(left, [(right, target, False)])
            elif uses[left] >= uses[right]:
                sharing.setdefault(left, []).append((right, target, False))
            else:
                sharing.setdefault(right, []).append((left, target, True))
        for shared, members in sharing.items():
            batch: list[tuple[Half, Target, bool]] = []
            cells = 0
            for member in members:
                more = self._blocks.cells(member[0])
                if batch and cells + more > _CELLS_TOGETHER:
                    yield self._batch(shared, batch)
                    batch, cells = [], 0
                batch.append(member)
                cells += more
            yield self._batch(shared, batch)

    def _batch(self, shared: Half, members: Sequence[tuple[Half, Target, bool]]) -> _Together:
        """Members are the other half, its target, and whether that half comes first in the
        marginal.
        """

        def side_by_side(
            arrays: Sequence[Float32[np.ndarray, " cells"]],
        ) -> Float32[np.ndarray, "shared others"]:
            tables = [
                (
                    array.reshape(-1, self._blocks.cells(shared)).T
                    if first
                    else array.reshape(self._blocks.cells(shared), -1)
                )
                for array, (_, _, first) in zip(arrays, members, strict=True)
            ]
            return np.ascontiguousarray(np.concatenate(tables, axis=1))

        others = tuple(other for other, _, _ in members)
        return _Together(
            shared,
            others,
            tuple(map(self._blocks.cells, others)),
            self._places(others),
            side_by_side([target.shares for _, target, _ in members]) * np.float32(self._rows),
            side_by_side([target.weights for _, target, _ in members]) / np.float32(self._rows),
        )

    def _places(self, halves: Sequence[Half]) -> Int64[np.ndarray, " others"] | None:
        """The coordinates of several halves, if they are different columns by code; None for a half
        alone.
        """
        plain = {half[0][0] for half in halves if len(half) == 1 and half[0][1] is None}
        if len(halves) == 1 or len(plain) < len(halves):
            return None
        slices = [self._blocks.slices[half[0][0]] for half in halves]
        return np.concatenate([np.arange(each.start, each.stop) for each in slices])

    def _add_columns(self, of_codes: Float32[np.ndarray, " onehot"]) -> float:
        columns = self._columns
        if not len(columns.places):
            return 0.0
        residual = product(self._blocks.probabilities, self._ones)[columns.places] - columns.wanted
        weighted = residual * columns.weights
        np.add.at(of_codes, columns.places, weighted)
        chi_square = float(product(weighted, residual))
        return chi_square / self._rows

    def _add_together(self, batch: _Together, gradient: Relaxed) -> float:
        shared = self._product(batch.shared, "shared")
        others = self._products(batch)
        residual = self._array("residual", batch.wanted.shape)
        product(shared, others.T, out=residual)
        residual -= batch.wanted
        weighted = np.multiply(residual, batch.weights, out=self._array("weighted", residual.shape))
        by_shared = product(weighted, others, out=self._array("by shared", shared.shape))
        self._backward(batch.shared, by_shared, gradient)
        by_others = product(weighted.T, shared, out=self._array("by others", others.shape))
        if batch.places is not None:
            gradient[batch.places] += by_others
        else:
            start = 0
            for half, cells in zip(batch.others, batch.cells, strict=True):
                self._backward(half, by_others[start : start + cells], gradient)
                start += cells
        chi_square = float(np.vdot(weighted, residual))
        return chi_square / self._rows

    def _products(self, batch: _Together) -> Float32[np.ndarray, "cells rows"]:
        """The products of the other halves, one below the other."""
        if len(batch.others) == 1:
            return self._product(batch.others[0], "others")
        products = self._array("others", (sum(batch.cells), self._rows))
        if batch.places is not None:
            return np.take(
                self._blocks.probabilities, batch.places, axis=0, out=products, mode="clip"
            )
        start = 0
        for half, size in zip(batch.others, batch.cells, strict=True):
            self._blocks.product(half, out=products[start : start + size])
            start += size
        return products

    def _product(self, half: Half, name: str) -> Float32[np.ndarray, "cells rows"]:
        if len(half) == 1:
            return self._blocks.of(half[0])
        return self._blocks.product(
            half, out=self._array(name, (self._blocks.cells(half), self._rows))
        )

    def _array(self, name: str, shape: tuple[int, int]) -> Float32[np.ndarray, "first second"]:
        """Memory of this name; what stood in it is lost."""
        shapes = self._scratch.setdefault(name, {})
        if shape not in shapes:  # all of this name share the memory of the largest so far
            size = math.prod(shape)
            largest = max(shapes.values(), key=np.size, default=np.empty((0, 0), np.float32))
            if largest.size < size:
                shapes.clear()
                largest = np.empty(shape, np.float32)
            shapes[shape] = largest.reshape(-1)[:size].reshape(shape)
        return shapes[shape]

    def _backward(self, half: Half, cotangent: Relaxed, gradient: Relaxed) -> None:
        """Distribute the cotangent of a Khatri-Rao product over its columns."""
        if not half:
            return
        first, rest = half[0], half[1:]
        of_first = self._gradient_of(first, gradient)
        if not rest:
            of_first += cotangent
            return
        shaped = cotangent.reshape(len(of_first), -1, self._rows)
        of_first += np.einsum("xyr,yr->xr", shaped, self._blocks.product(rest))
        self._backward(rest, np.einsum("xyr,xr->yr", shaped, self._blocks.of(first)), gradient)

    def _gradient_of(self, axis: Axis, gradient: Relaxed) -> Relaxed:
        """Where the gradient of a column's codes, or of its groups, is added up."""
        name, starts = axis
        if starts is None:
            return gradient[self._blocks.slices[name]]
        if axis not in self._of_groups:
            self._of_groups[axis] = np.zeros((len(starts), self._rows), np.float32)
        return self._of_groups[axis]


def _is_column(marginal: Marginal) -> bool:
    return len(marginal.columns) == 1 and marginal.groups is None
