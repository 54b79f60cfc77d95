from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprap.domain import Domain
from dprap.errors import DataError, WorkloadError
from dprap.queries import GRID, Custom, Marginal, Query, custom_values
from dprap.queries import custom as module
from dprap.relaxed import RelaxedDataset, answers, uniform_weights
from dprap.relaxed.jax.projection import ProjectionSettings, QueryTargets, fit_queries
from dprap.relaxed.jax.start import initialise

DOMAIN = Domain.of({"age": 5, "sex": 2, "income": 3})
CODES = [np.array([0, 1, 4]), np.array([2, 2, 1])]


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function has more cells than a table may have."""
    monkeypatch.setattr(module, "MAX_TABLE_CELLS", 1)


def branching(row: Any) -> float:
    """Plain Python, with a branch that no tracer takes."""
    if row["age"].argmax() > 2:
        return 0.25
    return float(row["age"].argmax() % 2 == row["income"].argmax() % 2)


def with_jax(row: Any) -> Any:
    odd = jnp.sum(row["age"][1::2]) + jnp.sum(row["income"][1::2])
    return jnp.stack([odd % 2 == 0, row["age"][4] >= 0.5])


def jax_that_branches(row: Any) -> Any:
    return jnp.float32(1) if row["age"][0] > 0 else jnp.sum(row["income"][:1])


@pytest.mark.parametrize(
    "function", [branching, with_jax, jax_that_branches, lambda row: row["age"][0] != row["sex"][0]]
)
def test_a_function_is_its_values_at_the_cells(function: Callable[[Any], Any]) -> None:
    query = Custom("any", ("age", "income", "sex"), function)
    query.check(DOMAIN, slopes=True)
    table = query.table(DOMAIN)
    for cell, codes in enumerate(itertools.product(range(5), range(3), range(2))):
        row = {
            name: np.eye(DOMAIN.size(name))[code]
            for name, code in zip(query.columns, codes, strict=True)
        }
        np.testing.assert_array_equal(
            table[cell], np.asarray(function(row), dtype=float).reshape(-1) * GRID
        )
    columns = [np.array([3, 0]), np.array([2, 1]), np.array([1, 0])]
    np.testing.assert_array_equal(
        query.contributions(DOMAIN, columns), table[[3 * 6 + 2 * 2 + 1, 1 * 2 + 0]].astype(np.int64)
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_answers_on_relaxed_rows_are_the_multilinear_extension(seed: int) -> None:
    """Σ over cells of the product of the cell's probabilities times the value, row by row."""
    rng = np.random.default_rng(seed)
    values = rng.random((5, 3, 2))
    query = Custom(
        "random", ("age", "income"), lambda row: values[row["age"].argmax(), row["income"].argmax()]
    )
    blocks = [rng.dirichlet(np.full(size, 0.4), 4).T for size in DOMAIN.sizes]
    relaxed = RelaxedDataset(DOMAIN, np.concatenate(blocks).astype(np.float32), uniform_weights(4))
    expected = np.mean(
        [
            sum(
                blocks[0][a, r] * blocks[2][i, r] * values[a, i] for a in range(5) for i in range(3)
            )
            for r in range(4)
        ],
        axis=0,
    )
    (found,) = answers(relaxed, [query])
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
def test_a_hard_function_can_be_fitted() -> None:
    """XOR and a hard halfspace have no slope of their own; their tables have one."""
    xor = Custom("xor", ("age", "sex"), lambda row: row["age"][0] != row["sex"][0])
    half = Custom(
        "half",
        ("age", "income"),
        lambda row: np.arange(5) @ row["age"] >= 2 * (np.arange(3) @ row["income"]),
    )
    queries = [Query(xor, 0), Query(half, 0), Query(Marginal(("age", "sex")), 3)]
    targets = QueryTargets.of(DOMAIN, queries, [0.9, 0.2, 0.05])
    result = fit_queries(
        initialise(DOMAIN, 20, 0), targets, ProjectionSettings(max_steps=300, window=20)
    )
    found = [answer[0] for answer in answers(result.rows, [xor, half])]
    np.testing.assert_allclose(found, [0.9, 0.2], atol=1e-3)


def test_a_function_with_too_many_cells_is_answered_on_drawn_records(no_tables: None) -> None:
    """The function itself, applied to a probability vector, says .25; the truth under the row is
    .5.
    """
    query = Custom("square", ("age",), lambda row: row["age"][0] ** 2)
    probabilities = np.full((10, 1), 0.5, np.float32)
    probabilities[:5] = [[0.5], [0.5], [0], [0], [0]]
    relaxed = RelaxedDataset(DOMAIN, probabilities, uniform_weights(1))
    query.check(DOMAIN, slopes=True)
    (found,) = answers(relaxed, [query])
    # six standard errors: a false alarm in 10^9 choices of the seed
    assert abs(float(found[0]) - 0.5) < 0.01


def test_beyond_tables_contributions_are_clipped_and_do_not_depend_on_blocks(
    no_tables: None,
) -> None:
    query = Custom(
        "steep",
        ("age",),
        lambda row: jnp.stack([3 * row["age"][1], -row["age"][2], 0.25 * row["age"][3]]),
    )
    codes = np.random.default_rng(0).integers(0, 5, 5000).astype(np.uint8)
    whole = query.contributions(DOMAIN, [codes])
    np.testing.assert_array_equal(whole[:, 0], np.where(codes == 1, GRID, 0))
    assert not whole[:, 1].any()
    np.testing.assert_array_equal(whole[:, 2], np.where(codes == 3, GRID // 4, 0))
    np.testing.assert_array_equal(query.contributions(DOMAIN, [codes[4090:4099]]), whole[4090:4099])
    assert query.contributions(DOMAIN, [codes[:0]]).shape == (0, 3)


def test_nan_on_a_record_is_for_the_steward(no_tables: None) -> None:
    query = Custom("log", ("age",), lambda row: jnp.log(row["age"][0] - 1) * 0)
    with pytest.raises(DataError, match="NaN on some record"):
        query.contributions(DOMAIN, [np.array([1, 0])])


def changes_its_row(row: Any) -> float:
    row["age"][0] = 2.0
    return 0.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda row: row["age"][:, None], "shape"),
        (lambda row: 2 * row["age"][3], r"is 2 at age = 3 \(codes\)"),
        (lambda row: -row["age"][0], "outside"),
        (lambda row: 1.0001 * row["age"][2], "outside"),
        (lambda row: -0.0001 * row["age"][2], "outside"),
        (lambda row: np.nan * row["age"][1], "NaN"),
        (lambda row: row["height"][0], "fails at age = 0"),
        (lambda row: str(row), "returns no number"),
        (lambda row: [0.5] * (1 + int(row["age"][2])), "returns 1 values at the first cell and 2"),
        (changes_its_row, "read-only"),
    ],
)
def test_tables_that_cannot_be_are_refused(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        Custom("broken", ("age",), function).check(DOMAIN)


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_values, "MAX_TABLE_ENTRIES", 14)
    with pytest.raises(WorkloadError, match="5 cells and 3 values at each"):
        Custom("wide", ("age",), lambda row: row["age"][:3]).size(DOMAIN)


def not_jax(row: Any) -> float:
    return float(row["age"][0])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda row: row["age"][:, None], "shape"),
        (lambda row: 2 * row["age"][0], "outside"),
        (lambda row: jnp.sqrt(row["age"][0] - 1), "NaN"),
        (lambda row: jnp.sqrt(row["age"][0]), "gradient that is not finite"),
        (lambda row: (row["age"][0] > 0.5).astype(jnp.float32), "zero gradient"),
        (
            lambda row: jax.pure_callback(np.sum, jax.ShapeDtypeStruct((), np.float32), row["age"]),
            "differentiated",
        ),
        (not_jax, "must be made of JAX operations"),
    ],
)
def test_beyond_tables_unusable_functions_are_refused(
    function: Callable[[Any], Any], message: str, no_tables: None
) -> None:
    with pytest.raises(WorkloadError, match=message):
        Custom("broken", ("age",), function).check(DOMAIN, slopes=True)


def test_columns_must_be_there() -> None:
    with pytest.raises(WorkloadError, match="'height' is not in the schema"):
        Custom("tall", ("height",), lambda row: row["height"][0]).check(DOMAIN)
    with pytest.raises(WorkloadError, match="at least one column"):
        Custom("none", (), not_jax)
