from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from tests.reference import relaxed as reference

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Marginal, Query, Range, Threshold

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 4})
COLUMNS = ("c", "a", "b")
FAMILIES = (
    Marginal(COLUMNS),
    *(Threshold(COLUMNS, at_least) for at_least in (1, 2, 3)),
    Threshold(("b",), 1),
    Range.prefixes(COLUMNS, ("c", "b")),
    Range.prefixes(COLUMNS, ()),
    Range(COLUMNS, {"c": "all", "b": "prefixes"}),
    Range(("b", "c"), {"c": [(1, 2), (0, 3), (1, 2)], "b": "all"}),
)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_answers_count_the_records_that_hold(family: Marginal | Threshold | Range) -> None:
    rng = np.random.default_rng(0)
    records = [tuple(int(rng.integers(size)) for size in DOMAIN.sizes) for _ in range(50)]
    table = np.zeros(DOMAIN.shape_of(family.columns), dtype=np.int64)
    for record in records:
        table[tuple(record[DOMAIN.position(name)] for name in family.columns)] += 1
    answers = family.answers(table)
    assert answers.dtype == np.int64
    assert answers.size == family.size(DOMAIN)
    expected = [
        sum(reference.holds(Query(family, index), DOMAIN, record) for record in records)
        for index in range(family.size(DOMAIN))
    ]
    assert answers.ravel().tolist() == expected
    np.testing.assert_allclose(np.asarray(family.answers(jnp.asarray(table))), answers)


def test_all_columns_matched_is_the_marginal_and_one_is_the_disjunction() -> None:
    table = np.random.default_rng(1).integers(0, 9, (2, 3, 4, 2))
    columns = ("a", "b", "c", "d")
    np.testing.assert_array_equal(Threshold(columns, 4).answers(table), table)
    one = Threshold(columns, 1).answers(table)
    for cell in itertools.product(*(range(size) for size in table.shape)):
        without = table
        for axis, code in enumerate(cell):
            without = np.delete(without, code, axis=axis)
        assert one[cell] == table.sum() - without.sum()


@pytest.mark.parametrize("at_least", [0, 4])
def test_threshold_outside_its_columns_is_refused(at_least: int) -> None:
    with pytest.raises(WorkloadError, match="between 1 and its number of columns, 3"):
        Threshold(COLUMNS, at_least)


def test_malformed_families_are_refused() -> None:
    with pytest.raises(WorkloadError, match="names a column twice"):
        Range.prefixes(("a", "a"), ("a",))
    with pytest.raises(WorkloadError, match="'d' is not among its columns"):
        Range.prefixes(("a", "b"), ("d",))
    with pytest.raises(WorkloadError, match="tuple of columns"):
        Threshold("a", 1)  # type: ignore[arg-type]
