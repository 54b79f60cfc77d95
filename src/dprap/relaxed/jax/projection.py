r"""Relaxed projection (the paper's Algorithm 1): rows whose answers come closest to noisy ones.

Minimises \(\sum_i w_i (q_i(D') - \hat a_i)^2\) over relaxed rows. With sparsemax, as in the paper,
the optimiser moves the probabilities themselves and every step ends with the projection onto the
simplex, from which the next one starts; with softmax it moves logits. The whole loop is one
compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from dprap.array_types import Answers, Float
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Custom, Query
from dprap.relaxed.fit import FitResult, StepCallback, unwatched
from dprap.relaxed.jax.layout import ColumnLayout, JaxRows, Packed, layout_of
from dprap.relaxed.jax.optimizer import shared_scale_momentum
from dprap.relaxed.jax.queries import QueryBatch, compile_queries
from dprap.relaxed.jax.sparsemax import Tied, shrink, softmax_packed, sparsemax, thresholds
from dprap.relaxed.jax.start import devices_named, on_devices
from dprap.relaxed.jax.tied import Iterate, TiedRows
from dprap.relaxed.rows import RelaxedDataset

Normalisation = Literal["sparsemax", "softmax"]

# Sums may be this far from one before the last Newton step of a projection between optimiser steps.
_STEP_TOLERANCE = 1e-4
# A logit below this is as good as minus infinity, but can still come back.
_SMALLEST_LOGIT = -12.0
# Steps after which the compiled loop comes back, to be told of: a second or two on LOANS.
_STEPS_BETWEEN_LOOKS = 250
# How often a fit whose loss is not finite starts again, and by what its steps are shortened each
# time.
RETRIES = 3
RETRY_SCALE = 0.1


@dataclass(frozen=True)
class ProjectionSettings:
    """How to project.

    Attributes:
        optimizer: `momentum` is `shared_scale_momentum(learning_rate)` (Adam with softmax), which
            leaves smaller errors on ADULT's unselected queries than Adam did; `adam` is Adam; or
            any optax gradient transformation.
        learning_rate: The length of a step.
        max_steps: The most steps of a projection.
        window: The loss is looked at every so many steps.
        tolerance: Where the loss has not fallen by this fraction below that of the rows kept, steps
            are halved.
        halvings: How often steps are halved before a projection ends; 0 ends it the first time.
        keep: The rows with the smallest loss met, `best`, or the `last`. The loss is compared with
            theirs.
        normalisation: `sparsemax` or `softmax`.
        device: Where it is computed, see `dprap.relaxed.jax.start.devices_named`.

    A projection also ends at the floor that comes with the targets.
    """

    optimizer: optax.GradientTransformation | Literal["momentum", "adam"] = "momentum"
    learning_rate: float = 0.1
    max_steps: int = 5000
    window: int = 50
    tolerance: float = 1e-7
    halvings: int = 5
    keep: Literal["best", "last"] = "best"
    normalisation: Normalisation = "sparsemax"
    device: str | None = None

    def __post_init__(self) -> None:
        if self.max_steps < 1 or self.window < 1 or self.halvings < 0:
            raise SettingsError(
                "max_steps and window of a projection must be at least 1, halvings at least 0."
            )
        if isinstance(self.optimizer, str) and self.optimizer not in ("momentum", "adam"):
            raise SettingsError(
                f"optimizer must be momentum, adam or one of optax, not {self.optimizer!r}."
            )
        if self.keep not in ("best", "last"):
            raise SettingsError(f"keep must be best or last, not {self.keep!r}.")
        if not 0 < self.learning_rate < float("inf"):
            raise SettingsError(
                f"the learning rate must be a positive number; it is {self.learning_rate}."
            )
        if not 0 <= self.tolerance < 1:
            raise SettingsError(
                f"the tolerance of a projection must be in [0, 1); it is {self.tolerance}."
            )
        if self.normalisation not in ("sparsemax", "softmax"):
            raise SettingsError(
                f"normalisation must be sparsemax or softmax, not {self.normalisation!r}."
            )


PAPER = ProjectionSettings(optimizer="adam", learning_rate=1e-3, window=1, halvings=0, keep="last")
"""The paper's: Adam with learning rate .001, at most 5,000 steps, ended by the first step that
lowers the loss by less than a fraction of 10^-7, and the rows that this step reached.
"""


class DivergedError(SettingsError):
    """A projection whose loss is not finite, even with smaller steps."""


@dataclass(frozen=True)
class QueryTargets:
    """Queries with the answers they should have; a fit ends once its loss is at most `floor`.

    `fractions` and `weights` are in the order of the batch's answers; padding has weight zero.
    """

    batch: QueryBatch
    fractions: Float[np.ndarray, " answers"]
    weights: Float[np.ndarray, " answers"]
    floor: float = 0.0

    @classmethod
    def of(
        cls,
        domain: Domain,
        queries: Sequence[Query],
        fractions: Sequence[float] | Answers,
        *,
        custom: tuple[Custom, ...] = (),
        floor: float = 0.0,
    ) -> QueryTargets:
        """Compile queries that all count alike; `custom` as in `compile_queries`."""
        batch, places = compile_queries(domain, queries, custom=custom)
        targets, weights = np.zeros(batch.size), np.zeros(batch.size)
        targets[places], weights[places] = fractions, 1
        return cls(batch, targets, weights, floor)


def fit_queries(
    start: RelaxedDataset,
    targets: QueryTargets,
    settings: ProjectionSettings,
    *,
    watch: StepCallback = unwatched,
) -> FitResult:
    """Fit relaxed rows to the answers of selected queries, starting from `start`.

    Args:
        start: Where the rows begin; their weights stay.
        targets: Queries, wanted answers and the loss at which it is enough.
        settings: Optimiser, length and normalisation.
        watch: Is told now and then how many steps are done, of how many at most.

    Returns:
        The best rows met, or the last.

    Raises:
        DivergedError: if the loss is not finite, also after three starts with ever shorter steps.

    """
    # A softmax moves every code of a column in its own way: nothing stays tied.
    shrinks = settings.normalisation == "sparsemax"
    rows = TiedRows.of(
        start.probabilities, start.domain, np.asarray(targets.batch.coordinates), shrinks=shrinks
    )
    layout = layout_of(rows.domain)
    kept, row_weights = on_devices(
        RelaxedDataset(rows.domain, rows.kept, start.weights), devices_named(settings.device)
    )
    tied = jax.device_put(rows.tied[layout.order], kept.sharding)
    problem = _Problem(
        targets.batch,
        # Padding lies beyond the last slot: read as zero, dropped on writing.
        jnp.asarray(np.append(layout.slots, layout.size)[rows.coordinates]),
        jnp.asarray(targets.fractions, jnp.float32),
        jnp.asarray(targets.weights, jnp.float32),
        row_weights,
        jnp.asarray(rows.counts[layout.order, None], jnp.float32),
    )
    shape = _Shape(layout, optimizer_of(settings), settings.normalisation)
    limits = _Limits(
        jnp.int32(settings.max_steps),
        jnp.int32(settings.window),
        jnp.float32(1 - settings.tolerance),
        jnp.float32(targets.floor),
        jnp.int32(settings.halvings),
        jnp.asarray(settings.keep == "last"),
    )

    def attempt(begin: Iterate, scale: float) -> Attempt[Iterate]:
        end = _begun(begin, problem, jnp.float32(scale), shape)
        goes_on = True
        while goes_on:
            until = end.step + _STEPS_BETWEEN_LOOKS
            end, more = _gone_on(begin, end, problem, limits, until, shape)
            watch(int(end.step), settings.max_steps)
            goes_on = bool(more)
        return Attempt(end.best, float(end.best_loss), int(end.step), bool(end.finite))

    end = with_shorter_steps(Iterate(layout.pack(kept), tied), attempt)
    found = rows.whole(
        np.asarray(layout.unpack(end.best.kept)),
        np.asarray(end.best.tied)[np.argsort(layout.order)],
    )
    # Between steps, rows are distributions up to a small tolerance; the result is one up to
    # rounding.
    fitted = _normalised(found, start.domain, settings.normalisation)
    return FitResult(
        RelaxedDataset(start.domain, np.asarray(fitted), start.weights), end.loss, end.steps
    )


_Iterate = TypeVar("_Iterate")


@dataclass(frozen=True)
class Attempt(Generic[_Iterate]):
    """How an attempt ended: the best met, its loss, the steps, whether losses were finite."""

    best: _Iterate
    loss: float
    steps: int
    finite: bool


def with_shorter_steps(
    start: _Iterate, attempt: Callable[[_Iterate, float], Attempt[_Iterate]]
) -> Attempt[_Iterate]:
    """Try a fit; if its loss is not finite, go on from the best with steps a tenth as long."""
    best, loss, steps, scale = start, float("inf"), 0, 1.0
    for _ in range(RETRIES + 1):
        end = attempt(best, scale)
        steps += end.steps
        if end.loss < loss:
            best, loss = end.best, end.loss
        if end.finite:
            return Attempt(best, loss, steps, finite=True)
        scale *= RETRY_SCALE
    raise DivergedError(
        f"the projection diverged: its loss is not finite after {steps} steps, the last of them"
        f" with a {scale / RETRY_SCALE:g} times smaller step. Lower the learning rate or choose"
        " another optimizer."
    )


@partial(jax.jit, static_argnums=(1, 2))
def _normalised(rows: JaxRows, domain: Domain, normalisation: Normalisation) -> JaxRows:
    return rows if normalisation == "softmax" else sparsemax(rows, domain)


def optimizer_of(settings: ProjectionSettings) -> optax.GradientTransformation:
    """The optimiser that the settings name: the same object each time, so that compiled fits are
    shared.
    """
    if not isinstance(settings.optimizer, str):
        return settings.optimizer
    # Softmax scales the gradient of a logit by its probability, which only Adam makes up for.
    adam = settings.optimizer == "adam" or settings.normalisation == "softmax"
    return _adam(settings.learning_rate) if adam else _momentum(settings.learning_rate)


_adam = cache(optax.adam)
_momentum = cache(shared_scale_momentum)


class _Problem(NamedTuple):
    """What to fit; `slots` are those of the batch's coordinates, `tied_counts` codes that share a
    probability.
    """

    batch: QueryBatch
    slots: jax.Array
    targets: jax.Array
    query_weights: jax.Array
    row_weights: jax.Array
    tied_counts: jax.Array


class _Shape(NamedTuple):
    """What a compiled fit depends on, besides shapes of arrays."""

    layout: ColumnLayout
    optimizer: optax.GradientTransformation
    normalisation: Normalisation


class _Limits(NamedTuple):
    """When a fit ends. These are traced, so that other limits need no other program."""

    max_steps: jax.Array
    window: jax.Array
    kept: jax.Array
    floor: jax.Array
    halvings: jax.Array
    keeps_last: jax.Array


class _State(NamedTuple):
    iterate: Iterate
    memory: Any
    step: jax.Array
    best: Iterate
    best_loss: jax.Array
    scale: jax.Array
    plateaus: jax.Array
    finite: jax.Array


class _Program:
    """The steps of a fit, to be compiled."""

    def __init__(self, begin: Iterate, problem: _Problem, shape: _Shape) -> None:
        self._problem, self._shape = problem, shape
        self._begin, self._padding = begin, shape.layout.is_padding[:, None]

    def start(self, scale: jax.Array) -> _State:
        begin, iterate = self._begin, self._begin
        if self._shape.normalisation == "softmax":
            kept = jnp.maximum(jnp.log(jnp.maximum(begin.kept, 0)), _SMALLEST_LOGIT)
            iterate = Iterate(jnp.where(self._padding, begin.kept, kept), begin.tied)
            memory = self._shape.optimizer.init(iterate.kept)
        else:
            memory = self._shape.optimizer.init(self._read(begin.kept))
        start_loss = self._loss(self._read(begin.kept))
        return _State(
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

    def advance(self, state: _State, limits: _Limits) -> _State:
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


def _is_unfinished(state: _State, limits: _Limits) -> jax.Array:
    more = (
        (state.plateaus <= limits.halvings)
        & (state.step < limits.max_steps)
        & (state.best_loss > limits.floor)
    )
    return more & state.finite


@partial(jax.jit, static_argnums=3)
def _begun(begin: Iterate, problem: _Problem, scale: jax.Array, shape: _Shape) -> _State:
    return _Program(begin, problem, shape).start(scale)


@partial(jax.jit, static_argnums=5)
def _gone_on(
    begin: Iterate,
    state: _State,
    problem: _Problem,
    limits: _Limits,
    until: jax.Array,
    shape: _Shape,
) -> tuple[_State, jax.Array]:
    """The state after some more steps, and whether there are more to be made."""
    program = _Program(begin, problem, shape)
    reached = lax.while_loop(
        lambda state: _is_unfinished(state, limits) & (state.step < until),
        lambda state: program.advance(state, limits),
        state,
    )
    return reached, _is_unfinished(reached, limits)
