"""Constraints: declared on values, checked against the columns, used on codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dprap
from dprap.encoding import check
from dprap.errors import SchemaError
from dprap.schema import DeterminedCodes, Schema

COLUMNS = {
    "age": {"type": "integer", "min": 0, "max": 99, "width": 5},
    "married": {"type": "boolean", "nullable": True},
    "school": {"type": "categorical", "values": ["low", "high"], "other": "none"},
    "years": {"type": "integer", "min": 0, "max": 20},
    "price": {"type": "number", "min": 0, "max": 10, "bins": 5},
    "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "unit": "month"},
}


def schema_with(*constraints: dict[str, Any]) -> Schema:
    return Schema.of({"columns": COLUMNS, "constraints": list(constraints)})


def test_forbidden_cells() -> None:
    schema = schema_with({"type": "forbid", "where": {"age": {"max": 14}, "married": [True, None]}})
    (constraint,) = schema.code_constraints
    assert constraint.columns == ("age", "married")
    table = constraint.forbidden()
    assert table.shape == (20, 3)
    assert np.argwhere(table).tolist() == [[age, married] for age in range(3) for married in (1, 2)]


def test_ranges_of_numbers_and_dates() -> None:
    schema = schema_with(
        {"type": "forbid", "where": {"price": {"min": 4, "max": 8}}},
        {"type": "forbid", "where": {"price": {"min": 8, "max": 10}}},
        {"type": "forbid", "where": {"day": {"min": "2020-12-01"}}},
    )
    tables = [constraint.forbidden() for constraint in schema.code_constraints]
    assert [np.flatnonzero(table).tolist() for table in tables] == [[2, 3], [4], [11]]


def test_functional_dependency() -> None:
    (constraint,) = schema_with(
        {"type": "determines", "from": "school", "to": "years", "map": {"low": 9, "high": 13}}
    ).code_constraints
    assert isinstance(constraint, DeterminedCodes)
    assert constraint.targets.tolist() == [9, 13, -1]
    assert constraint.forbidden().sum() == 2 * 20
    assert not constraint.forbidden()[2].any()


def test_constraints_survive_files(tmp_path: Path) -> None:
    schema = schema_with(
        {"type": "determines", "from": "years", "to": "school", "map": {0: "low", 13: "high"}},
        {"type": "determines", "from": "school", "to": "years", "map": {"low": 9}},
        {"type": "forbid", "where": {"day": {"max": "2020-01-31"}, "married": [None]}},
    )
    for ending in ("yaml", "json"):
        schema.save(tmp_path / f"s.{ending}")
        assert Schema.load(tmp_path / f"s.{ending}") == schema


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        ({"type": "forbid", "where": {"age": {"max": 12}}}, "cuts through a bin of column 'age'"),
        ({"type": "forbid", "where": {"age": [3]}}, "one value of a bin of column 'age'"),
        (
            {"type": "forbid", "where": {"school": ["middle"]}},
            "a value that column 'school' does not list",
        ),
        ({"type": "forbid", "where": {"school": {"max": 3}}}, "'school', which has no order"),
        ({"type": "forbid", "where": {"years": [None]}}, "'years', which is not nullable"),
        ({"type": "forbid", "where": {"years": [21]}}, "outside the bounds of column 'years'"),
        ({"type": "forbid", "where": {"years": ["x"]}}, "not of the type of column 'years'"),
        (
            {"type": "forbid", "where": {"size": [1]}},
            "column 'size', which the schema does not have",
        ),
        (
            {"type": "determines", "from": "age", "to": "years", "map": {0: 1, 1: 2}},
            "two values of 'years'",
        ),
        (
            {"type": "determines", "from": "age", "to": "age", "map": {0: 1}},
            "cannot determine itself",
        ),
        ({"type": "forbid"}, "where: is required"),
    ],
)
def test_bad_constraints_are_named(constraint: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_with(constraint)
    assert says in str(caught.value)
    assert "constraint 1: " in str(caught.value)


def test_check_finds_records_that_break_a_constraint() -> None:
    schema = Schema.of(
        {
            "columns": {name: COLUMNS[name] for name in ("school", "years")},
            "constraints": [
                {"type": "determines", "from": "school", "to": "years", "map": {"low": 9}}
            ],
        }
    )
    assert check(schema, pa.table({"school": ["low"], "years": [9]})).is_ready
    (problem,) = check(schema, pa.table({"school": ["low"], "years": [8]})).problems
    assert problem.startswith("constraint 1 on school, years: ")


def test_conditional_nulls() -> None:
    never = {
        "type": "null_when",
        "column": "married",
        "where": {"age": {"max": 14}, "school": ["none"]},
    }
    (constraint,) = schema_with(never).code_constraints
    assert constraint.columns == ("age", "school", "married")
    table = constraint.forbidden()
    assert table.sum() == 3 * 2
    assert table[:3, 2, :2].all()
    (exactly,) = schema_with({**never, "only": True}).code_constraints
    assert exactly.forbidden().sum() == 3 * 2 + (20 * 3 - 3)
    assert exactly.forbidden()[5, 0].tolist() == [False, False, True]
    assert Schema.of(schema_with(never).as_mapping()) == schema_with(never)
    for wrong, message in (
        ({"column": "years"}, "not nullable"),
        ({"column": "age"}, "depend on itself"),
        ({"column": "nobody"}, "which the schema does not have"),
        ({"where": {"age": {"max": 13}}}, "constraint 1"),
    ):
        with pytest.raises(SchemaError, match=message):
            schema_with({**never, **wrong})


def test_synthetic_records_are_missing_where_the_schema_says() -> None:
    generator = np.random.default_rng(1)
    worked = generator.random(2000) < 0.6
    pay = np.where(worked, generator.integers(0, 9000, 2000), None)
    table = pa.table({"worked": worked, "pay": pa.array(pay.tolist(), pa.int64())})
    schema = Schema.of(
        {
            "columns": {
                "worked": {"type": "boolean"},
                "pay": {"type": "integer", "min": 0, "max": 9999, "nullable": True},
            },
            "constraints": [
                {"type": "null_when", "column": "pay", "where": {"worked": [False]}, "only": True}
            ],
        }
    )
    release = dprap.synthesize(table, schema, epsilon=1.0, insecure_noise_seed=1, intervals="no")
    drawn = release.table(seed=2)
    assert (drawn["pay"].isna() == ~drawn["worked"]).all()
    assert 0.5 < drawn["worked"].mean() < 0.7
