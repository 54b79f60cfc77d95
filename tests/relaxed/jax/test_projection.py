from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.relaxed.cases import DOMAIN, FAMILIES, all_queries, relaxed_rows

from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Custom, Query, Threshold
from dprap.relaxed import RelaxedDataset, answers, uniform_weights
from dprap.relaxed.jax import compiled_loop, projection
from dprap.relaxed.jax.families import FamilyTarget, FamilyTargets, fit_families
from dprap.relaxed.jax.projection import (
    DivergedError,
    ProjectionSettings,
    QueryTargets,
    fit_queries,
)
from dprap.relaxed.jax.start import initialise

FAST = ProjectionSettings(max_steps=400, window=20)
# Thresholds take long to compile: what has nothing to do with them does without.
PRODUCTS = [query for query in all_queries() if not isinstance(query.family, Threshold)][::4]


def fit(
    queries: list[Query],
    truth: RelaxedDataset,
    settings: ProjectionSettings,
    *,
    rows: int = 20,
    floor: float = 0.0,
    start: RelaxedDataset | None = None,
) -> tuple[float, int, RelaxedDataset]:
    """Fit random rows to the answers of other rows; returns the loss, the steps and the fitted
    rows.
    """
    by_family = dict(zip(FAMILIES, answers(truth, FAMILIES), strict=True))
    wanted = [
        by_family[query.family][query.index] if query.family in by_family else 0.5
        for query in queries
    ]
    start = start or initialise(truth.domain, rows, 1)
    result = fit_queries(
        start, QueryTargets.of(truth.domain, queries, wanted, floor=floor), settings
    )
    return result.misfit, result.steps, result.rows


@pytest.mark.parametrize(
    "normalisation", ["sparsemax", pytest.param("softmax", marks=pytest.mark.slow)]
)
def test_projection_reaches_answers_that_can_be_reached(normalisation: str) -> None:
    settings = ProjectionSettings(max_steps=1000, normalisation=normalisation)  # type: ignore[arg-type]
    queries = all_queries()[::4]
    loss, steps, relaxed = fit(queries, relaxed_rows(3), settings)
    assert steps <= 1000
    assert loss < 1e-4
    probabilities = np.asarray(relaxed.probabilities)
    assert probabilities.min() >= 0
    for name in DOMAIN:
        np.testing.assert_allclose(np.asarray(relaxed.block(name)).sum(axis=0), 1, atol=1e-5)
    by_family = dict(zip(FAMILIES, answers(relaxed, FAMILIES), strict=True))
    wanted = dict(zip(FAMILIES, answers(relaxed_rows(3), FAMILIES), strict=True))
    errors = [by_family[q.family][q.index] - wanted[q.family][q.index] for q in queries]
    assert float(np.square(errors).sum()) == pytest.approx(loss, abs=1e-6)


@pytest.mark.slow
def test_projection_stops_at_its_floor_and_never_gets_worse() -> None:
    queries = PRODUCTS
    loss, steps, relaxed = fit(queries, relaxed_rows(3), FAST, floor=0.1)
    assert loss <= 0.1
    assert steps < 400
    wild = ProjectionSettings(learning_rate=5.0, max_steps=60, window=20)
    assert fit(queries, relaxed_rows(3), wild, start=relaxed)[0] <= loss * 1.0001


def test_any_optax_optimizer_is_accepted() -> None:
    settings = ProjectionSettings(optimizer=optax.sgd(5.0, momentum=0.9), max_steps=400, window=20)
    assert fit(PRODUCTS, relaxed_rows(3), settings)[0] < 0.02


def test_steps_are_told_of_and_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, start = relaxed_rows(3), initialise(DOMAIN, 20, 1)
    queries = PRODUCTS[:8]
    targets = QueryTargets.of(truth.domain, queries, [0.4] * len(queries))
    settings = ProjectionSettings(max_steps=130, window=20)
    at_once = fit_queries(start, targets, settings)
    monkeypatch.setattr(projection, "_STEPS_BETWEEN_LOOKS", 40)
    told: list[tuple[int, int]] = []
    before = compiled_loop.gone_on.program._cache_size()
    in_parts = fit_queries(
        start, targets, settings, watch=lambda step, steps: told.append((step, steps))
    )
    assert compiled_loop.gone_on.program._cache_size() == before, "compiled once"
    assert told == [(40, 130), (80, 130), (120, 130), (130, 130)]
    assert in_parts.steps == at_once.steps == 130
    np.testing.assert_array_equal(in_parts.rows.probabilities, at_once.rows.probabilities)


@pytest.mark.slow
def test_growing_query_sets_are_compiled_few_times() -> None:
    truth, queries = relaxed_rows(3), all_queries()[6:70]
    settings = ProjectionSettings(max_steps=2, window=1)
    before = compiled_loop.gone_on.program._cache_size()
    for count in range(4, 64, 4):
        fit(queries[:count], truth, settings)
    # Products: 32, then 128; with and without thresholds.
    assert compiled_loop.gone_on.program._cache_size() - before <= 5


def test_many_rows_are_fitted_to_several_cell_tables() -> None:
    """XLA's own matrix products ended the process here, from 500 rows on (see `compiled`)."""
    one = Custom("four", ("smoker", "age", "hours", "sick"), lambda row: row["age"][0])
    other = Custom("two", ("sex", "smoker"), lambda row: (row["sex"][0] + row["smoker"][0]) % 2)
    domain = Domain.of({"smoker": 3, "age": 80, "hours": 17, "sick": 12, "sex": 3})
    queries = [Query(one, 0), Query(other, 0)]
    targets = QueryTargets.of(domain, queries, [0.3, 0.3], custom=(one, other))
    fitted = fit_queries(initialise(domain, 1000, 0), targets, ProjectionSettings(max_steps=100))
    assert fitted.misfit < 1e-3


def test_a_projection_that_diverges_says_so() -> None:
    def explode(
        updates: optax.Updates, state: optax.EmptyState, params: object = None
    ) -> tuple[object, optax.EmptyState]:
        del params
        return jax.tree.map(lambda gradient: gradient * jnp.inf, updates), state

    hopeless = optax.GradientTransformation(lambda _: optax.EmptyState(), explode)
    with pytest.raises(DivergedError, match=r"Lower the learning rate"):
        fit(
            PRODUCTS,
            relaxed_rows(3),
            ProjectionSettings(optimizer=hopeless, max_steps=10, window=5),
        )


def test_a_gradient_that_is_not_finite_is_met_with_smaller_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the function itself, not its table
    monkeypatch.setattr("dprap.queries.custom.MAX_TABLE_CELLS", 1)
    # Steps of full length leave the range where the function is finite; a tenth of them does not.
    fragile = Custom(
        "fragile", ("a",), lambda row: jnp.where(row["a"][0] > 0.9, jnp.nan, row["a"][0])
    )
    probabilities = relaxed_rows(4).probabilities.copy()
    probabilities[:2] = 0.5
    start = RelaxedDataset(DOMAIN, probabilities, uniform_weights(4))
    settings = ProjectionSettings(optimizer=optax.sgd(20.0), max_steps=20, window=1)
    result = fit_queries(start, QueryTargets.of(DOMAIN, [Query(fragile, 0)], [0.6]), settings)
    assert np.isfinite(result.misfit)
    assert result.misfit < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("normalisation", ["sparsemax", "softmax"])
def test_projection_on_whole_families(normalisation: str) -> None:
    families = [
        *FAMILIES[2:6],
        FAMILIES[8],
        Custom("c low", ("c",), lambda row: row["c"][0] + row["c"][1]),
    ]
    truth = relaxed_rows(3)
    targets = [
        FamilyTarget(f, a.astype(np.float32))
        for f, a in zip(families, answers(truth, families), strict=True)
    ]
    settings = ProjectionSettings(
        learning_rate=0.05, max_steps=150, window=20, normalisation=normalisation
    )  # type: ignore[arg-type]
    start = initialise(DOMAIN, 20, 0)
    result = fit_families(start, FamilyTargets(targets), settings)
    fitted = answers(result.rows, families)
    loss = sum(
        float(np.square(a - t.fractions).sum()) for a, t in zip(fitted, targets, strict=True)
    )
    assert loss == pytest.approx(result.misfit, abs=1e-5)
    assert loss < 1e-2


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_steps": 0},
        {"learning_rate": 0.0},
        {"tolerance": 1.0},
        {"normalisation": "max"},
        {"window": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        ProjectionSettings(**wrong)  # type: ignore[arg-type]
