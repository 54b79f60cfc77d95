"""Cells that the schema's constraints leave empty: known without noise, so that a fit need not
learn them.

A noisy count of an impossible cell is noise and nothing else. In every marginal that holds all
columns of a constraint such cells are fitted to zero, and count as much as a measurement with a
fraction of the noise would. A constraint whose columns no measured marginal holds gets a target of
its own, in which possible cells do not count. Rows then put next to no mass where records are drawn
again, and drawing again changes next to nothing.

Constraints are public, so this is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dprap.array_types import Bool
from dprap.domain import Domain
from dprap.queries import Marginal
from dprap.relaxed.gradient import Target
from dprap.schema import CodeConstraint

MOST_CELLS = 100_000
"""A constraint over more cells stays out of the fit: records that break it are only drawn again."""


class EmptyCells:
    """The impossible cells of all constraints.

    Args:
        constraints: What cannot occur.
        domain: The domain of the table.
        part_of_noise: The noise that an impossible cell counts with (`Rules.noise_of_empty_cells`).

    """

    def __init__(
        self, constraints: Sequence[CodeConstraint], domain: Domain, *, part_of_noise: float
    ) -> None:
        self._domain, self._part_of_noise = domain, part_of_noise
        small = [each for each in constraints if domain.size_of(each.columns) <= MOST_CELLS]
        self._tables = {each: each.forbidden() for each in small}

    def added_to(self, targets: Sequence[Target]) -> list[Target]:
        """The targets with impossible cells at zero, and targets of constraints that none of them
        holds.
        """
        if not self._tables:
            return list(targets)
        weight = (
            max(float(target.weights.max(initial=0.0)) for target in targets)
            / self._part_of_noise**2
        )
        held = {target.marginal.columns for target in targets if target.marginal.groups is None}
        found = [self._emptied(target, weight) for target in targets]
        for columns in dict.fromkeys(tuple(each.columns) for each in self._tables):
            if not any(set(columns) <= set(each) for each in held):
                marginal = Marginal(tuple(sorted(columns, key=self._domain.position)))
                cells = np.zeros(self._domain.size_of(marginal.columns), np.float32)
                found.append(self._emptied(Target(marginal, cells, cells.copy()), weight))
        return found

    def _emptied(self, target: Target, weight: float) -> Target:
        empty = self._cells(target.marginal)
        if empty is None:
            return target
        shares = np.where(empty, np.float32(0), target.shares)
        return Target(target.marginal, shares, np.where(empty, np.float32(weight), target.weights))

    def _cells(self, marginal: Marginal) -> Bool[np.ndarray, " cells"] | None:
        """Which cells of a marginal are impossible; None if it holds no constraint, or merges
        codes.
        """
        if marginal.groups is not None:
            return None
        sizes = [self._domain.size(name) for name in marginal.columns]
        found = None
        for constraint, table in self._tables.items():
            if not set(constraint.columns) <= set(marginal.columns):
                continue
            places = [marginal.columns.index(name) for name in constraint.columns]
            ordered = np.transpose(table, np.argsort(places))
            shape = [size if at in places else 1 for at, size in enumerate(sizes)]
            empty = np.broadcast_to(ordered.reshape(shape), sizes)
            found = empty if found is None else found | empty
        return None if found is None else np.ascontiguousarray(found).reshape(math.prod(sizes))
