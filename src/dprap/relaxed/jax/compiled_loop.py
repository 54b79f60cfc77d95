"""The compiled loop of a relaxed projection: one program for all steps between two looks.

`projection` says what is fitted and when it ends. Limits are traced, so that other limits, seeds or
targets of the same shape need no other program.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from dprap.compiled import compiled
from dprap.relaxed.jax.layout import ColumnLayout, Packed
from dprap.relaxed.jax.queries import QueryBatch
from dprap.relaxed.jax.sparsemax import Tied, shrink, softmax_packed, thresholds
from dprap.relaxed.jax.tied import Iterate

Normalisation = Literal["sparsemax", "softmax"]

# Sums may be this far from one before the last Newton step of a projection between optimiser steps.
_STEP_TOLERANCE = 1e-4
# A logit below this is as good as minus infinity, but can still come back.
_SMALLEST_LOGIT = -12.0


class Problem(NamedTuple):
    """What to fit; `slots` are those of the batch's coordinates, `tied_counts` codes that share a
    probability.
    """

    batch: QueryBatch
    slots: jax.Array
    targets: jax.Array
    query_weights: jax.Array
    row_weights: jax.Array
    tied_counts: jax.Array


class Shape(NamedTuple):
    """What a compiled fit depends on, besides shapes of arrays."""

    layout: ColumnLayout
    optimizer: optax.GradientTransformation
    normalisation: Normalisation


class Limits(NamedTuple):
    """When a fit ends. These are traced, so that other limits need no other program."""

    max_steps: jax.Array
    window: jax.Array
    kept: jax.Array
    floor: jax.Array
    halvings: jax.Array
    keeps_last: jax.Array


class State(NamedTuple):
    """Where a fit is: the rows and the optimiser's memory, and the best rows met."""

    iterate: Iterate
    memory: Any
    step: jax.Array
    best: Iterate
    best_loss: jax.Array
    scale: jax.Array
    plateaus: jax.Array
    finite: jax.Array


class Program:
    """The steps of a fit, to be compiled."""

    def __init__(self, begin: Iterate, problem: Problem, shape: Shape) -> None:
        self._problem, self._shape = problem, shape
        self._begin, self._padding = begin, shape.layout.is_padding[:, None]

    def start(self, scale: jax.Array) -> State:
        """The state before the first step."""
        begin, iterate = self._begin, self._begin
        if self._shape.normalisation == "softmax":
            kept = jnp.maximum(jnp.log(jnp.maximum(begin.kept, 0)), _SMALLEST_LOGIT)
            iterate = Iterate(jnp.where(self._padding, begin.kept, kept), begin.tied)
            memory = self._shape.optimizer.init(iterate.kept)
        else:
            memory = self._shape.optimizer.init(self._read(begin.kept))
        start_loss = self._loss(self._read(begin.kept))
        return State(
            iterate,
            memory,
            # of the type that the loop gives them, so that it is compiled once
            jnp.zeros((), jnp.int32),
            begin,
            start_loss,
            scale,
            jnp.zeros((), jnp.int32),
            jnp.isfinite(start_loss),
        )

    def advance(self, state: State, limits: Limits) -> State:
        """The state after one window of steps."""
        step = self._softmax if self._shape.normalisation == "softmax" else self._sparsemax
        window = jnp.minimum(limits.window, limits.max_steps - state.step)
        iterate, memory = lax.fori_loop(
            0,
            window,
            lambda _, pair: step(pair[0], pair[1], state.scale),
            (state.iterate, state.memory),
        )
        reached = self._normalised(iterate)
        reached_loss = self._loss(self._read(reached.kept))
        better = (reached_loss < state.best_loss) | (limits.keeps_last & jnp.isfinite(reached_loss))
        plateau = reached_loss >= limits.kept * state.best_loss
        return State(
            iterate,
            memory,
            state.step + window,
            lax.cond(better, lambda: reached, lambda: state.best),
            jnp.where(better, reached_loss, state.best_loss),
            jnp.where(plateau, state.scale / 2, state.scale),
            state.plateaus + plateau,
            jnp.isfinite(reached_loss),
        )

    def _read(self, probabilities: Packed) -> jax.Array:
        return probabilities.at[self._problem.slots].get(mode="fill", fill_value=0)

    def _loss(self, touched: jax.Array) -> jax.Array:
        problem = self._problem
        answers = problem.batch.answers(touched, problem.row_weights)
        return jnp.sum(problem.query_weights * (answers - problem.targets) ** 2)

    def _update(
        self, parameters: jax.Array, gradient: jax.Array, memory: Any, scale: jax.Array
    ) -> tuple[jax.Array, Any]:
        updates, memory = self._shape.optimizer.update(gradient, memory, parameters)
        return parameters + scale * updates, memory

    def _sparsemax(self, rows: Iterate, memory: Any, scale: jax.Array) -> tuple[Iterate, Any]:
        # Coordinates that no query reads have no gradient: the optimiser sees the others alone.
        problem, layout = self._problem, self._shape.layout
        touched = self._read(rows.kept)
        touched, memory = self._update(touched, jax.grad(self._loss)(touched), memory, scale)
        moved = rows.kept.at[problem.slots].set(touched, mode="drop", unique_indices=True)
        tied = Tied(rows.tied, problem.tied_counts)
        threshold = thresholds(moved, layout, jnp.zeros_like(rows.tied), _STEP_TOLERANCE, tied)
        return (
            Iterate(shrink(moved, layout, threshold), jnp.maximum(rows.tied - threshold, 0)),
            memory,
        )

    def _softmax(self, logits: Iterate, memory: Any, scale: jax.Array) -> tuple[Iterate, Any]:
        layout = self._shape.layout
        gradient = jax.grad(lambda kept: self._loss(self._read(softmax_packed(kept, layout))))(
            logits.kept
        )
        kept, memory = self._update(logits.kept, gradient, memory, scale)
        return Iterate(kept, logits.tied), memory

    def _normalised(self, iterate: Iterate) -> Iterate:
        if self._shape.normalisation == "sparsemax":
            return iterate
        kept = softmax_packed(iterate.kept, self._shape.layout)
        return Iterate(jnp.where(self._padding, self._begin.kept, kept), iterate.tied)


def _is_unfinished(state: State, limits: Limits) -> jax.Array:
    more = (
        (state.plateaus <= limits.halvings)
        & (state.step < limits.max_steps)
        & (state.best_loss > limits.floor)
    )
    return more & state.finite


@compiled(3)
def begun(begin: Iterate, problem: Problem, scale: jax.Array, shape: Shape) -> State:
    """The state before the first step, compiled."""
    return Program(begin, problem, shape).start(scale)


@compiled(5)
def gone_on(
    begin: Iterate,
    state: State,
    problem: Problem,
    limits: Limits,
    until: jax.Array,
    shape: Shape,
) -> tuple[State, jax.Array]:
    """The state after some more steps, and whether there are more to be made."""
    program = Program(begin, problem, shape)
    reached = lax.while_loop(
        lambda state: _is_unfinished(state, limits) & (state.step < until),
        lambda state: program.advance(state, limits),
        state,
    )
    return reached, _is_unfinished(reached, limits)
