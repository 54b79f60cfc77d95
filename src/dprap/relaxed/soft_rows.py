"""Relaxed rows by their logits, fitted to noisy marginals by Adam: the kernel of the adaptive mechanism.

Written in NumPy on purpose. The set of marginals changes from round to round and no two have the same shape, so a traced
program would be compiled again and again; here a marginal is two Khatri-Rao products and one matrix product, which BLAS
does at full speed from the first call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float32

from dprap.domain import Domain
from dprap.queries import Coarse, Partition
from dprap.queries.coarse import Starts
from dprap.relaxed.dataset import RelaxedDataset, uniform_weights

Block = Float32[np.ndarray, "coordinates rows"]
Axis = tuple[str, Starts]
"""A column, by code or by group of codes."""

_LOWEST_LOGIT = -25.0  # below this a probability is zero in float32 for all purposes, and could never come back


@dataclass(frozen=True)
class Target:
    """What the rows should say about a marginal: shares of all records, and how much each cell counts.

    `weights` are inverse variances of the shares, so that the weighted squared distance is a chi-square.
    """

    marginal: Partition
    shares: Float32[np.ndarray, "cells"]
    weights: Float32[np.ndarray, "cells"]


class SoftRows:
    """Rows whose columns have independent distributions softmax(logits), all of equal weight.

    `prior` are the logits to which a fit pulls: one line for all rows, or one for each; `start` those to which rows return.
    """

    def __init__(
        self, domain: Domain, one_way_shares: Sequence[np.ndarray], *, rows: int, jitter: float, seed: int
    ) -> None:
        self.domain = domain
        self.rows = rows
        self._slices = {name: slice(domain.offset(name), domain.offset(name) + domain.size(name)) for name in domain}
        self.prior: Block = np.log(np.concatenate(one_way_shares)).astype(np.float32)[:, None]
        gumbel = np.random.default_rng(seed).gumbel(size=(domain.onehot_size, rows)).astype(np.float32)
        self.start: Block = self.prior + np.float32(jitter) * gumbel
        self.logits: Block = self.start.copy()
        self.probabilities: Block = np.empty_like(self.logits)
        self._grouped: dict[Axis, Block] = {}
        self._grouped_gradients: dict[Axis, Block] = {}
        self.normalise()

    def restart(self) -> None:
        """Forget all fits."""
        self.logits[:] = self.start
        self.normalise()

    def normalise(self) -> None:
        """Probabilities from logits, and logits made log-probabilities."""
        self._grouped.clear()
        for block in self._slices.values():
            logits = self.logits[block]
            logits -= logits.max(axis=0)
            np.exp(logits, out=self.probabilities[block])
            total = self.probabilities[block].sum(axis=0)
            self.probabilities[block] /= total
            logits -= np.log(total)
            np.maximum(logits, _LOWEST_LOGIT, out=logits)

    def marginal(self, marginal: Partition) -> Float32[np.ndarray, "cells"]:
        """Shares of all cells."""
        axes = _axes(marginal)
        if len(axes) == 1:
            alone: Float32[np.ndarray, "cells"] = self._block(axes[0]).mean(axis=1)
            return alone
        left, right = self._halves(axes)
        return np.ravel(self._product(left) @ self._product(right).T) / np.float32(self.rows)

    def add_gradient(self, target: Target, gradient: Block) -> float:
        """Add rows · d/dp of ½ Σ w (marginal − shares)² to `gradient`, that of groups when `to_logits` is called; returns the sum without ½."""
        axes = _axes(target.marginal)
        if len(axes) == 1:
            residual = self._block(axes[0]).mean(axis=1) - target.shares
            weighted = target.weights * residual
            self._gradient_of(axes[0], gradient)[:] += weighted[:, None]
            return float(weighted @ residual)
        left, right = self._halves(axes)
        left_product, right_product = self._product(left), self._product(right)
        residual = left_product @ right_product.T
        residual /= self.rows
        residual -= target.shares.reshape(residual.shape)
        weighted = residual * target.weights.reshape(residual.shape)
        self._backward(left, weighted @ right_product, gradient)
        self._backward(right, weighted.T @ left_product, gradient)
        return float(np.vdot(weighted, residual))

    def to_logits(self, gradient: Block) -> None:
        """Turn a gradient by probabilities into one by logits, in place."""
        self.hand_on_to_codes(gradient)
        gradient *= self.probabilities
        for block in self._slices.values():
            gradient[block] -= self.probabilities[block] * gradient[block].sum(axis=0)

    def hand_on_to_codes(self, gradient: Block) -> None:
        """Add what was gathered for groups to the gradient of each of their codes."""
        for (name, starts), of_groups in self._grouped_gradients.items():
            widths = np.diff((*(starts or ()), self.domain.size(name)))
            gradient[self._slices[name]] += np.repeat(of_groups, widths, axis=0)
        self._grouped_gradients.clear()

    def relaxed(self) -> RelaxedDataset:
        """The rows as a relaxed data set."""
        return RelaxedDataset(self.domain, jnp.asarray(self.probabilities), uniform_weights(self.rows))

    def _block(self, axis: Axis) -> Block:
        """Probabilities of a column's codes, or of its groups: these are summed once after every step."""
        name, starts = axis
        codes = self.probabilities[self._slices[name]]
        if starts is None:
            return codes
        if axis not in self._grouped:
            self._grouped[axis] = np.add.reduceat(codes, starts, axis=0)
        return self._grouped[axis]

    def _gradient_of(self, axis: Axis, gradient: Block) -> Block:
        """Where the gradient of a column's codes, or of its groups, is added up; `to_logits` hands groups on to their codes."""
        name, starts = axis
        if starts is None:
            return gradient[self._slices[name]]
        if axis not in self._grouped_gradients:
            self._grouped_gradients[axis] = np.zeros((len(starts), self.rows), np.float32)
        return self._grouped_gradients[axis]

    def _product(self, axes: Sequence[Axis]) -> Block:
        """Khatri-Rao product of the columns' blocks: one line a cell."""
        product = self._block(axes[0])
        for axis in axes[1:]:
            product = (product[:, None, :] * self._block(axis)[None]).reshape(-1, self.rows)
        return product

    def _backward(self, axes: Sequence[Axis], cotangent: Block, gradient: Block) -> None:
        """Distribute the cotangent of a Khatri-Rao product over its columns."""
        first, rest = axes[0], axes[1:]
        of_first = self._gradient_of(first, gradient)
        if not rest:
            of_first += cotangent
            return
        shaped = cotangent.reshape(len(of_first), -1, self.rows)
        of_first += np.einsum("xyr,yr->xr", shaped, self._product(rest))
        self._backward(rest, np.einsum("xyr,xr->yr", shaped, self._block(first)), gradient)

    def _halves(self, axes: Sequence[Axis]) -> tuple[Sequence[Axis], Sequence[Axis]]:
        """A prefix and a suffix whose numbers of cells add up to as little as possible."""
        sizes = [self.domain.size(name) if starts is None else len(starts) for name, starts in axes]
        cut = min(range(1, len(axes)), key=lambda i: math.prod(sizes[:i]) + math.prod(sizes[i:]))
        return axes[:cut], axes[cut:]


def _axes(marginal: Partition) -> tuple[Axis, ...]:
    starts = marginal.neighbouring() if isinstance(marginal, Coarse) else (None,) * len(marginal.columns)
    return tuple(zip(marginal.columns, starts, strict=True))


def fit_rows(
    rows: SoftRows,
    targets: Sequence[Target],
    *,
    kl_weight: float,
    steps: int,
    learning_rate: float,
    cool_down: float = 0.0,
) -> float:
    """Adam on the logits for ½ chi-square + kl_weight · mean over rows of KL(row ‖ its prior).

    In the last `cool_down` share of the steps the learning rate falls to zero. Returns the chi-square before the last step.
    """
    first = np.zeros_like(rows.logits)
    second = np.zeros_like(rows.logits)
    chi_square = 0.0
    for step in range(1, steps + 1):
        gradient = np.float32(kl_weight) * (rows.logits - rows.prior)
        chi_square = sum(rows.add_gradient(target, gradient) for target in targets)
        rows.to_logits(gradient)
        first += np.float32(0.1) * (gradient - first)
        gradient *= gradient
        second += np.float32(0.001) * (gradient - second)
        rate = learning_rate
        if cool_down:
            rate *= min(1.0, (1 - step / (steps + 1)) / cool_down)
        scale = np.sqrt(second / np.float32(1 - 0.999**step)) + np.float32(1e-12)
        rows.logits -= np.float32(rate / (1 - 0.9**step)) * first / scale
        rows.normalise()
    return chi_square
