"""Rows fitted to noisy marginals, by Adam on their logits; and what every fit takes and returns.

Written in NumPy on purpose. The set of marginals changes from round to round and no two have the
same shape, so a traced program would be compiled again and again. Here the work is in matrix
products (`gradient`), which BLAS does at full speed from the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dprap.errors import SettingsError
from dprap.relaxed.adam import Adam, FitSettings
from dprap.relaxed.blocks import Blocks
from dprap.relaxed.gradient import Gradient, Target
from dprap.relaxed.rows import RelaxedDataset

StepCallback: TypeAlias = Callable[[int, int], None]
"""Is told of every step: its number and how many there will be."""


def unwatched(step: int, steps: int) -> None:
    """Ignore steps."""


_Rows = TypeVar("_Rows")


@dataclass(frozen=True)
class FitResult(Generic[_Rows]):
    """What a fit gives: the rows, how far they are from the targets, and the optimiser's steps.

    `misfit` is the weighted sum of squared distances from the targets.
    """

    rows: _Rows
    misfit: float
    steps: int


_Targets = TypeVar("_Targets", contravariant=True)
_Settings = TypeVar("_Settings", contravariant=True)


class Fit(Protocol[_Rows, _Targets, _Settings]):
    """The form of every fit: `fit` here, `fit_queries`, `fit_families` and `fit_mixed` in `jax`."""

    def __call__(
        self,
        start: _Rows,
        targets: _Targets,
        settings: _Settings,
        /,
        *,
        watch: StepCallback = unwatched,
    ) -> FitResult[_Rows]:
        """Move rows from `start` towards the targets; `start` stays as it is."""
        ...


def fit(
    start: RelaxedDataset,
    targets: Sequence[Target],
    settings: FitSettings,
    *,
    watch: StepCallback = unwatched,
) -> FitResult[RelaxedDataset]:
    """Minimise ½ chi-square + kl_weight · mean of KL(row ‖ its prior) by Adam on logits.

    Args:
        start: Rows of equal weight, with logits.
        targets: The marginals to be met.
        settings: How long, how fast and how close to the prior.
        watch: Is told how many steps are done, of how many.

    Returns:
        The rows after the last step, with the chi-square before it.

    Raises:
        SettingsError: if the rows have no logits or different weights.

    """
    if start.logits is None or np.ptp(start.weights) != 0:
        raise SettingsError("this fit takes rows of equal weight that come with their logits.")
    logits, probabilities = start.logits.copy(), start.probabilities.copy()
    gradient = np.empty_like(logits)
    of_targets = Gradient(Blocks(start.domain, probabilities), targets, gradient)
    moving = Adam(start.domain, logits, probabilities, gradient, settings)
    chi_square = 0.0
    for step in range(1, settings.steps + 1):
        of_codes = moving.begin()
        if step < settings.steps:
            of_targets.add(of_codes)
        else:
            chi_square = of_targets.add_and_measure(of_codes)
        moving.step(of_codes, step)
        watch(step, settings.steps)
    rows = RelaxedDataset(start.domain, probabilities, start.weights, logits)
    return FitResult(rows, chi_square, settings.steps)
