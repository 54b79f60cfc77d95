"""Schema files: what is read, and one-line errors for what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dprap.errors import SchemaError
from dprap.schema import Schema

YAML = (
    "columns:\n  age: {type: integer, min: 0, max: 99, width: 10}\n  sex: {type: categorical,"
    " values: [f, m]}\n"
)
TOML = (
    '[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\nwidth = 10\n[columns.sex]\ntype ='
    ' "categorical"\nvalues = ["f", "m"]\n'
)


def test_yaml_json_and_toml_agree(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(YAML)
    (tmp_path / "s.toml").write_text(TOML)
    schema = Schema.load(tmp_path / "s.yaml")
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.toml") == schema == Schema.load(str(tmp_path / "s.json"))
    assert schema.domain.sizes == (10, 2)


def test_domain_json(tmp_path: Path) -> None:
    (tmp_path / "domain.json").write_text('{"age": 85, "sex": 2}')
    schema = Schema.load(tmp_path / "domain.json")
    assert schema.domain.names == ("age", "sex")
    assert schema.domain.sizes == (85, 2)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"type": "integer", "min": 0}, "needs public bounds"),
        ({"type": "integer", "min": 9, "max": 0}, "min is above max"),
        ({"type": "integer", "min": 0.5, "max": 1}, "min: "),
        ({"type": "integer", "min": 0, "max": 9, "width": 0}, "width: must be above 0"),
        (
            {"type": "integer", "min": 0, "max": 9, "bins": 2, "width": 3},
            "only one of edges, width and bins",
        ),
        ({"type": "integer", "min": 0, "max": 9, "bins": 20}, "Ask for fewer bins"),
        ({"type": "integer", "min": 0, "max": 10**9, "width": 1}, "the limit is 1,048,576"),
        ({"type": "integer", "min": 1, "max": 9, "step": 10}, "no multiple of 10"),
        ({"type": "integer", "edges": [0, 5, 5, 9]}, "strictly increasing"),
        (
            {"type": "integer", "min": 0, "max": 9, "width": 5, "refine": True},
            "refine: true is for columns without bins",
        ),
        (
            {"type": "integer", "min": 0, "max": 99, "rounding": [[10, 2.0], [15, 3.0]]},
            "must divide the next",
        ),
        ({"type": "integer", "min": 0, "max": 300, "storage": "int8"}, "too small"),
        ({"type": "integer", "min": 0, "max": 3, "storage": "bool"}, "storage does not fit"),
        (
            {"type": "integer", "min": 0, "max": 3, "out_of_domain": "other"},
            "out_of_domain: other does not fit",
        ),
        ({"type": "integer", "min": 0, "max": 3, "out_of_domain": None}, "needs nullable: true"),
        (
            {"type": "integer", "min": 0, "max": 3, "colour": "red"},
            "colour: is not a known setting",
        ),
        ({"type": "number", "min": 0.2, "max": 0.7, "decimals": 0}, "no value at this precision"),
        ({"type": "number", "min": 0, "max": 9, "bins": 3, "spacing": "log"}, "spacing: log needs"),
        ({"type": "number", "min": 0, "max": 1, "bins": 20, "decimals": 1}, "holds no value"),
        ({"type": "number", "min": 0, "max": float("nan"), "bins": 20}, "max: "),
        (
            {
                "type": "number",
                "edges": [0, 1, 2],
                "decode": "representative",
                "representatives": [0.5, 3],
            },
            "own bin",
        ),
        ({"type": "categorical"}, "needs either values"),
        ({"type": "categorical", "values": []}, "values: "),
        ({"type": "categorical", "values": ["a", "a"]}, "lists a value twice"),
        ({"type": "categorical", "values": ["yes", True]}, "Quote text values"),
        ({"type": "categorical", "values": ["a"], "other": "a"}, "other must be a label"),
        (
            {"type": "categorical", "values": ["a"], "out_of_domain": "other"},
            "needs a catch-all label",
        ),
        ({"type": "categorical", "values": ["a"], "out_of_domain": "clip"}, "clip does not fit"),
        ({"type": "date", "min": "2020-01-01"}, "needs public bounds"),
        ({"type": "date", "min": "2020-01-01", "max": "2019-01-01"}, "min is after max"),
        ({"type": "date", "min": "soon", "max": "2019-01-01"}, "min: "),
        (
            {"type": "datetime", "min": "2020-01-01T00:00:00Z", "max": "2021-01-01T00:00:00Z"},
            "no time zone",
        ),
        (
            {"type": "datetime", "min": "2020-01-01", "max": "2021-01-01", "timezone": "Mars"},
            "not a known time zone",
        ),
        ({"type": "boolean", "true_values": ["x"], "false_values": ["x"]}, "no text in common"),
        ({"type": "colour"}, "unknown type"),
        ({"min": 0}, "needs a type"),
        ("integer", "column 'my col': "),
    ],
)
def test_bad_columns_are_named(tmp_path: Path, column: object, says: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"columns": {"my col": column}}))
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: column 'my col': ")
    assert says in message
    assert "\n" not in message
    assert "pydantic" not in message


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("s.yaml", "columns: [", "is not valid YAML near line"),
        ("s.json", '{"columns": ', "is not valid JSON near line"),
        ("s.toml", "columns = [", "is not valid TOML"),
        ("s.yaml", "- a\n", "a schema is a mapping"),
        ("s.txt", "x", "ends in .yaml"),
        ("s.yaml", "columns: {}\n", "lists no column"),
        ("s.yaml", "colums: {}\n", 'under the key "columns"'),
        ("s.yaml", "columns:\n  a: {type: boolean}\ncolour: 1\nsize: 2\n", "(1 more)"),
        ("s.yaml", "columns:\n  a: {type: boolean}\n  a: {type: boolean}\n", "'a' is given twice"),
        (
            "s.json",
            '{"columns": {"a": {"type": "boolean"}, "a": {"type": "boolean"}}}',
            "'a' is given twice",
        ),
        ("s.yaml", "columns:\n  no: {type: boolean}\n", "Quote the name"),
        ("s.yaml", "columns:\n  a: {type: boolean}\nignore_columns: [a]\n", "Remove one of them"),
        ("s.json", '{"a": 0}', "at least 1"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / name)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_unwritable_ending(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "none.yaml")
    with pytest.raises(SchemaError, match="written as"):
        Schema.from_domain({"a": 2}).save(tmp_path / "s.toml")


def test_errors_in_code_are_ours_too() -> None:
    with pytest.raises(SchemaError, match="column 'a': min is above max"):
        Schema(columns={"a": {"type": "integer", "min": 3, "max": 1}})
