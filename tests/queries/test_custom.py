from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dprap.domain import Domain
from dprap.errors import DataError, WorkloadError
from dprap.queries import GRID, Custom

DOMAIN = Domain.of({"age": 5, "sex": 2, "income": 3})


def test_a_new_query_class_is_one_function() -> None:
    def parity(row: dict[str, jax.Array]) -> jax.Array:
        """Whether age and income are both odd or both even."""
        odd_age, odd_income = row["age"][1::2].sum(), row["income"][1::2].sum()
        return odd_age * odd_income + (1 - odd_age) * (1 - odd_income)

    query = Custom("same parity", ("age", "income"), parity)
    query.check(DOMAIN)
    contributions = query.contributions(DOMAIN, [np.array([0, 1, 4]), np.array([2, 2, 1])])
    assert contributions.ravel().tolist() == [GRID, 0, 0]


def test_contributions_do_not_depend_on_blocks_and_are_clipped() -> None:
    query = Custom("steep", ("age",), lambda row: jnp.stack([3 * row["age"][1], -row["age"][2], 0.25 * row["age"][3]]))
    codes = np.random.default_rng(0).integers(0, 5, 5000).astype(np.uint8)
    whole = query.contributions(DOMAIN, [codes])
    np.testing.assert_array_equal(whole[:, 0], np.where(codes == 1, GRID, 0))
    assert not whole[:, 1].any()
    np.testing.assert_array_equal(whole[:, 2], np.where(codes == 3, GRID // 4, 0))
    np.testing.assert_array_equal(query.contributions(DOMAIN, [codes[4090:4099]]), whole[4090:4099])


def test_nan_on_a_record_is_for_the_steward() -> None:
    query = Custom("log", ("age",), lambda row: jnp.log(row["age"][0] - 1) * 0)
    with pytest.raises(DataError, match="NaN on some record"):
        query.contributions(DOMAIN, [np.array([1, 0])])


def not_jax(row: dict[str, jax.Array]) -> float:
    return float(row["age"][0])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda row: row["age"][:, None], "shape"),
        (lambda row: 2 * row["age"][0], "outside"),
        (lambda row: -row["age"][0], "outside"),
        (lambda row: jnp.sqrt(row["age"][0] - 1), "NaN"),
        (lambda row: jnp.sqrt(row["age"][0]), "gradient that is not finite"),
        (lambda row: (row["age"][0] > 0.5).astype(jnp.float32), "zero gradient"),
        (lambda row: jax.pure_callback(np.sum, jax.ShapeDtypeStruct((), np.float32), row["age"]), "differentiated"),
        (lambda row: row["height"][0], "fails on a row"),
        (not_jax, "fails on a row"),
    ],
)
def test_unusable_functions_are_refused(function: Callable[[dict[str, jax.Array]], jax.Array], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        Custom("broken", ("age",), function).check(DOMAIN)


def test_columns_must_be_there() -> None:
    with pytest.raises(WorkloadError, match="'height' is not in the schema"):
        Custom("tall", ("height",), lambda row: row["height"][0]).check(DOMAIN)
    with pytest.raises(WorkloadError, match="at least one column"):
        Custom("none", (), not_jax)
