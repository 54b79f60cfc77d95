"""The gradient of rows' distance from marginals, for all marginals of a fit together.

A marginal's columns are split into two halves. The probability of every cell of a half in every row
is a Khatri-Rao product of column blocks; the marginal is the matrix product of the two halves, and
so are both parts of its gradient. What takes time beside these products is kept small:

* Small marginals that share a half are taken together, so that one matrix product serves many.
* All arrays of the size of a marginal or a half stand in memory that is used again for the next
  one. Fresh memory is handed out page by page, which costs more than the products themselves.
* One-way marginals are sums of rows, taken for all columns at once.
* Which arrays an operation reads and writes is settled before the first step (`halves`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dprap.array_types import Float32, Int64, Relaxed
from dprap.products import checked_once, product, unchecked_product
from dprap.queries import Marginal
from dprap.relaxed.blocks import Blocks, axes_of
from dprap.relaxed.halves import Half, Halves, Operation

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

    `wanted` are the shares times the number of rows, `weights` those of the cells over it.
    """

    shared: Half
    others: tuple[Half, ...]
    cells: tuple[int, ...]
    wanted: Float32[np.ndarray, "shared others"]
    weights: Float32[np.ndarray, "shared others"]

    def shapes(self, rows: int) -> Mapping[str, tuple[int, int]]:
        """What a step needs memory for, by name."""
        shared, others = self.wanted.shape
        return {
            "shared": (shared, rows),
            "others": (others, rows),
            "residual": (shared, others),
            "weighted": (shared, others),
            "by shared": (shared, rows),
            "by others": (others, rows),
        }


@dataclass(frozen=True)
class _Prepared:
    """What adds the gradient of some marginals; then their chi-square is that of the two arrays."""

    operations: tuple[Operation, ...]
    weighted: Float32[np.ndarray, "shared others"]
    residual: Float32[np.ndarray, "shared others"]


@dataclass(frozen=True)
class _Columns:
    """One-way marginals by code, one after the other: where each code stands, and what is
    wanted.
    """

    places: Int64[np.ndarray, " codes"]
    wanted: Float32[np.ndarray, " codes"]
    weights: Float32[np.ndarray, " codes"]


class Gradient:
    """The gradient of ½ Σ weight · (marginal − share)² over all targets.

    Args:
        blocks: The rows, whose probabilities move in place.
        targets: The marginals to be met.
        gradient: To which is added what differs from row to row.

    """

    def __init__(self, blocks: Blocks, targets: Sequence[Target], gradient: Relaxed) -> None:
        self._blocks = blocks
        self._gradient = gradient
        self._rows: int = gradient.shape[1]
        plain = [_is_column(target.marginal) for target in targets]
        self._columns = self._side_by_side(
            [target for target, is_column in zip(targets, plain, strict=True) if is_column]
        )
        together = list(
            self._batches(
                [target for target, is_column in zip(targets, plain, strict=True) if not is_column]
            )
        )
        self._halves = Halves(blocks, gradient)
        memory = _memory([batch.shapes(self._rows) for batch in together])
        self._prepared = [self._prepare(batch, memory) for batch in together]
        self._ones = np.ones(self._rows, np.float32)

    def add(self, of_codes: Float32[np.ndarray, " onehot"]) -> None:
        """Add the gradient with respect to the probabilities, times the number of rows.

        Args:
            of_codes: To which is added what a code has in all rows alike.

        """
        self._go(of_codes, measured=False)

    def add_and_measure(self, of_codes: Float32[np.ndarray, " onehot"]) -> float:
        """Add the gradient, and return the chi-square Σ weight · (marginal − share)²."""
        return self._go(of_codes, measured=True)

    def _go(self, of_codes: Float32[np.ndarray, " onehot"], *, measured: bool) -> float:
        chi_square = self._add_columns(of_codes)
        of_others = 0.0
        with checked_once(self._gradient):
            self._halves.begin()
            for batch in self._prepared:
                for operation in batch.operations:
                    operation()
                if measured:
                    of_others += float(np.vdot(batch.weighted, batch.residual)) / self._rows
            self._halves.finish()
        return chi_square + of_others

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
            side_by_side([target.shares for _, target, _ in members]) * np.float32(self._rows),
            side_by_side([target.weights for _, target, _ in members]) / np.float32(self._rows),
        )

    def _add_columns(self, of_codes: Float32[np.ndarray, " onehot"]) -> float:
        columns = self._columns
        if not len(columns.places):
            return 0.0
        residual = product(self._blocks.probabilities, self._ones)[columns.places] - columns.wanted
        weighted = residual * columns.weights
        np.add.at(of_codes, columns.places, weighted)
        chi_square = float(product(weighted, residual))
        return chi_square / self._rows

    def _prepare(self, batch: _Together, memory: Mapping[str, Relaxed]) -> _Prepared:
        """The operations that add the gradient of a batch, in their order."""
        arrays = {
            name: memory[name][: math.prod(shape)].reshape(shape)
            for name, shape in batch.shapes(self._rows).items()
        }
        residual, weighted = arrays["residual"], arrays["weighted"]
        by_shared, by_others = arrays["by shared"], arrays["by others"]
        operations: list[Operation] = []

        def factor(
            halves: Sequence[Half], cells: Sequence[int], place: Relaxed
        ) -> Float32[np.ndarray, "cells rows"]:
            """The products of halves one below the other; a column alone stands where it is."""
            if len(halves) == 1 and len(halves[0]) == 1:
                return self._halves.of(halves[0][0])
            for half, start, count in _stretches(halves, cells):
                operations.extend(self._halves.product(half, place[start : start + count]))
            return place

        shared = factor([batch.shared], [len(residual)], arrays["shared"])
        others = factor(batch.others, batch.cells, arrays["others"])
        operations += [
            partial(unchecked_product, shared, others.T, residual),
            partial(np.subtract, residual, batch.wanted, residual),
            partial(np.multiply, residual, batch.weights, weighted),
            partial(unchecked_product, weighted, others, by_shared),
            *self._halves.spread(batch.shared, by_shared),
            partial(unchecked_product, weighted.T, shared, by_others),
        ]
        for half, start, count in _stretches(batch.others, batch.cells):
            operations += self._halves.spread(half, by_others[start : start + count])
        return _Prepared(tuple(operations), weighted, residual)


def _stretches(halves: Sequence[Half], cells: Sequence[int]) -> Iterator[tuple[Half, int, int]]:
    """Where each half stands among several: its first cell, and how many it has."""
    start = 0
    for half, count in zip(halves, cells, strict=True):
        yield half, start, count
        start += count


def _memory(shapes: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, Relaxed]:
    """One array for each name, as large as the largest that is needed."""
    largest: dict[str, int] = {}
    for each in shapes:
        for name, shape in each.items():
            largest[name] = max(largest.get(name, 0), math.prod(shape))
    return {name: np.empty(size, np.float32) for name, size in largest.items()}


def _is_column(marginal: Marginal) -> bool:
    return len(marginal.columns) == 1 and marginal.groups is None
