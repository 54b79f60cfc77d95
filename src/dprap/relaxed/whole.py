"""Projection on all answers of whole families, one family at a time, for workloads measured in full.

The gradient of a family is two matrix products, like its cell table; families are taken one by one, so memory holds the
targets and one family's table and factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Float32

from dprap.array_types import Answers, Relaxed
from dprap.domain import Domain
from dprap.queries import Custom, Family
from dprap.relaxed.dataset import RelaxedDataset
from dprap.relaxed.evaluate import Fold
from dprap.relaxed.projection import (
    HALVINGS,
    RETRIES,
    RETRY_SCALE,
    DivergedError,
    ProjectionResult,
    ProjectionSettings,
    default_optimizer,
)
from dprap.relaxed.simplex import softmax, sparsemax

_SMALLEST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class FamilyTargets:
    """A family with target answers, as fractions."""

    family: Family
    fractions: Answers


def project_families(
    start: RelaxedDataset, targets: Sequence[FamilyTargets], settings: ProjectionSettings, *, floor: float = 0.0
) -> ProjectionResult:
    """Fit relaxed rows to target answers of whole families; settings and retries are those of `project`."""
    best, best_loss, steps, scale = start, math.inf, 0, 1.0
    for _ in range(RETRIES + 1):
        end = _fit(best, targets, settings, floor, scale)
        steps += end.steps
        if end.loss < best_loss:
            best, best_loss = end.relaxed, end.loss
        if end.finite:
            return ProjectionResult(best, best_loss, steps)
        scale *= RETRY_SCALE
    raise DivergedError(
        f"the projection diverged: its loss is not finite after {steps} steps, the last of them with a "
        f"{scale / RETRY_SCALE:g} times smaller step. Lower the learning rate or choose another optimizer."
    )


class _End(NamedTuple):
    relaxed: RelaxedDataset
    loss: float
    steps: int
    finite: bool


def _fit(
    start: RelaxedDataset,
    targets: Sequence[FamilyTargets],
    settings: ProjectionSettings,
    floor: float,
    scale: float,
) -> _End:
    optimizer = settings.optimizer or default_optimizer(settings.learning_rate, settings.normalisation)
    softmaxed = settings.normalisation == "softmax"
    iterate = jnp.log(start.probabilities.clip(_SMALLEST_PROBABILITY)) if softmaxed else start.probabilities
    memory = optimizer.init(iterate)
    best, best_loss, last_loss = start, math.inf, math.inf
    steps, plateaus = 0, 0
    while steps < settings.max_steps:
        rows = _softmax(iterate, start.domain) if softmaxed else iterate
        loss, gradient = 0.0, jnp.zeros_like(rows)
        for target in targets:
            part, slope = _family_loss(rows, start.weights, target.fractions, start.domain, target.family)
            loss, gradient = loss + float(part), gradient + slope
        if not math.isfinite(loss):
            return _End(best, best_loss, steps, finite=False)
        if loss < best_loss:
            best, best_loss = RelaxedDataset(start.domain, rows, start.weights), loss
        if best_loss <= floor:
            break
        if steps % settings.window == 0:
            if best_loss >= (1 - settings.tolerance) * last_loss:
                plateaus, scale = plateaus + 1, scale / 2
                if plateaus > HALVINGS:
                    break
            last_loss = best_loss
        iterate, memory = _step(iterate, gradient, memory, jnp.float32(scale), start.domain, optimizer, softmaxed)
        steps += 1
    return _End(best, best_loss, steps, finite=True)


_softmax = jax.jit(softmax, static_argnums=1)


@partial(jax.jit, static_argnums=(4, 5, 6))
def _step(
    iterate: Relaxed,
    gradient: Relaxed,
    memory: optax.OptState,
    scale: jax.Array,
    domain: Domain,
    optimizer: optax.GradientTransformation,
    softmaxed: bool,
) -> tuple[Relaxed, optax.OptState]:
    if softmaxed:
        _, pull = jax.vjp(lambda logits: softmax(logits, domain), iterate)
        (gradient,) = pull(gradient)
    updates, memory = optimizer.update(gradient, memory, iterate)
    moved = iterate + scale * updates
    return (moved if softmaxed else sparsemax(moved, domain)), memory


@partial(jax.jit, static_argnums=(3, 4))
@partial(jax.value_and_grad, argnums=0)
def _family_loss(
    rows: Relaxed, weights: jax.Array, fractions: Float32[jax.Array, "queries"], domain: Domain, family: Family
) -> jax.Array:
    if isinstance(family, Custom):
        answered = family.values(domain, rows) @ weights
    else:
        # Families use methods that NumPy and JAX arrays share.
        table: Any = _table(rows, weights, domain, family.columns)
        answered = jnp.asarray(family.answers(table).reshape(-1))
    return jnp.sum((answered - fractions) ** 2)


def _table(rows: Relaxed, weights: jax.Array, domain: Domain, columns: tuple[str, ...]) -> jax.Array:
    """Cell table of some columns as one matrix product of two factors; differentiable."""
    fold = Fold.of(domain, columns)

    def factor(names: tuple[str, ...]) -> jax.Array:
        product = jnp.ones((1, rows.shape[1]), rows.dtype)
        for name in names:
            block = rows[domain.offset(name) : domain.offset(name) + domain.size(name)]
            product = (product[:, None] * block[None]).reshape(-1, rows.shape[1])
        return product

    table = (factor(fold.left) * weights) @ factor(fold.right).T
    names = (*fold.left, *fold.right)
    return table.reshape(domain.shape_of(names)).transpose([names.index(name) for name in columns])
