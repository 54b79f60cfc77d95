"""Drafts: proposed from data, refused until reviewed, good enough to encode the table they came from."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from dprap.datasets import example
from dprap.encoding import check, decode, draft_schema, encode
from dprap.errors import DataError, SchemaError
from dprap.schema import Schema


@pytest.mark.parametrize("kind", ["arrow", "pandas", "csv"])
def test_a_draft_is_refused_until_reviewed_and_then_works(tmp_path: Path, kind: str) -> None:
    arrow = example(2_000, seed=3)
    path = tmp_path / "table.csv"
    pa.csv.write_csv(arrow, path)
    table = {"arrow": arrow, "pandas": arrow.to_pandas(), "csv": path}[kind]
    draft = draft_schema(table)
    with pytest.raises(SchemaError, match="draft"):
        draft.require_reviewed()
    assert not check(draft, table).is_ready
    draft.save(tmp_path / "schema.yaml")
    text = (tmp_path / "schema.yaml").read_text()
    assert text.startswith("# DRAFT: the bounds and categories below were taken from the data.")
    (tmp_path / "schema.yaml").write_text(text.replace("draft: true\n", ""))
    reviewed = Schema.load(tmp_path / "schema.yaml")
    assert check(reviewed, table).is_ready
    codes = encode(table, reviewed)
    again = encode(decode(codes, reviewed, seed=0), reviewed)
    assert all((a == b).all() for a, b in zip(codes.columns, again.columns, strict=True))


def test_types_are_recognised() -> None:
    table = pa.table(
        {
            "constant": ["x"] * 120,
            "id": [f"p{i}" for i in range(120)],
            "nothing": pa.nulls(120),
            "money": pa.array([Decimal("12.34") * i for i in range(120)], pa.decimal128(10, 2)),
            "day": pa.array([dt.datetime(2020, 1, 1 + i % 28) for i in range(120)], pa.timestamp("ns")),  # noqa: DTZ001
            "zoned": pa.array([i * 10**9 for i in range(120)], pa.timestamp("ms", "Europe/Berlin")),
            "count": pa.array([None, *range(119)], pa.float64()),
            "tail": [0.5 + 1.7**i for i in range(30)] * 4,
            "small": pa.array([i % 3 for i in range(120)], pa.uint8()),
        }
    )
    draft = draft_schema(table)
    assert draft.ignore_columns == ("id", "nothing")
    described = {name: (column.type, column.storage) for name, column in draft.columns.items()}
    assert described == {
        "constant": ("categorical", None),
        "money": ("number", "decimal128(10, 2)"),
        "day": ("date", "timestamp[ns]"),
        "zoned": ("datetime", "timestamp[ms]"),
        "count": ("integer", "float64"),
        "tail": ("number", None),
        "small": ("integer", "uint8"),
    }
    assert draft.as_mapping()["columns"]["tail"]["spacing"] == "log"
    reviewed = draft.model_copy(update={"is_draft": False})
    table_back = decode(encode(table, reviewed), reviewed, seed=1)
    assert table_back.schema.types == table.drop_columns(["id", "nothing"]).schema.types


def test_csv_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,n,flag\n007,?,true\n013,5,false\n")
    draft = draft_schema(path)
    assert [column.type for column in draft.columns.values()] == ["categorical", "integer", "boolean"]
    assert draft.columns["n"].null_values == ("?",)


def test_nothing_to_draft_from() -> None:
    with pytest.raises(DataError, match="no records"):
        draft_schema(pa.table({"x": pa.array([], pa.int64())}))
    with pytest.raises(SchemaError, match="no column"):
        draft_schema(pa.table({"x": pa.nulls(3)}))
