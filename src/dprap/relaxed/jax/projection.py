r"""Relaxed projection (the paper's Algorithm 1): rows whose answers come closest to noisy ones.

Minimises \(\sum_i w_i (q_i(D') - \hat a_i)^2\) over relaxed rows. With sparsemax, as in the paper,
the optimiser moves the probabilities themselves and every step ends with the projection onto the
simplex, from which the next one starts; with softmax it moves logits. The whole loop is one
compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dprap.array_types import Answers, Float
from dprap.compiled import compiled
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Custom, Query
from dprap.relaxed.fit import FitResult, StepCallback, unwatched
from dprap.relaxed.jax.compiled_loop import (
    Limits,
    Normalisation,
    Problem,
    Shape,
    begun,
    gone_on,
)
from dprap.relaxed.jax.layout import JaxRows, layout_of
from dprap.relaxed.jax.optimizer import shared_scale_momentum
from dprap.relaxed.jax.queries import QueryBatch, compile_queries
from dprap.relaxed.jax.sparsemax import sparsemax
from dprap.relaxed.jax.start import devices_named, on_devices
from dprap.relaxed.jax.tied import Iterate, TiedRows
from dprap.relaxed.rows import RelaxedDataset

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
) -> FitResult[RelaxedDataset]:
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
    problem = Problem(
        targets.batch,
        # Padding lies beyond the last slot: read as zero, dropped on writing.
        jnp.asarray(np.append(layout.slots, layout.size)[rows.coordinates]),
        jnp.asarray(targets.fractions, jnp.float32),
        jnp.asarray(targets.weights, jnp.float32),
        row_weights,
        jnp.asarray(rows.counts[layout.order, None], jnp.float32),
    )
    shape = Shape(layout, optimizer_of(settings), settings.normalisation)
    limits = Limits(
        jnp.int32(settings.max_steps),
        jnp.int32(settings.window),
        jnp.float32(1 - settings.tolerance),
        jnp.float32(targets.floor),
        jnp.int32(settings.halvings),
        jnp.asarray(settings.keep == "last"),
    )

    def attempt(begin: Iterate, scale: float) -> Attempt[Iterate]:
        end = begun(begin, problem, jnp.float32(scale), shape)
        goes_on = True
        while goes_on:
            until = end.step + _STEPS_BETWEEN_LOOKS
            end, more = gone_on(begin, end, problem, limits, until, shape)
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
    fitted = _normalised(jnp.asarray(found), start.domain, settings.normalisation)
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


@compiled(1, 2)
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
