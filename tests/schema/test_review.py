"""The review of a draft: who vouches for what, and nothing of the data in what is published."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from dprap.cli.app import app
from dprap.encoding import draft_schema
from dprap.errors import SchemaError
from dprap.schema import Schema
from dprap.schema.review import accept, coarsen, drop, edit, finish, to_review

TODAY = dt.date(2026, 1, 31)


def drafted() -> Schema:
    return Schema.of(
        {
            "draft": True,
            "columns": {
                "age": {"type": "integer", "min": 0, "max": 90},
                "gain": {
                    "type": "integer",
                    "edges": [0, 1, 10, 100, 1000, 10000],
                    "out_of_domain": "clip",
                },
                "city": {"type": "categorical", "values": ["Lima", "Oslo", "Rome"]},
                "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "unit": "week"},
            },
            "ignore_columns": ["name"],
            "draft_notes": {
                "age": {"reason": "few values", "from_data": ["min", "max"]},
                "gain": {"reason": "93% are zero", "from_data": ["edges"]},
                "city": {"reason": "categories", "from_data": ["values"]},
                "day": {"reason": "dates", "from_data": ["min", "max"], "question": "day first?"},
                "name": {"reason": "names of persons"},
            },
        }
    )


def test_what_is_accepted_is_vouched_for_and_what_is_edited_is_not() -> None:
    schema = edit(drafted(), "age", {"max": 120})
    for name in ("age", "gain", "day"):
        schema = accept(schema, name, by="A. Lee", because="code book", on=TODAY)
    with pytest.raises(SchemaError, match="city"):
        finish(schema)
    schema = finish(drop(schema, "city"))
    assert not schema.is_draft
    assert schema.ignore_columns == ("name", "city")
    assert schema.vouched["age"].settings == ("min",)
    assert schema.vouched["gain"].settings == ("edges",)
    # what the notes said of the data is gone
    assert "93%" not in str(schema.as_mapping())
    assert Schema.of(schema.as_mapping()) == schema


def test_coarser_columns_tell_less_and_still_come_from_the_data() -> None:
    schema = drafted()
    for name in ("age", "gain", "day"):
        before = schema.columns[name].size
        schema = coarsen(schema, name)
        assert schema.columns[name].size < before
        assert schema.draft_notes[name].from_data
    assert schema.as_mapping()["columns"]["gain"]["edges"][:2] == [0, 1]  # zero stays alone
    assert (
        coarsen(schema, "city", into_other=["Oslo"]).as_mapping()["columns"]["city"]["other"]
        == "other"
    )
    with pytest.raises(SchemaError, match="name some"):
        coarsen(schema, "city")


@pytest.mark.parametrize("reason", ["", "   "])
def test_a_reason_is_needed(reason: str) -> None:
    with pytest.raises(SchemaError, match="who vouches"):
        accept(drafted(), "age", by="A. Lee", because=reason, on=TODAY)


def test_the_walk_in_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    drafted().save(path)
    answers = ["A. Lee", "e", "max: 120", "a", "the oldest person", "c", "a", "tax law", "d", "q"]
    stopped = CliRunner().invoke(
        app, ["schema", "review", str(path)], input="\n".join(answers) + "\n"
    )
    assert stopped.exit_code == 0, stopped.output
    half = Schema.load(path)
    assert half.is_draft
    assert to_review(half) == ["day"]
    done = CliRunner().invoke(
        app, ["schema", "review", str(path), "--by", "B. Ray"], input="a\npublished calendar\n"
    )
    assert done.exit_code == 0, done.output
    schema = Schema.load(path)
    assert not schema.is_draft
    assert {name: vouch.by for name, vouch in schema.vouched.items()} == {
        "age": "A. Lee",
        "gain": "A. Lee",
        "day": "B. Ray",
    }
    assert schema.vouched["gain"].because == "tax law"


def test_the_release_says_who_vouches(tmp_path: Path) -> None:
    import pyarrow as pa

    import dprap

    schema = Schema.of(
        {
            "columns": {"sex": {"type": "categorical", "values": ["F", "M"]}},
            "vouched": {
                "sex": {
                    "by": "A. Lee",
                    "because": "everybody knows",
                    "on": "2026-01-31",
                    "settings": ["values"],
                }
            },
        }
    )
    table = pa.table({"sex": ["F", "M"] * 200})
    release = dprap.synthesize(
        table, schema, epsilon=1.0, kway=1, method="independent", ledger=False
    )
    assert "A. Lee vouches that values of 'sex' are public: everybody knows" in release.guarantee
    release.save(tmp_path / "release")
    assert "A. Lee vouches" in (tmp_path / "release" / "release.json").read_text()
    assert dprap.load(tmp_path / "release").guarantee == release.guarantee


@pytest.mark.parametrize(
    "line",
    [
        'values: null, groups: {w: [w, "W "], m: [m]}',
        '{values: null, groups: {w: [w, "W "], m: [m]}}',
    ],
)
def test_settings_within_settings_can_be_edited(tmp_path: Path, line: str) -> None:
    path = tmp_path / "schema.yaml"
    table = pa.table({"": [None] * 300, "sex": ["w", "W ", "m"] * 100})
    draft_schema(table).save(path)
    done = CliRunner().invoke(
        app,
        ["schema", "review", str(path), "--by", "B. Ray", "--because", "it is so"],
        input=f"e\n{line}\na\n",
    )
    assert done.exit_code == 0, done.output
    assert (
        "To count them together, take values out and name groups instead: groups: {" in done.output
    )
    assert "left out   (a column without a name): " in done.output
    assert Schema.load(path).columns["sex"].size == 2


@pytest.mark.parametrize("line", ["yes", "min 0", "min:0"])
def test_what_is_no_setting_is_said(line: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    drafted().save(path)
    done = CliRunner().invoke(
        app, ["schema", "review", str(path), "--by", "B. Ray"], input=f"e\n{line}\nq\n"
    )
    assert "write settings as NAME: VALUE, such as  min: 0, max: 120." in done.output
    assert "age (1 of 4)" in done.output
