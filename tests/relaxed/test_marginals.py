from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.reference import relaxed as reference
from tests.relaxed.cases import DOMAIN, FAMILIES, onehot_rows, relaxed_rows

from dprap.domain import Domain
from dprap.queries import Custom, Marginal, Query
from dprap.relaxed import answers, cell_table


def test_answers_are_expectations_over_the_product_distributions() -> None:
    relaxed = relaxed_rows()
    for family, fractions in zip(FAMILIES, answers(relaxed, FAMILIES), strict=True):
        expected = [
            reference.relaxed_answer(
                Query(family, index),
                DOMAIN,
                np.asarray(relaxed.probabilities),
                np.asarray(relaxed.weights),
            )
            for index in range(family.size(DOMAIN))
        ]
        np.testing.assert_allclose(fractions, expected, atol=1e-6)


def test_answers_on_records_are_exact_counts() -> None:
    records = list(itertools.product(*(range(size) for size in DOMAIN.sizes)))[::5]
    relaxed = onehot_rows(DOMAIN, records)
    for family, fractions in zip(FAMILIES, answers(relaxed, FAMILIES), strict=True):
        counts = [
            sum(reference.holds(Query(family, i), DOMAIN, r) for r in records)
            for i in range(len(fractions))
        ]
        np.testing.assert_allclose(fractions * len(records), counts, atol=1e-5)


@pytest.mark.parametrize("memory_bytes", [1, 20_000, 200_000])
def test_answers_do_not_depend_on_the_memory_budget(memory_bytes: int) -> None:
    domain = Domain.of({"a": 17, "b": 30, "c": 9})
    relaxed = relaxed_rows(5, domain=domain)
    whole = cell_table(relaxed, ("b", "a", "c"))
    np.testing.assert_allclose(
        cell_table(relaxed, ("b", "a", "c"), memory_bytes=memory_bytes), whole, atol=1e-7
    )
    custom = Custom("first of a", ("a",), lambda row: row["a"][:3])
    (expected,), (chunked,) = (
        list(answers(relaxed, [custom], memory_bytes=m)) for m in (2**30, memory_bytes)
    )
    np.testing.assert_allclose(chunked, expected, atol=1e-7)
    np.testing.assert_allclose(expected, relaxed.block("a")[:3] @ relaxed.weights, atol=1e-6)


def test_tables_of_a_large_domain_sum_to_one() -> None:
    domain = Domain.of({"a": 200, "b": 150, "c": 31})
    table = cell_table(relaxed_rows(3, domain=domain), ("a", "b", "c"), memory_bytes=2**20)
    assert table.shape == (200, 150, 31)
    assert table.sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)


def test_marginal_of_nothing_is_the_total() -> None:
    (total,) = answers(relaxed_rows(), [Marginal(())])
    assert total.tolist() == pytest.approx([1])
