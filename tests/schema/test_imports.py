"""Schemas from what other tools know, and back."""

from __future__ import annotations

import datetime as dt
import enum
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pandas as pd
import pydantic
import pytest

from dprap.encoding import draft_schema
from dprap.errors import SchemaError
from dprap.schema import Schema
from dprap.schema.exports import to_frictionless, to_sdv
from dprap.schema.imports import import_known, import_schema


def saved(tmp_path: Path, content: Any, name: str = "known.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_frictionless(tmp_path: Path) -> None:
    fields = [
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99, "required": True},
        },
        {
            "name": "pay",
            "type": "number",
            "decimalChar": ",",
            "groupChar": ".",
            "constraints": {"minimum": 0, "maximum": 1e6},
        },
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
        {
            "name": "day",
            "type": "date",
            "format": "%d/%m/%Y",
            "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"},
        },
    ]
    keyed = [{"name": "case", "type": "integer"}, *fields]
    package = {
        "resources": [
            {"schema": {"fields": keyed, "missingValues": ["", "NA"], "primaryKey": "case"}}
        ]
    }
    schema = import_schema(saved(tmp_path, package))
    assert schema.ignore_columns == ("case",)
    assert [column.type for column in schema.columns.values()] == [
        "integer",
        "number",
        "categorical",
        "date",
    ]
    assert schema.columns["pay"].place("1.234,5") >= 0
    assert schema.columns["pay"].null_values == ("", "NA")
    again = import_schema(saved(tmp_path, to_frictionless(schema)))
    assert {name: column.type for name, column in again.columns.items()} == {
        name: column.type for name, column in schema.columns.items()
    }
    assert again.columns["day"].place("31/12/2020") >= 0


class Kind(enum.Enum):
    A = "a"
    B = "b"


class Person(pydantic.BaseModel):
    age: Annotated[int, pydantic.Field(ge=0, lt=120)]
    kind: Kind
    pay: Annotated[float, pydantic.Field(ge=0, le=1e5)] | None = None
    smoker: bool
    mail: Annotated[str, pydantic.Field(json_schema_extra={"format": "email"})]


def test_pydantic_and_json_schema(tmp_path: Path) -> None:
    for source in (Person, saved(tmp_path, Person.model_json_schema())):
        schema = import_schema(source)
        assert schema.domain.size("age") == 120  # 0 to 119, one code each
        assert schema.columns["age"].last_value == 119  # type: ignore[union-attr]
        assert schema.columns["kind"].label_texts == {"a": 0, "b": 1}  # type: ignore[union-attr]
        assert schema.columns["pay"].nullable
        assert schema.columns["pay"].is_fine  # type: ignore[union-attr]
        assert schema.ignore_columns == ("mail",)
        assert schema.columns["smoker"].type == "boolean"


def test_sdv_completes_a_draft(tmp_path: Path) -> None:
    columns = {
        "person": {"sdtype": "id"},
        "phone": {"sdtype": "phone_number", "pii": True},
        "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
        "sex": {"sdtype": "categorical"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
    }
    path = saved(tmp_path, {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns})
    with pytest.raises(SchemaError, match="--known"):
        import_schema(path)
    days = [f"{1 + i % 12:02d}.{1 + i % 12:02d}.2024" for i in range(200)]
    frame = pd.DataFrame(
        {
            "person": range(200),
            "phone": ["1"] * 200,
            "day": days,
            "sex": ["F", "M"] * 100,
            "age": [30, 40] * 100,
        }
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    drafted = draft_schema(tmp_path / "table.csv", known=import_known(path))
    assert drafted.ignore_columns == ("person", "phone")
    assert drafted.as_mapping()["columns"]["day"]["format"] == "%d.%m.%Y"
    assert "format" not in drafted.draft_notes["day"].from_data
    back = to_sdv(drafted)["tables"]["table"]["columns"]
    assert back["day"] == {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}


def test_pandera(tmp_path: Path) -> None:
    text = """
schema_type: dataframe
columns:
  age: {dtype: int64, nullable: false, checks: {greater_than_or_equal_to: 0, less_than: 100}}
  sex: {dtype: str, nullable: true, checks: {isin: [F, M]}}
  pay: {dtype: float64, nullable: false, checks: [{min_value: 0, max_value: 10, options: {check_name: in_range}}]}
  id: {dtype: int64, unique: true}
"""
    schema = import_schema(saved(tmp_path, text, "pandera.yaml"))
    assert schema.domain.sizes[:2] == (100, 3)
    assert schema.columns["pay"].is_fine  # a run finds its intervals  # type: ignore[union-attr]
    assert schema.ignore_columns == ("id",)
    check = SimpleNamespace(name="isin", statistics={"allowed_values": ["x", "y"]})
    column = SimpleNamespace(dtype="object", checks=[check], nullable=False, description=None)
    shaped = type(
        "DataFrameSchema", (), {"__module__": "pandera.api", "columns": {"kind": column}}
    )()
    assert import_known(shaped) == {"kind": {"type": "categorical", "values": ["x", "y"]}}


def test_croissant(tmp_path: Path) -> None:
    content = {
        "@context": {},
        "recordSet": [
            {"@id": "sexes", "field": [{"@id": "sexes/name", "dataType": "sc:Text"}], "data": [{"sexes/name": "F"}, {"sexes/name": "M"}]},
            {"@id": "people", "field": [
                {"@id": "people/age", "name": "age", "dataType": "sc:Integer"},
                {"@id": "people/sex", "name": "sex", "dataType": "sc:Text", "references": {"field": {"@id": "sexes/name"}}},
            ]},
        ],
    }  # fmt: skip
    assert import_known(saved(tmp_path, content)) == {
        "age": {"type": "integer"},
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }


def test_value_labels(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"q1": [1.0, 2.0, 99.0], "weight": [0.5, 1.5, 1.0]})
    labels = {"q1": {1.0: "yes", 2.0: "no", 99.0: "refused"}}
    pyreadstat.write_sav(
        frame, str(tmp_path / "t.sav"), variable_value_labels=labels, missing_ranges={"q1": [99]}
    )
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "t.dta"),
        variable_value_labels={"q1": {1: "yes", 2: "no", 99: "refused"}},
    )
    found = import_known(tmp_path / "t.sav")["q1"]
    assert found is not None
    assert found["values"] == [1, 2]
    assert found["null_values"] == ["99"]
    stata = import_known(tmp_path / "t.dta")["q1"]
    assert stata is not None
    assert stata["values"] == [1, 2, 99]
    column = Schema.of({"columns": {"q1": found}}).columns["q1"]
    assert [column.place(value) for value in (1.0, 2, 99.0)] == [0, 1, -3]


def test_code_book(tmp_path: Path) -> None:
    text = (
        "Variable;Value;Label;Missing;Min;Max;Type\nsex;1;male;;;;\n;2;female;;;;\n;9;refused;x;;;\nage;;years;98,"
        " 99;0;97;integer\n"
    )
    schema = import_schema(saved(tmp_path, text, "codes.csv"))
    assert schema.as_mapping()["columns"]["sex"]["values"] == [1, 2]
    assert schema.columns["sex"].null_values == ("9",)
    assert schema.columns["age"].null_values == ("98", "99")
    with pytest.raises(SchemaError, match="no code book"):
        import_known(saved(tmp_path, "a,b\n1,2\n", "other.csv"))


def test_what_is_none_of_these(tmp_path: Path) -> None:
    for source in (
        saved(tmp_path, {"a": 1}),
        saved(tmp_path, "x", "t.bin"),
        7,
        saved(tmp_path, "{", "bad.json"),
    ):
        with pytest.raises(SchemaError):
            import_known(source)


def test_exports_take_all_column_types() -> None:
    schema = Schema.of(
        {
            "columns": {
                "a": {"type": "categorical", "groups": {"x": ["p", "q"]}},
                "b": {"type": "boolean", "true_values": ["ja"], "false_values": ["nein"]},
                "c": {"type": "number", "edges": [0, 1, 5], "format": {"prefix": "$"}},
                "d": {
                    "type": "datetime",
                    "min": dt.datetime(2024, 1, 1),  # noqa: DTZ001
                    "max": dt.datetime(2025, 1, 1),  # noqa: DTZ001
                },
            }
        }
    )
    fields = {field["name"]: field for field in to_frictionless(schema)["fields"]}
    assert fields["a"]["constraints"]["enum"] == ["p", "q"]
    assert fields["b"]["trueValues"] == ["ja"]
    assert fields["c"]["bareNumber"] is False
    assert json.loads(json.dumps(to_frictionless(schema)))
    assert to_sdv(schema)["tables"]["table"]["columns"]["d"]["sdtype"] == "datetime"
