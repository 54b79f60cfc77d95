"""Orders and sums hold in every decoded record, alone and together, whatever the bins."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from dprap.encoding import decode, encode
from dprap.errors import SchemaError, SettingsError
from dprap.relaxed import RelaxedDataset, uniform_weights
from dprap.release.draw_records import draw_table
from dprap.schema import Schema

NAMES = ("a", "b", "c", "d")


@st.composite
def columns(draw: st.DrawFn, decimals: int) -> dict[str, Any]:
    """An integer column, or a number with decimals, between bounds that overlap with those of the
    others.
    """
    low, span = draw(st.integers(-5, 5)), draw(st.integers(6, 60))
    width = draw(st.integers(1, 9))
    null = {"nullable": True} if draw(st.booleans()) else {}
    if decimals == 0:
        return {"type": "integer", "min": low, "max": low + span, "width": width, **null}
    return {
        "type": "number",
        "min": low,
        "max": low + span,
        "width": width,
        "decimals": decimals,
        **null,
    }


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    decimals = draw(st.sampled_from([0, 2]))
    described = {name: draw(columns(decimals)) for name in NAMES}
    constraints: list[dict[str, Any]] = []
    kinds = draw(st.sets(st.sampled_from(["ab", "bc", "sum", "least"]), min_size=1))
    if "ab" in kinds:
        constraints.append({"type": "order", "smaller": "a", "larger": "b"})
    if "bc" in kinds:
        constraints.append({"type": "order", "smaller": "b", "larger": "c"})
    if "sum" in kinds:
        constraints.append({"type": "sum", "parts": ["a", "b"], "total": "d"})
    elif "least" in kinds:
        constraints.append({"type": "sum", "parts": ["a", "c"], "total": "d", "relation": "<="})
    return Schema.of({"columns": described, "constraints": constraints})


def product_rows(schema: Schema, seed: int) -> RelaxedDataset:
    rng = np.random.default_rng(seed)
    blocks = [rng.dirichlet(np.full(size, 0.5), 4).T for size in schema.domain.sizes]
    return RelaxedDataset(
        schema.domain, np.concatenate(blocks).astype(np.float32), uniform_weights(4)
    )


def assert_kept(schema: Schema, frame: Any) -> None:
    for constraint in schema.constraints:
        names = (
            (constraint.smaller, constraint.larger)
            if constraint.type == "order"
            else (*constraint.parts, constraint.total)
        )
        whole = frame[list(names)].dropna().astype(float)
        parts, total = whole[list(names[:-1])].sum(axis=1), whole[names[-1]]
        if constraint.type == "sum" and constraint.relation == "=":
            assert ((parts - total).abs() < 1e-9).all(), names
        else:
            assert (parts <= total + 1e-9).all(), names


@settings(max_examples=12, deadline=None)
@given(schemas(), st.integers(0, 1000))
def test_relations_hold_in_every_record(schema: Schema, seed: int) -> None:
    try:
        codes = draw_table(
            product_rows(schema, seed), schema, [("a", "b"), ("b", "d")], rows=120, seed=seed
        )
    except SettingsError:  # the constraints leave no record
        return
    table = decode(codes, schema, seed=seed)
    assert_kept(schema, table.to_pandas())
    again = encode(table, schema)
    assert all(
        (one == other).all() for one, other in zip(codes.columns, again.columns, strict=True)
    )


def test_impossible_codes_are_those_without_values() -> None:
    """Against all values, one by one."""
    schema = Schema.of(
        {
            "columns": {
                **{
                    name: {"type": "integer", "min": 0, "max": 8, "width": 3}
                    for name in ("a", "b", "c")
                },
                "d": {"type": "integer", "min": 0, "max": 9, "width": 4},
            },
            "constraints": [
                {"type": "order", "smaller": "a", "larger": "b"},
                {"type": "order", "smaller": "b", "larger": "c"},
                {"type": "sum", "parts": ["a", "d"], "total": "c"},
            ],
        }
    )
    from dprap.schema.relations import Relations

    every = np.stack(
        np.meshgrid(*(np.arange(size) for size in schema.domain.sizes), indexing="ij")
    ).reshape(4, -1)
    held = dict(zip(NAMES, every, strict=True))
    found = Relations(schema.columns, schema.code_constraints).impossible(held)
    a, b, c, d = np.stack(np.meshgrid(*(np.arange(10),) * 4, indexing="ij")).reshape(4, -1)
    kept = (a <= b) & (b <= c) & (a + d == c) & (np.maximum(np.maximum(a, b), c) <= 8)
    possible = {
        tuple(each)
        for each in np.stack([a // 3, b // 3, c // 3, np.minimum(d // 4, 2)])[:, kept].T.tolist()
    }
    for cell, is_impossible in zip(every.T.tolist(), found.tolist(), strict=True):
        assert (tuple(cell) not in possible) == is_impossible, cell


def test_an_order_of_fine_columns_is_checked_without_a_table_of_their_cells() -> None:
    """Two grids of a million points each have 10^12 cells."""
    import pyarrow as pa

    from dprap.encoding import check

    fine = {"type": "integer", "min": 0, "max": 1_000_000}
    schema = Schema.of(
        {
            "columns": {"a": fine, "b": fine},
            "constraints": [{"type": "order", "smaller": "a", "larger": "b"}],
        }
    )
    assert check(schema, pa.table({"a": [5, 7], "b": [5, 900_000]})).is_ready
    assert "constraint 1 on a, b" in check(schema, pa.table({"a": [5], "b": [4]})).problems[0]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ({"parts": ["a", "b"], "total": "x"}, "same steps"),
        ({"parts": ["a", "k"], "total": "b"}, "no order"),
        ({"parts": ["a", "day"], "total": "b"}, "different kinds"),
        ({"parts": ["day"], "total": "later", "relation": "<="}, "holds no numbers"),
        ({"parts": ["a", "a"], "total": "b"}, "twice"),
        ({"parts": ["a", "nobody"], "total": "b"}, "does not have"),
    ],
)
def test_sums_that_make_no_sense_are_refused(constraint: dict[str, Any], message: str) -> None:
    day = {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "unit": "month"}
    described = {
        "a": {"type": "integer", "min": 0, "max": 9},
        "b": {"type": "integer", "min": 0, "max": 9},
        "x": {"type": "number", "min": 0, "max": 9, "decimals": 1},
        "k": {"type": "boolean"},
        "day": day,
        "later": day,
    }
    with pytest.raises(SchemaError, match=message):
        Schema.of({"columns": described, "constraints": [{"type": "sum", **constraint}]})
