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
from dprap.relaxed.dataset import RelaxedDataset, uniform_weights

Block = Float32[np.ndarray, "coordinates rows"]
_LOWEST_LOGIT = -25.0  # below this a probability is zero in float32 for all purposes, and could never come back


@dataclass(frozen=True)
class Target:
    """What the rows should say about a marginal: shares of all records, and how much each cell counts.

    `weights` are inverse variances of the shares, so that the weighted squared distance is a chi-square.
    """

    columns: tuple[str, ...]
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
        self.normalise()

    def restart(self) -> None:
        """Forget all fits."""
        self.logits[:] = self.start
        self.normalise()

    def normalise(self) -> None:
        """Probabilities from logits, and logits made log-probabilities."""
        for block in self._slices.values():
            logits = self.logits[block]
            logits -= logits.max(axis=0)
            np.exp(logits, out=self.probabilities[block])
            total = self.probabilities[block].sum(axis=0)
            self.probabilities[block] /= total
            logits -= np.log(total)
            np.maximum(logits, _LOWEST_LOGIT, out=logits)

    def marginal(self, columns: Sequence[str]) -> Float32[np.ndarray, "cells"]:
        """Shares of all cells over some columns."""
        if len(columns) == 1:
            alone: Float32[np.ndarray, "cells"] = self._block(columns[0]).mean(axis=1)
            return alone
        left, right = _halves(self.domain, columns)
        return np.ravel(self._product(left) @ self._product(right).T) / np.float32(self.rows)

    def add_gradient(self, target: Target, gradient: Block) -> float:
        """Add rows · d/dp of ½ Σ w (marginal − shares)² to `gradient`; returns that sum without the ½."""
        if len(target.columns) == 1:
            (name,) = target.columns
            residual = self._block(name).mean(axis=1) - target.shares
            weighted = target.weights * residual
            gradient[self._slices[name]] += weighted[:, None]
            return float(weighted @ residual)
        left, right = _halves(self.domain, target.columns)
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
        gradient *= self.probabilities
        for block in self._slices.values():
            gradient[block] -= self.probabilities[block] * gradient[block].sum(axis=0)

    def relaxed(self) -> RelaxedDataset:
        """The rows as a relaxed data set."""
        return RelaxedDataset(self.domain, jnp.asarray(self.probabilities), uniform_weights(self.rows))

    def _block(self, name: str) -> Block:
        return self.probabilities[self._slices[name]]

    def _product(self, columns: Sequence[str]) -> Block:
        """Khatri-Rao product of the columns' blocks: one line a cell."""
        product = self._block(columns[0])
        for name in columns[1:]:
            product = (product[:, None, :] * self._block(name)[None]).reshape(-1, self.rows)
        return product

    def _backward(self, columns: Sequence[str], cotangent: Block, gradient: Block) -> None:
        """Distribute the cotangent of a Khatri-Rao product over its columns."""
        first, rest = columns[0], columns[1:]
        if not rest:
            gradient[self._slices[first]] += cotangent
            return
        shaped = cotangent.reshape(self.domain.size(first), -1, self.rows)
        gradient[self._slices[first]] += np.einsum("xyr,yr->xr", shaped, self._product(rest))
        self._backward(rest, np.einsum("xyr,xr->yr", shaped, self._block(first)), gradient)


def _halves(domain: Domain, columns: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """A prefix and a suffix whose numbers of cells add up to as little as possible."""
    cut = min(
        range(1, len(columns)), key=lambda i: math.prod(domain.shape_of(columns[:i])) + domain.size_of(columns[i:])
    )
    return columns[:cut], columns[cut:]


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
