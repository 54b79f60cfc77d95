"""Halves of marginals while rows move: their products and slopes, as operations prepared once.

A step of a fit is some hundred small operations on arrays that stand where they stood in the step
before. Finding the arrays takes longer than most of the operations, so they are found once: here an
operation is a call without arguments, with its arrays in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from dprap.array_types import Relaxed
from dprap.relaxed.blocks import Axis, Blocks
from dprap.relaxed.folding import khatri_rao

Half: TypeAlias = tuple[Axis, ...]
"""Some columns of a marginal, each by code or by group."""

Operation: TypeAlias = Callable[[], object]
"""A call that writes to arrays that were named before."""


class Halves:
    """Prepares operations on halves of marginals, for rows and a gradient that stay in place."""

    def __init__(self, blocks: Blocks, gradient: Relaxed) -> None:
        self._blocks = blocks
        self._gradient = gradient
        self._rows: int = gradient.shape[1]
        self._sums: dict[Axis, Relaxed] = {}
        self._slopes_of_groups: dict[Axis, Relaxed] = {}
        self._before: list[Operation] = []
        self._after: list[Operation] = []
        # What one column of a pair adds to its slope, before it is added.
        self._part = np.empty((max(blocks.domain.sizes), self._rows), gradient.dtype)

    def begin(self) -> None:
        """Take in where the rows stand, before the operations of a step."""
        for operation in self._before:
            operation()

    def finish(self) -> None:
        """Add the slopes of groups to those of their codes, after the operations of a step."""
        for operation in self._after:
            operation()

    def of(self, axis: Axis) -> Relaxed:
        """Where the probabilities of a column's codes, or of its groups, stand in a step."""
        name, starts = axis
        codes = self._blocks.probabilities[self._blocks.slices[name]]
        if starts is None:
            return codes
        if axis not in self._sums:
            sums = np.empty((len(starts), self._rows), codes.dtype)
            self._before.append(partial(np.add.reduceat, codes, starts, axis=0, out=sums))
            self._sums[axis] = sums
        return self._sums[axis]

    def product(self, half: Half, out: Relaxed) -> list[Operation]:
        """How the Khatri-Rao product of a half gets into `out`."""
        blocks = [self.of(axis) for axis in half]
        match blocks:
            case []:
                return [partial(out.fill, 1)]
            case [block]:
                return [partial(np.copyto, out, block)]
        shaped = out.reshape(-1, len(blocks[-1]), self._rows)
        if len(blocks) == 2:
            return [partial(np.multiply, blocks[0][:, None], blocks[1][None], shaped)]
        return [partial(_multiply, blocks, shaped)]

    def spread(self, half: Half, cotangent: Relaxed) -> list[Operation]:
        """How the cotangent of a half's product is added to the slopes of its columns."""
        if not half:
            return []
        slopes, blocks = [self._slope_of(axis) for axis in half], list(map(self.of, half))
        if len(half) == 1:
            return [partial(np.add, slopes[0], cotangent, slopes[0])]
        if len(half) > 2:
            return [partial(_spread, cotangent, blocks, slopes)]
        shaped = cotangent.reshape(len(blocks[0]), -1, self._rows)
        parts = [self._part[: len(block)] for block in blocks]
        return [
            partial(np.einsum, "xyr,yr->xr", shaped, blocks[1], out=parts[0]),
            partial(np.add, slopes[0], parts[0], slopes[0]),
            partial(np.einsum, "xyr,xr->yr", shaped, blocks[0], out=parts[1]),
            partial(np.add, slopes[1], parts[1], slopes[1]),
        ]

    def _slope_of(self, axis: Axis) -> Relaxed:
        """Where the gradient of a column's codes, or of its groups, is added up."""
        name, starts = axis
        of_codes = self._gradient[self._blocks.slices[name]]
        if starts is None:
            return of_codes
        if axis not in self._slopes_of_groups:
            slopes = np.empty((len(starts), self._rows), of_codes.dtype)
            widths = np.diff((*starts, len(of_codes)))
            group_of = np.repeat(np.arange(len(starts)), widths)
            self._before.append(partial(slopes.fill, 0))
            self._after.append(partial(_add_rows, of_codes, slopes, group_of))
            self._slopes_of_groups[axis] = slopes
        return self._slopes_of_groups[axis]


def _multiply(blocks: Sequence[Relaxed], shaped: Relaxed) -> None:
    np.multiply(khatri_rao(blocks[:-1])[:, None], blocks[-1][None], out=shaped)


def _spread(cotangent: Relaxed, blocks: Sequence[Relaxed], slopes: Sequence[Relaxed]) -> None:
    first, *rest = blocks
    of_first, *of_rest = slopes
    if not rest:
        of_first += cotangent
        return
    shaped = cotangent.reshape(len(first), -1, first.shape[1])
    of_first += np.einsum("xyr,yr->xr", shaped, khatri_rao(rest))
    _spread(np.einsum("xyr,xr->yr", shaped, first), rest, of_rest)


def _add_rows(total: Relaxed, rows: Relaxed, places: np.ndarray) -> None:
    total += rows.take(places, axis=0)
