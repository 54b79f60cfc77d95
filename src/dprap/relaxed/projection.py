r"""Relaxed projection (the paper's Algorithm 1): relaxed rows whose answers come closest to noisy ones.

Minimises \(\sum_i w_i (q_i(D') - \hat a_i)^2\) over relaxed rows. With sparsemax, as in the paper, the optimiser moves the
probabilities themselves and every step ends with the projection onto the simplex, from which the next one starts; with
softmax it moves logits. The whole loop is one compiled program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Float

from dprap.array_types import Relaxed
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.relaxed.batch import QueryBatch
from dprap.relaxed.dataset import RelaxedDataset
from dprap.relaxed.layout import ColumnLayout, Packed, layout_of
from dprap.relaxed.optimizer import shared_scale_momentum
from dprap.relaxed.simplex import shrink, softmax_packed, sparsemax, thresholds

Normalisation = Literal["sparsemax", "softmax"]

_STEP_TOLERANCE = 1e-4
"""Sums may be this far from one before the last Newton step of a projection between optimiser steps."""

_SMALLEST_LOGIT = -12.0
RETRIES = 3
RETRY_SCALE = 0.1
HALVINGS = 5
"""How often steps are halved where the loss no longer falls, before a projection ends."""


@dataclass(frozen=True)
class ProjectionSettings:
    """How to project.

    `optimizer` may be any optax gradient transformation, such as the paper's `optax.adam(1e-3)`; without one it is
    `shared_scale_momentum(learning_rate)` (Adam with softmax), which leaves smaller errors on ADULT's unselected queries
    than Adam did. The loss is looked at every `window` steps: whenever it has not fallen by the fraction `tolerance` below
    the best, steps are halved, and the sixth time the projection ends. It also ends at the floor given with the call.
    """

    optimizer: optax.GradientTransformation | None = None
    learning_rate: float = 0.1
    max_steps: int = 5000
    window: int = 50
    tolerance: float = 1e-7
    normalisation: Normalisation = "sparsemax"

    def __post_init__(self) -> None:
        if self.max_steps < 1 or self.window < 1:
            raise SettingsError("max_steps and window of a projection must be at least 1.")
        if not 0 < self.learning_rate < float("inf"):
            raise SettingsError(f"the learning rate must be a positive number; it is {self.learning_rate}.")
        if not 0 <= self.tolerance < 1:
            raise SettingsError(f"the tolerance of a projection must be in [0, 1); it is {self.tolerance}.")
        if self.normalisation not in ("sparsemax", "softmax"):
            raise SettingsError(f"normalisation must be sparsemax or softmax, not {self.normalisation!r}.")


@dataclass(frozen=True)
class ProjectionResult:
    """The best relaxed rows met, their loss, and the steps taken."""

    relaxed: RelaxedDataset
    loss: float
    steps: int


class DivergedError(SettingsError):
    """A projection whose loss is not finite, even with smaller steps."""


def project(
    start: RelaxedDataset,
    batch: QueryBatch,
    targets: Float[np.ndarray, "answers"],
    query_weights: Float[np.ndarray, "answers"],
    settings: ProjectionSettings,
    *,
    floor: float = 0.0,
) -> ProjectionResult:
    """Fit relaxed rows to the targets, starting from `start`.

    `targets` and `query_weights` are in the order of the batch's answers; padding has weight zero. If the loss stops being
    finite the fit starts again from the best rows so far with steps a tenth as long, three times at most.
    """
    layout = layout_of(start.domain)
    optimizer = settings.optimizer or default_optimizer(settings.learning_rate, settings.normalisation)
    packed = layout.pack(start.probabilities)
    problem = _Problem(batch, jnp.asarray(targets, jnp.float32), jnp.asarray(query_weights, jnp.float32), start.weights)
    shape = _Shape(layout, optimizer, settings.normalisation, settings.max_steps, settings.window, settings.tolerance)
    steps, scale = 0, 1.0
    for _ in range(RETRIES + 1):
        end = _fit(packed, problem, jnp.float32(floor), jnp.float32(scale), shape)
        steps += int(end.step)
        if bool(end.finite):
            # Between steps, rows are distributions up to a small tolerance; the result is one up to rounding.
            probabilities = _normalised(layout.unpack(end.best), start.domain, settings.normalisation)
            relaxed = RelaxedDataset(start.domain, probabilities, start.weights)
            return ProjectionResult(relaxed, float(end.best_loss), steps)
        packed, scale = end.best, scale * RETRY_SCALE
    raise DivergedError(
        f"the projection diverged: its loss is not finite after {steps} steps, the last of them with a "
        f"{scale / RETRY_SCALE:g} times smaller step. Lower the learning rate or choose another optimizer."
    )


@partial(jax.jit, static_argnums=(1, 2))
def _normalised(rows: Relaxed, domain: Domain, normalisation: Normalisation) -> Relaxed:
    return rows if normalisation == "softmax" else sparsemax(rows, domain)


@cache
def default_optimizer(learning_rate: float, normalisation: Normalisation) -> optax.GradientTransformation:
    """Return the same object for the same settings, so that compiled fits are shared."""
    # Softmax scales the gradient of a logit by its probability, which only Adam makes up for.
    return optax.adam(learning_rate) if normalisation == "softmax" else shared_scale_momentum(learning_rate)


class _Problem(NamedTuple):
    batch: QueryBatch
    targets: jax.Array
    query_weights: jax.Array
    row_weights: jax.Array


class _Shape(NamedTuple):
    """What a compiled fit depends on, besides shapes of arrays."""

    layout: ColumnLayout
    optimizer: optax.GradientTransformation
    normalisation: Normalisation
    max_steps: int
    window: int
    tolerance: float


class _State(NamedTuple):
    iterate: Packed
    memory: Any
    step: jax.Array
    best: Packed
    best_loss: jax.Array
    scale: jax.Array
    plateaus: jax.Array
    finite: jax.Array


_Step = Callable[[Packed, Any, jax.Array], tuple[Packed, Any]]


@partial(jax.jit, static_argnums=4)
def _fit(packed: Packed, problem: _Problem, floor: jax.Array, scale: jax.Array, shape: _Shape) -> _State:
    layout = shape.layout
    # Padding lies beyond the last slot: read as zero, dropped on writing.
    slots = jnp.asarray(np.append(layout.slots, layout.size))[problem.batch.coordinates]

    def read(probabilities: Packed) -> jax.Array:
        return probabilities.at[slots].get(mode="fill", fill_value=0)

    def loss(touched: jax.Array) -> jax.Array:
        answers = problem.batch.answers(touched, problem.row_weights)
        return jnp.sum(problem.query_weights * (answers - problem.targets) ** 2)

    def update(parameters: jax.Array, gradient: jax.Array, memory: Any, scale: jax.Array) -> tuple[jax.Array, Any]:
        updates, memory = shape.optimizer.update(gradient, memory, parameters)
        return parameters + scale * updates, memory

    def sparsemax_step(probabilities: Packed, memory: Any, scale: jax.Array) -> tuple[Packed, Any]:
        # Coordinates that no query reads have no gradient: the optimiser sees the others alone.
        touched = read(probabilities)
        touched, memory = update(touched, jax.grad(loss)(touched), memory, scale)
        moved = probabilities.at[slots].set(touched, mode="drop", unique_indices=True)
        start = jnp.zeros((len(layout.domain), moved.shape[1]), moved.dtype)
        return shrink(moved, layout, thresholds(moved, layout, start, _STEP_TOLERANCE)), memory

    def softmax_step(logits: Packed, memory: Any, scale: jax.Array) -> tuple[Packed, Any]:
        gradient = jax.grad(lambda logits: loss(read(softmax_packed(logits, layout))))(logits)
        return update(logits, gradient, memory, scale)

    if shape.normalisation == "softmax":
        step: _Step = softmax_step
        iterate = jnp.maximum(jnp.log(jnp.maximum(packed, 0)), _SMALLEST_LOGIT)
        iterate = jnp.where(layout.is_padding[:, None], packed, iterate)
        memory = shape.optimizer.init(iterate)

        def normalised(iterate: Packed) -> Packed:
            return jnp.where(layout.is_padding[:, None], packed, softmax_packed(iterate, layout))
    else:
        step, iterate, memory = sparsemax_step, packed, shape.optimizer.init(read(packed))

        def normalised(iterate: Packed) -> Packed:
            return iterate

    def unfinished(state: _State) -> jax.Array:
        more = (state.plateaus <= HALVINGS) & (state.step < shape.max_steps) & (state.best_loss > floor)
        return more & state.finite

    def advance(state: _State) -> _State:
        window = jnp.minimum(shape.window, shape.max_steps - state.step)
        iterate, memory = lax.fori_loop(
            0, window, lambda _, pair: step(pair[0], pair[1], state.scale), (state.iterate, state.memory)
        )
        reached = normalised(iterate)
        reached_loss = loss(read(reached))
        better = reached_loss < state.best_loss
        plateau = reached_loss >= (1 - shape.tolerance) * state.best_loss
        return _State(
            iterate,
            memory,
            state.step + window,
            lax.cond(better, lambda: reached, lambda: state.best),
            jnp.where(better, reached_loss, state.best_loss),
            jnp.where(plateau, state.scale / 2, state.scale),
            state.plateaus + plateau,
            jnp.isfinite(reached_loss),
        )

    start_loss = loss(read(packed))
    start = _State(
        iterate,
        memory,
        jnp.asarray(0),
        packed,
        start_loss,
        scale,
        jnp.asarray(0),
        jnp.isfinite(start_loss),
    )
    return lax.while_loop(unfinished, advance, start)
