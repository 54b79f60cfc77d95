"""`max_rows_per_person` from the user's hands to the counts: the person column is read, enforced
and never published.
"""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.driving import in_process

import dprap
from dprap.accounting import Neighbors, Relation
from dprap.errors import DataError, SchemaError, SettingsError
from dprap.privacy import Excess, PersonColumn, open_bounded
from dprap.schema import Schema
from dprap.sources import MemorySource

SCHEMA = Schema.from_domain({"a": 4, "b": 3})
TABLE = pa.table({"a": [0, 1, 2, 3], "person": ["x", "y", "x", "x"], "b": [0, 1, 2, 0]})
TWO = Neighbors(Relation.ADD_REMOVE, 2)
DROP = PersonColumn("person", Excess.DROP)


def table_as(kind, folder):
    if kind == "pandas":
        return TABLE.to_pandas()
    if kind == "polars":
        return pl.from_arrow(TABLE)
    if kind == "csv":
        pa.csv.write_csv(TABLE, folder / "t.csv")
        return folder / "t.csv"
    if kind == "parquet":
        pa.parquet.write_table(TABLE, folder / "t.parquet")
        return str(folder / "t.parquet")
    return TABLE


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "csv", "parquet"])
def test_records_beyond_the_bound_are_dropped_or_refused(kind, tmp_path):
    table = table_as(kind, tmp_path)
    source = open_bounded(table, SCHEMA, neighbors=TWO, person=DROP)
    assert isinstance(source, MemorySource)
    assert source.codes.column("a").tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="somebody has more records than the 2 allowed") as caught:
        open_bounded(table, SCHEMA, neighbors=TWO, person=PersonColumn("person"))
    assert "x" not in str(caught.value).replace("max-rows", "").replace("excess", "")
    three = Neighbors(Relation.REPLACE, 3)
    assert open_bounded(table, SCHEMA, neighbors=three, person=PersonColumn("person")).rows == 4


def test_one_record_a_person_is_enforced_too_where_a_column_is_named():
    with pytest.raises(DataError, match="somebody has more records than the 1 allowed"):
        open_bounded(TABLE, SCHEMA, neighbors=Neighbors(), person=PersonColumn("person"))


def test_a_bound_without_a_person_column_is_refused():
    plain = TABLE.drop_columns(["person"])
    with pytest.raises(SettingsError, match="need a person column"):
        open_bounded(plain, SCHEMA, neighbors=TWO, person=None)
    with pytest.raises(SettingsError, match="need a person column"):
        dprap.synthesize(plain, SCHEMA, epsilon=1.0, delta=1e-6, neighbors=TWO)
    assert open_bounded(plain, SCHEMA, neighbors=Neighbors(), person=None).rows == 4


def test_what_cannot_be_bounded_is_refused_before_it_is_opened(tmp_path):
    def refused(data):
        with pytest.raises(SettingsError, match="in memory only"):
            open_bounded(data, SCHEMA, neighbors=TWO, person=DROP)

    refused("postgresql://nowhere/db")
    refused(tmp_path)  # a folder is read out of core
    refused(f"{tmp_path}/*.parquet")
    frame = type("DataFrame", (SimpleNamespace,), {"__module__": "pyspark.sql.dataframe"})()
    refused(frame)
    with pytest.raises(DataError, match="no such file"):
        open_bounded(tmp_path / "nope.csv", SCHEMA, neighbors=TWO, person=DROP)
    lines = tmp_path / "t.jsonl"  # whose number of records nobody knows before
    lines.write_text("".join(json.dumps(record) + "\n" for record in TABLE.to_pylist()))
    with pytest.raises(SettingsError, match="fits in memory, add --engine memory"):
        open_bounded(lines, SCHEMA, neighbors=TWO, person=DROP)
    assert open_bounded(lines, SCHEMA, neighbors=TWO, person=DROP, engine="memory").rows == 3


def test_bad_person_columns(tmp_path):
    with pytest.raises(SchemaError, match="not in the table"):
        open_bounded(TABLE, SCHEMA, neighbors=TWO, person=PersonColumn("who"))
    with pytest.raises(SchemaError, match="Remove it from the schema"):
        open_bounded(
            TABLE, Schema.from_domain({"a": 4, "b": 3, "person": 9}), neighbors=TWO, person=DROP
        )
    with pytest.raises(SchemaError, match="'more': is in the table and not in the schema"):
        open_bounded(TABLE.append_column("more", TABLE["a"]), SCHEMA, neighbors=TWO, person=DROP)
    with pytest.raises(SettingsError, match="none may be dropped"):
        open_bounded(TABLE, SCHEMA, neighbors=Neighbors(Relation.REPLACE, 2), person=DROP)
    (tmp_path / "gap.csv").write_text("a,b,person\n0,0,x\n1,1,\n")
    with pytest.raises(DataError, match="some record has no person id"):
        open_bounded(tmp_path / "gap.csv", SCHEMA, neighbors=TWO, person=DROP)
    frame = pd.DataFrame({"a": [0], "b": [0], "person": [object()]})
    with pytest.raises(DataError, match="column 'person'"):
        open_bounded(frame, SCHEMA, neighbors=TWO, person=DROP)


def test_through_python():
    release = dprap.synthesize(
        TABLE, SCHEMA, epsilon=1.0, delta=1e-6, neighbors=TWO, person_column="person", excess="drop", kway=1,
        method="independent",
    )  # fmt: skip
    assert release.privacy.max_rows_per_person == 2
    assert "person" not in release.table(rows=3).columns
    assert "all (up to 2) records of one person" in release.privacy.sentence()


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    generator = np.random.default_rng(0)
    pa.csv.write_csv(
        pa.table({"who": np.repeat(np.arange(50), 3), "a": generator.integers(0, 4, 150)}),
        tmp_path / "t.csv",
    )
    Schema.from_domain({"a": 4}).save(tmp_path / "s.yaml")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = in_process(monkeypatch, capsys, *arguments)
        return done.code, done.out, done.err

    return run


SYNTH = (
    "synth",
    "t.csv",
    "--schema",
    "s.yaml",
    "-e",
    "1",
    "--delta",
    "1e-6",
    "--method",
    "independent",
    "--kway",
    "1",
)


def test_through_the_command_line_and_resumed(cli, tmp_path):
    import shutil

    bounded = (
        "--neighbors",
        "add-remove",
        "--max-rows-per-person",
        "2",
        "--person-column",
        "who",
        "--excess",
        "drop",
    )
    code, out, _ = cli(*SYNTH, *bounded, "--out", "out")
    assert code == 0
    assert "all (up to 2) records of one person" in out
    options = json.loads((tmp_path / "out.private" / "job.json").read_text())["options"]
    assert (options["person_column"], options["excess"]) == ("who", "drop")
    shutil.rmtree(tmp_path / "out")
    assert cli("resume", "out")[0] == 0
    assert cli("evaluate", "out", "t.csv", "--person-column", "who", "--excess", "drop")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-rows-per-person", "2"), "need a person column"),
        (
            ("--max-rows-per-person", "2", "--person-column", "who"),
            "somebody has more records than the 2 allowed",
        ),
        (
            ("--max-rows-per-person", "3", "--person-column", "who", "--excess", "drop"),
            "none may be dropped",
        ),
        (
            ("--max-rows-per-person", "3", "--person-column", "who", "--excess", "some"),
            "--excess must be one of",
        ),
        (("--max-rows-per-person", "3", "--person-column", "whom"), "column 'whom'"),
    ],
)
def test_refusals_on_the_command_line(cli, tmp_path, options, message):
    code, out, err = cli(*SYNTH, *options, "--out", "out")
    assert code == 3
    assert message in err
    assert out == ""
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.yaml", "t.csv"]
