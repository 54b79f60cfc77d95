"""What one optimiser step of RAP costs, by part: 25 and 125 selected queries, 1000 rows, the ADULT
domain.

Every part runs many times inside one compiled loop, in CPU time; the least of several runs counts.
Run it on one core (`taskset -c 0`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dprap.datasets.benchmark import load_benchmark
from dprap.queries import Query
from dprap.relaxed.jax.layout import layout_of
from dprap.relaxed.jax.projection import ProjectionSettings, QueryTargets, fit_queries, optimizer_of
from dprap.relaxed.jax.queries import compile_queries
from dprap.relaxed.jax.sparsemax import shrink, softmax_packed, thresholds
from dprap.relaxed.jax.start import initialise
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.timing import least_cpu_seconds
from dprap_bench.workloads import named_workload

REPEATS = 50


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - times do not depend on noise
    """Few and many selected queries."""
    return [StudyCell("rap_step", {"selected_queries": count}) for count in (25, 125)]


def milliseconds(step: Callable[..., Any], *state: Any) -> float:
    """Least time of one step, which maps a state to the next."""
    loop = jax.jit(
        lambda *state: lax.fori_loop(0, REPEATS, lambda _, carried: step(*carried), state)
    )

    def run() -> None:
        jax.block_until_ready(loop(*state))  # type: ignore[no-untyped-call]

    run()  # compiles
    return least_cpu_seconds(run, 3) / REPEATS * 1e3


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """Milliseconds of each part of a step."""
    count = facts["selected_queries"]
    codes = load_benchmark("adult", data_dir)
    workload = named_workload("3way:64", codes.domain, rows=codes.rows)
    relaxed = initialise(codes.domain, 1000, 0)
    layout = layout_of(codes.domain)
    rng = np.random.default_rng(0)
    # Small codes are the frequent ones in this table, as RAP selects them.
    queries = []
    for family in rng.choice(len(workload.families), count):
        columns = workload.families[family].columns
        cell = [min(int(rng.geometric(0.3)) - 1, codes.domain.size(name) - 1) for name in columns]
        index = int(np.ravel_multi_index(cell, codes.domain.shape_of(columns)))
        queries.append(Query(workload.families[family], index))
    batch, places = compile_queries(codes.domain, queries)
    targets, weights = np.zeros(batch.size, np.float32), np.zeros(batch.size, np.float32)
    targets[places], weights[places] = rng.random(count) * 0.3, 1
    packed = layout.pack(jnp.asarray(relaxed.probabilities))
    slots = jnp.asarray(np.append(layout.slots, layout.size))[batch.coordinates]
    touched = packed.at[slots].get(mode="fill", fill_value=0)
    optimizer = optimizer_of(ProjectionSettings())

    def loss(
        touched: jax.Array, batch: Any = batch, targets: Any = targets, weights: Any = weights
    ) -> jax.Array:
        return jnp.sum(weights * (batch.answers(touched, relaxed.weights) - targets) ** 2)

    def adam(touched: jax.Array, memory: Any, optimizer: Any = optimizer) -> tuple[jax.Array, Any]:
        updates, memory = optimizer.update(touched, memory, touched)
        return touched + updates, memory

    def sparsemax(packed: jax.Array, slots: jax.Array = slots) -> tuple[jax.Array]:
        moved = packed.at[slots].add(0.001, mode="drop")
        zero = jnp.zeros((len(codes.domain), moved.shape[1]))
        return (shrink(moved, layout, thresholds(moved, layout, zero, 1e-4)),)

    def whole(
        settings: ProjectionSettings,
        batch: Any = batch,
        targets: Any = targets,
        weights: Any = weights,
    ) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            result = fit_queries(relaxed, QueryTargets(batch, targets, weights), settings)
            times.append((time.process_time() - start) / result.steps)
        return min(times) * 1e3

    return {
        "touched_coordinates_padded": int(batch.coordinates.shape[0]),
        "answers_ms": milliseconds(lambda t, f=loss: (t + 1e-9 * f(t),), touched),
        "answers_and_gradient_ms": milliseconds(
            lambda t, f=loss: (t - 1e-9 * jax.grad(f)(t),), touched
        ),
        "adam_ms": milliseconds(adam, touched, optimizer.init(touched)),
        "sparsemax_ms": milliseconds(sparsemax, packed),
        "softmax_ms": milliseconds(lambda p: (softmax_packed(p, layout),), packed),
        "whole_step_sparsemax_ms": whole(
            ProjectionSettings(max_steps=100, window=100, tolerance=0.0)
        ),
        "whole_step_softmax_ms": whole(
            ProjectionSettings(
                max_steps=30, window=30, tolerance=0.0, normalisation="softmax", learning_rate=0.1
            )
        ),
    }
