"""Rows fitted to noisy marginals, by Adam on their logits; and what every fit takes and returns.

Written in NumPy on purpose. The set of marginals changes from round to round and no two have the
same shape, so a traced program would be compiled again and again. Here a marginal is two Khatri-Rao
products and one matrix product, which BLAS does at full speed from the first call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from jaxtyping import Float32

from dprap.array_types import Relaxed
from dprap.errors import SettingsError
from dprap.queries import Marginal
from dprap.relaxed.marginals import Axis, Blocks, axes_of
from dprap.relaxed.rows import RelaxedDataset, normalise_logits

# Adam's usual rates: how much of the moving averages of the gradient, and of its square, is new.
_NEW_GRADIENT = 0.1
_NEW_SQUARE = 0.001
# Keeps a coordinate without gradient from a division by zero.
_SMALLEST_STEP_SIZE = 1e-12


@dataclass(frozen=True)
class FitResult:
    """What a fit gives: the rows, how far they are from the targets, and the optimiser's steps.

    `misfit` is the weighted sum of squared distances from the targets.
    """

    rows: RelaxedDataset
    misfit: float
    steps: int


_Targets = TypeVar("_Targets", contravariant=True)
_Settings = TypeVar("_Settings", contravariant=True)


class Fit(Protocol[_Targets, _Settings]):
    """The form of every fit: `fit` here, `fit_queries` and `fit_families` in `jax`."""

    def __call__(self, start: RelaxedDataset, targets: _Targets, settings: _Settings, /) -> FitResult:
        """Move rows from `start` towards the targets; `start` stays as it is."""
        ...


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
class FitSettings:
    """How `fit` goes.

    Args:
        prior: Logits to which the rows are pulled: one column for all rows, or one for each row.
        kl_weight: The weight of that pull, against half a chi-square.
        steps: How many steps are taken; all of them are.
        learning_rate: About how far a logit moves in a step.
        cool_down: In this last share of the steps the learning rate falls to zero.

    """

    prior: Relaxed
    kl_weight: float
    steps: int
    learning_rate: float
    cool_down: float = 0.0


def fit(start: RelaxedDataset, targets: Sequence[Target], settings: FitSettings) -> FitResult:
    """Minimise ½ chi-square + kl_weight · mean of KL(row ‖ its prior) by Adam on logits.

    Args:
        start: Rows of equal weight, with logits.
        targets: The marginals to be met.
        settings: How long, how fast and how close to the prior.

    Returns:
        The rows after the last step, with the chi-square before it.

    Raises:
        SettingsError: if the rows have no logits or different weights.

    """
    moving = Descent(start)
    first = np.zeros_like(moving.logits)
    second = np.zeros_like(moving.logits)
    chi_square = 0.0
    for step in range(1, settings.steps + 1):
        gradient = np.float32(settings.kl_weight) * (moving.logits - settings.prior)
        chi_square = sum(moving.add_gradient(target, gradient) for target in targets)
        moving.to_logits(gradient)
        first += np.float32(_NEW_GRADIENT) * (gradient - first)
        gradient *= gradient
        second += np.float32(_NEW_SQUARE) * (gradient - second)
        rate = settings.learning_rate
        if settings.cool_down:
            rate *= min(1.0, (1 - step / (settings.steps + 1)) / settings.cool_down)
        size = np.sqrt(second / np.float32(1 - (1 - _NEW_SQUARE) ** step)) + np.float32(_SMALLEST_STEP_SIZE)
        moving.logits -= np.float32(rate / (1 - (1 - _NEW_GRADIENT) ** step)) * first / size
        moving.normalise()
    return FitResult(moving.rows(), chi_square, settings.steps)


class Descent:
    """Rows in the middle of a fit, changed in place, with the gradient of a marginal's misfit."""

    def __init__(self, start: RelaxedDataset) -> None:
        if start.logits is None or np.ptp(start.weights) != 0:
            raise SettingsError("this fit takes rows of equal weight that come with their logits.")
        self._start = start
        self.logits = start.logits.copy()
        self.probabilities = start.probabilities.copy()
        self.blocks = Blocks(start.domain, self.probabilities)
        self._grouped_gradients: dict[Axis, Relaxed] = {}

    def rows(self) -> RelaxedDataset:
        """The rows as they are now."""
        return RelaxedDataset(self._start.domain, self.probabilities, self._start.weights, self.logits)

    def normalise(self) -> None:
        """Make the logits logarithms of probabilities again, after they were moved."""
        self.blocks.forget()
        normalise_logits(self.blocks.slices, self.logits, self.probabilities)

    def add_gradient(self, target: Target, gradient: Relaxed) -> float:
        """Add the gradient of ½ Σ w·(marginal − target)², and return the sum without ½.

        The gradient is with respect to the probabilities, times the number of rows. That of grouped
        columns is kept aside: call `to_logits` after the last target.
        """
        axes = axes_of(target.marginal)
        if len(axes) == 1:
            residual = self.blocks.of(axes[0]).mean(axis=1) - target.shares
            weighted = target.weights * residual
            self._gradient_of(axes[0], gradient)[:] += weighted[:, None]
            return float(weighted @ residual)
        left, right = self.blocks.halves(axes)
        left_product, right_product = self.blocks.product(left), self.blocks.product(right)
        residual = left_product @ right_product.T
        residual /= self._start.rows
        residual -= target.shares.reshape(residual.shape)
        weighted = residual * target.weights.reshape(residual.shape)
        self._backward(left, weighted @ right_product, gradient)
        self._backward(right, weighted.T @ left_product, gradient)
        return float(np.vdot(weighted, residual))

    def to_logits(self, gradient: Relaxed) -> None:
        """Turn a gradient by probabilities into one by logits, in place."""
        self.add_grouped(gradient)
        gradient *= self.probabilities
        for block in self.blocks.slices.values():
            gradient[block] -= self.probabilities[block] * gradient[block].sum(axis=0)

    def add_grouped(self, gradient: Relaxed) -> None:
        """Add the gradient of every group to that of each of its codes."""
        for (name, starts), of_groups in self._grouped_gradients.items():
            widths = np.diff((*(starts or ()), self.blocks.domain.size(name)))
            gradient[self.blocks.slices[name]] += np.repeat(of_groups, widths, axis=0)
        self._grouped_gradients.clear()

    def _gradient_of(self, axis: Axis, gradient: Relaxed) -> Relaxed:
        """Where the gradient of a column's codes, or of its groups, is added up."""
        name, starts = axis
        if starts is None:
            return gradient[self.blocks.slices[name]]
        if axis not in self._grouped_gradients:
            self._grouped_gradients[axis] = np.zeros((len(starts), self._start.rows), np.float32)
        return self._grouped_gradients[axis]

    def _backward(self, axes: Sequence[Axis], cotangent: Relaxed, gradient: Relaxed) -> None:
        """Distribute the cotangent of a Khatri-Rao product over its columns."""
        first, rest = axes[0], axes[1:]
        of_first = self._gradient_of(first, gradient)
        if not rest:
            of_first += cotangent
            return
        shaped = cotangent.reshape(len(of_first), -1, self._start.rows)
        of_first += np.einsum("xyr,yr->xr", shaped, self.blocks.product(rest))
        self._backward(rest, np.einsum("xyr,xr->yr", shaped, self.blocks.of(first)), gradient)
