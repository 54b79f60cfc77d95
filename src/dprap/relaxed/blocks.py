"""Column blocks of rows that move: what a fit looks at again and again.

The rows have equal weight and stand in memory; groups of codes are summed once and kept until the
rows move. `shares` looks at one marginal, `relaxed.shares` at many of which the rows are not known
yet, `relaxed.gradient` at all marginals of a fit with their slopes. All three split columns and
multiply blocks by what is here and in `folding`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from dprap.array_types import Float32, Relaxed
from dprap.domain import Domain
from dprap.products import product
from dprap.queries import Marginal
from dprap.queries.code_groups import Starts
from dprap.relaxed.folding import khatri_rao
from dprap.relaxed.rows import column_slices

Axis: TypeAlias = tuple[str, Starts]
"""A column, by code or by group of codes."""


class Blocks:
    """Column blocks of rows of equal weight; blocks of groups are summed once and kept."""

    def __init__(self, domain: Domain, probabilities: Relaxed) -> None:
        self.domain = domain
        self.slices = column_slices(domain)
        self.probabilities = probabilities
        self._grouped: dict[Axis, Relaxed] = {}

    def of(self, axis: Axis) -> Relaxed:
        """Probabilities of a column's codes, or of its groups, in every row."""
        name, starts = axis
        codes = self.probabilities[self.slices[name]]
        if starts is None:
            return codes
        if axis not in self._grouped:
            self._grouped[axis] = np.add.reduceat(codes, starts, axis=0)
        return self._grouped[axis]

    def product(self, axes: Sequence[Axis]) -> Float32[np.ndarray, "cells rows"]:
        """The Khatri-Rao product of blocks; of no blocks, one cell that always is."""
        rows = self.probabilities.shape[1]
        blocks = [self.of(axis) for axis in axes] or [np.ones((1, rows), self.probabilities.dtype)]
        return np.asarray(khatri_rao(blocks))

    def cells(self, axes: Sequence[Axis]) -> int:
        """The number of cells over some columns, by code or by group."""
        return math.prod(
            self.domain.size(name) if starts is None else len(starts) for name, starts in axes
        )

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
        return np.ravel(product(self.product(left), self.product(right).T)) / np.float32(
            self.probabilities.shape[1]
        )


def axes_of(marginal: Marginal) -> tuple[Axis, ...]:
    """The columns of a marginal, each by code or by group."""
    return marginal.starts_by_column()
