"""Rows fitted to all answers of whole families, for workloads measured in full.

The gradient of a family is two matrix products, like its cell table. Families are taken one by one,
so memory holds the targets and one family's table and factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dprap.array_types import Answers, Float32
from dprap.compiled import Compiled, compiled
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Custom, Family, Halfspace
from dprap.relaxed.fit import FitResult, StepCallback, unwatched
from dprap.relaxed.folding import Fold, folded_table
from dprap.relaxed.jax.layout import JaxRows
from dprap.relaxed.jax.projection import (
    Attempt,
    ProjectionSettings,
    optimizer_of,
    with_shorter_steps,
)
from dprap.relaxed.jax.sparsemax import softmax, sparsemax
from dprap.relaxed.jax.start import devices_named, on_devices
from dprap.relaxed.rows import RelaxedDataset, column_slices

# What a probability of zero becomes where its logarithm is needed.
_SMALLEST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class FamilyTarget:
    """A family with target answers, as fractions."""

    family: Family
    fractions: Answers


@dataclass(frozen=True)
class FamilyTargets:
    """Families with target answers; a fit ends once its loss is at most `floor`."""

    families: Sequence[FamilyTarget]
    floor: float = 0.0


def fit_families(
    start: RelaxedDataset,
    targets: FamilyTargets,
    settings: ProjectionSettings,
    *,
    watch: StepCallback = unwatched,
) -> FitResult[RelaxedDataset]:
    """Fit relaxed rows to target answers of whole families.

    Args:
        start: Where the rows begin; their weights stay.
        targets: Families, wanted answers and the loss at which it is enough.
        settings: As for `fit_queries`.
        watch: Is told of every step, of how many there are at most.

    Returns:
        The best rows met, or the last.

    Raises:
        DivergedError: if the loss is not finite, also after three starts with ever shorter steps.

    """
    probabilities, weights = on_devices(start, devices_named(settings.device))

    def attempt(rows: JaxRows, scale: float) -> Attempt[JaxRows]:
        return _fit(rows, weights, start.domain, targets, settings, scale, watch)

    end = with_shorter_steps(probabilities, attempt)
    return FitResult(
        RelaxedDataset(start.domain, np.asarray(end.best), start.weights), end.loss, end.steps
    )


def _fit(
    start: JaxRows,
    weights: jax.Array,
    domain: Domain,
    targets: FamilyTargets,
    settings: ProjectionSettings,
    scale: float,
    watch: StepCallback,
) -> Attempt[JaxRows]:
    optimizer = optimizer_of(settings)
    keeps_last = settings.keep == "last"
    softmaxed = settings.normalisation == "softmax"
    iterate = jnp.log(start.clip(_SMALLEST_PROBABILITY)) if softmaxed else start
    memory = optimizer.init(iterate)
    best, best_loss, last_loss = start, math.inf, math.inf
    steps, plateaus = 0, 0
    while True:
        rows = _softmax(iterate, domain) if softmaxed else iterate
        loss, gradient = 0.0, jnp.zeros_like(rows)
        for target in targets.families:
            part, slope = _family_loss(rows, weights, target.fractions, domain, target.family)
            loss, gradient = loss + float(part), gradient + slope
        if not math.isfinite(loss):
            return Attempt(best, best_loss, steps, finite=False)
        if keeps_last or loss < best_loss:
            best, best_loss = rows, loss
        if best_loss <= targets.floor or steps == settings.max_steps:
            break
        if steps % settings.window == 0:
            if best_loss >= (1 - settings.tolerance) * last_loss:
                plateaus, scale = plateaus + 1, scale / 2
                if plateaus > settings.halvings:
                    break
            last_loss = best_loss
        iterate, memory = _step(
            iterate, gradient, memory, jnp.float32(scale), domain, optimizer, softmaxed
        )
        steps += 1
        watch(steps, settings.max_steps)
    return Attempt(best, best_loss, steps, finite=True)


_softmax = Compiled(softmax, static_argnums=1)


@compiled(4, 5, 6)
def _step(
    iterate: JaxRows,
    gradient: JaxRows,
    memory: optax.OptState,
    scale: jax.Array,
    domain: Domain,
    optimizer: optax.GradientTransformation,
    softmaxed: bool,
) -> tuple[JaxRows, optax.OptState]:
    if softmaxed:
        _, pull = jax.vjp(lambda logits: softmax(logits, domain), iterate)
        (gradient,) = pull(gradient)
    updates, memory = optimizer.update(gradient, memory, iterate)
    moved = iterate + scale * updates
    return (moved if softmaxed else sparsemax(moved, domain)), memory


@compiled(3, 4)
@partial(jax.value_and_grad, argnums=0)
def _family_loss(
    rows: JaxRows,
    weights: jax.Array,
    fractions: Float32[jax.Array, " queries"],
    domain: Domain,
    family: Family,
) -> jax.Array:
    if isinstance(family, Halfspace):
        raise WorkloadError(f"a fit to whole families does not take {family}.")
    slices = column_slices(domain)
    blocks = {name: rows[slices[name]] for name in family.columns}
    if isinstance(family, Custom) and not family.is_table(domain):
        answered = family.values(blocks) @ weights
    else:
        # Families use methods that NumPy and JAX arrays share.
        fold = Fold.of({name: domain.size(name) for name in family.columns})
        table: Any = folded_table(blocks, weights, fold)
        answered = jnp.asarray(family.answers(table).reshape(-1))
    return jnp.sum((answered - fractions) ** 2)
