"""Cells that rows miss by more than noise explains, and targets in which these count more.

A fit minimises a sum of squares over very many cells, so a few cells may stay ten standard
deviations off while the sum is as small as noise leaves it: the largest error is then the fit's and
not the noise's. The truth misses no cell by so much. So such cells get more weight until they are
within reach of the noise, as the multipliers of the constraints |rows − measured| ≤ limit · σ would
grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dprap.relaxed.blocks import Blocks
from dprap.relaxed.gradient import Target
from dprap.relaxed.rows import RelaxedDataset

# A cell's weight grows at most by the square of this at a time, so that weights stay within
# float32.
_MOST_AT_A_TIME = 10.0


@dataclass(frozen=True)
class Misses:
    """How far rows are from their targets.

    Args:
        misfit: The chi-square, with the weights that noise gives.
        largest: The largest miss: the distance of a cell from its target in standard deviations,
            times the square root of the cell's reliability.
        emphasised: The targets for another fit, in which missed cells count more.
    """

    misfit: float
    largest: float
    emphasised: list[Target]


def misses_of(
    rows: RelaxedDataset, targets: Sequence[Target], emphasised: Sequence[Target], *, limit: float
) -> Misses:
    """Look at every cell, and let those that are missed by more than `limit` count more, by
    (miss/limit)².

    Args:
        rows: The fitted rows.
        targets: What was measured, with the weights that noise gives.
        emphasised: The same targets with the weights that the rows were fitted with.
        limit: The largest miss that changes nothing.
    """
    blocks = Blocks(rows.domain, rows.probabilities)
    misfit, largest, found = 0.0, 0.0, []
    for target, before in zip(targets, emphasised, strict=True):
        misses = np.abs(blocks.shares(target.marginal) - target.shares) * np.sqrt(target.weights)
        misfit += float(np.vdot(misses, misses))
        largest = max(largest, float(misses.max(initial=0.0)))
        weights = before.weights * np.clip(misses / limit, 1.0, _MOST_AT_A_TIME) ** 2
        found.append(Target(target.marginal, target.shares, weights.astype(np.float32)))
    return Misses(misfit, largest, found)
