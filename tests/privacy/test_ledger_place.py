"""Where a ledger is kept when nobody says: with the data set, found again whatever the container,
schema or order.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import dprap
from dprap.datasets import example, example_schema
from dprap.errors import LedgerError, WorkloadError
from dprap.mechanisms import independent
from dprap.privacy import default_ledger, named_ledger, read_ledger
from dprap.privacy.ledger.table_digest import content_digest
from dprap.schema import Schema
from dprap.sources.locate import find_files

FRAME = pd.DataFrame(
    {
        "age": [30, 41, 7],
        "weight": [61.5, np.nan, 20.0],
        "name": ["Ann", None, "Jürgen"],
        "seen": pd.to_datetime(["2024-02-29 10:00", "2020-01-01 00:00", None]),
        "adult": [True, True, False],
        "town": pd.Categorical(["Oslo", "Rome", "Oslo"]),
    }
)
QUICK = {"epsilon": 1.0, "kway": 1, "method": "independent"}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("DPRAP_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_table_in_files_keeps_its_ledger_beside_it(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "people.csv"
    file.write_text("a\n1\n")
    beside = tmp_path / "data" / "people.csv.dprap" / "ledger.jsonl"
    assert default_ledger(file) == default_ledger(str(file)) == beside
    (tmp_path / "link.csv").symlink_to(file)
    assert default_ledger(tmp_path / "link.csv") == beside
    monkeypatch.chdir(tmp_path / "data")
    assert default_ledger("people.csv") == beside
    folder = tmp_path / "data.dprap" / "ledger.jsonl"
    assert {
        default_ledger(name)
        for name in (tmp_path / "data", ".", "*.csv", f"{tmp_path}/data/*/x.csv")
    } == {folder}
    with pytest.raises(LedgerError, match="is a table without a ledger"):
        named_ledger(file)
    beside.parent.mkdir()
    beside.touch()
    assert named_ledger(file) == beside


@pytest.mark.parametrize(
    "table", ["postgresql://u@h/d", "postgres://h/d", "s3://bucket/people.parquet"]
)
def test_a_database_is_asked_for_a_place(table):
    with pytest.raises(LedgerError, match="--ledger FILE"):
        default_ledger(table)


def test_spark_is_asked_for_a_place(tmp_path):
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    for table, engine in (
        (frame, None),
        ("/hdfs/only/people.parquet", "spark"),
        (str(tmp_path), "postgres"),
    ):
        with pytest.raises(LedgerError, match="--ledger FILE"):
            default_ledger(table, engine=engine)
    assert default_ledger(tmp_path, engine="spark") == default_ledger(tmp_path), (
        "one table, one ledger"
    )


def test_the_root_has_no_place_beside_it():
    with pytest.raises(LedgerError, match="no place beside"):
        default_ledger("/")


def test_folders_of_ledgers_are_no_data(tmp_path):
    (tmp_path / "data" / "a.csv.dprap").mkdir(parents=True)
    (tmp_path / "data" / "a.csv").write_text("a\n1\n")
    (tmp_path / "data" / "a.csv.dprap" / "ledger.jsonl").write_text("{}")
    for location in (tmp_path / "data", f"{tmp_path}/data/*", f"{tmp_path}/*"):
        assert [file.path.name for file in find_files(location)] == ["a.csv"]


def test_the_same_content_has_the_same_digest_in_every_container():
    arrow = pa.Table.from_pandas(FRAME)
    others = [
        arrow,
        arrow.to_batches()[0],
        pl.from_arrow(arrow),
        FRAME.sample(frac=1, random_state=0),
        FRAME[sorted(FRAME)],
        FRAME.astype({"age": "int16", "weight": "float32", "name": object, "town": str}),
        FRAME.to_dict("list"),
    ]
    assert {content_digest(other) for other in others} == {content_digest(FRAME)}


class OwnFrame(pd.DataFrame):
    """A class made from pandas' own."""


def test_frames_of_other_classes_share_the_ledger_of_their_content():
    content = {"age": [30, 41], "sex": ["F", "M"]}
    assert content_digest(OwnFrame(content)) == content_digest(pd.DataFrame(content))


@pytest.mark.parametrize("column", FRAME.columns)
def test_one_changed_value_is_another_table(column):
    changed = FRAME.astype({"town": str})
    changed.loc[0, column] = changed.loc[2 if column == "adult" else 1, column]
    assert content_digest(changed) != content_digest(FRAME)
    assert content_digest(FRAME.rename(columns={column: "other"})) != content_digest(FRAME)
    assert content_digest(FRAME.drop(columns=column)) != content_digest(FRAME)
    assert content_digest(pd.concat([FRAME, FRAME])) != content_digest(FRAME)


def test_odd_objects_have_a_digest_too():
    odd = [b"\xff", "\ud800", 10**400, np.array([1, 2]), {"a": 1}, pd.NA, float("nan"), object]
    frame = pd.DataFrame({"odd": pd.Series(odd, dtype=object)})
    assert content_digest(frame) == content_digest(frame[::-1])
    assert content_digest(pd.DataFrame({"a": []})) != content_digest(pd.DataFrame({"b": []}))


class _Speechless:
    def __str__(self):
        raise RuntimeError("this object says nothing")

    __repr__ = __str__


def test_no_value_keeps_a_table_from_having_a_digest():
    no_utf8 = pa.array([b"\xff", b"a"]).view(pa.string())
    tables = [
        pd.DataFrame({"a": pd.Series([1, 10**5000], dtype=object)}),
        pd.DataFrame({"a": pd.Series(["x", _Speechless()], dtype=object)}),
        pl.DataFrame({"a": pl.Series([2**100], dtype=pl.Int128)}),
        *(
            pa.table({"a": array})
            for array in (
                no_utf8,
                pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
                pa.array([2**63 - 1]).view(pa.date64()),
                pa.array([2**62], pa.duration("s")),
                pa.array([[2**62]], pa.list_(pa.timestamp("s"))),
            )
        ),
    ]
    assert len({content_digest(table) for table in tables}) == len(tables)
    assert content_digest(pa.table({"a": no_utf8})) == content_digest(
        pa.table({"a": no_utf8.dictionary_encode()})
    )


def test_an_object_has_the_same_digest_in_the_next_process():
    # what `object()` says of itself is its address, which changes from process to process
    first, second = (
        pd.DataFrame({"a": pd.Series(["x", object()], dtype=object)}) for _ in range(2)
    )
    assert str(first["a"][1]) != str(second["a"][1])
    assert content_digest(first) == content_digest(second)


def test_two_schemas_and_two_libraries_meet_on_one_ledger(state, caplog):
    table = example(300, seed=1)
    columns = example_schema().as_mapping()["columns"]
    other = Schema.of({"columns": columns | {"age": columns["age"] | {"max": 99}}})
    dprap.synthesize(table, example_schema(), **QUICK)
    assert caplog.messages == []
    dprap.synthesize(table.to_pandas(), other, **QUICK)
    (ledger,) = state.glob("tables/*/ledger.jsonl")
    assert ledger == default_ledger(table)
    kept = read_ledger(ledger)
    assert len(kept.runs) == 2
    assert "1 run before spent or hold ρ = 0.0" in caplog.messages[0]
    assert "the sum is ρ = 0.0" in caplog.messages[1]
    dprap.synthesize(table.slice(0, 299), other, **QUICK)
    assert len(list(state.glob("tables/*/ledger.jsonl"))) == 2, "an edited table is another table"
    assert state.stat().st_mode & 0o077 == 0
    for path in state.rglob("*"):
        assert path.name in ("tables",) or path.stat().st_mode & 0o077 == 0, path


def test_no_memory_only_if_told_so(state, tmp_path):
    table = example(200, seed=1)
    dprap.synthesize(table, example_schema(), ledger=False, **QUICK)
    dprap.synthesize(table, example_schema(), insecure_noise_seed=1, **QUICK)
    assert not state.exists()
    with pytest.raises(dprap.errors.SettingsError, match="kept by a ledger"):
        dprap.synthesize(table, example_schema(), ledger=False, run="mine", **QUICK)


def test_a_lost_key_is_not_replaced_silently(state):
    ledger = default_ledger(FRAME)
    ledger.parent.mkdir(parents=True)
    (state / "key").unlink()
    with pytest.raises(LedgerError, match="Restore it"):
        default_ledger(FRAME)


def test_other_users_keys_give_other_names(state, tmp_path, monkeypatch):
    one = default_ledger(FRAME)
    monkeypatch.setenv("DPRAP_STATE", str(tmp_path / "other"))
    assert default_ledger(FRAME).parent.name != one.parent.name, (
        "guesses of the content cannot be tested by its name"
    )


def test_the_state_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("DPRAP_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert default_ledger(FRAME).is_relative_to(tmp_path / "xdg" / "dprap")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_ledger(FRAME).is_relative_to(tmp_path / "home" / ".local" / "state" / "dprap")


def test_a_place_that_cannot_be_written_is_said_before_spending(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPRAP_STATE", str(tmp_path / "file" / "below"))
    with pytest.raises(LedgerError, match="ledger= in Python"):
        dprap.synthesize(example(200, seed=1), example_schema(), **QUICK)


def test_a_run_that_fails_before_it_charges_leaves_no_ledger_behind(tmp_path, monkeypatch):
    def fail(*_, **__):
        assert (tmp_path / "people.csv.dprap" / "ledger.jsonl").exists()
        raise WorkloadError("too much")

    monkeypatch.setattr(independent, "MECHANISM", replace(independent.MECHANISM, run=fail))
    pa.csv.write_csv(example(100, seed=1), tmp_path / "people.csv")
    with pytest.raises(WorkloadError):
        dprap.synthesize(tmp_path / "people.csv", example_schema(), **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_named_run_resumes_in_python(tmp_path):
    table, ledger = example(200, seed=1), tmp_path / "l.jsonl"
    first = dprap.synthesize(table, example_schema(), ledger=ledger, run="spring", **QUICK)
    spent = read_ledger(ledger).spent_rho
    again = dprap.synthesize(table, example_schema(), ledger=ledger, run="spring", **QUICK)
    assert read_ledger(ledger).spent_rho == spent
    for one, two in zip(first.measurements, again.measurements, strict=True):
        np.testing.assert_array_equal(one.counts, two.counts)


def test_a_large_epsilon_and_a_second_fit_say_what_they_mean(caplog):
    model = dprap.Synthesizer(
        example_schema(), epsilon=12.0, kway=1, method="independent", ledger=False
    )
    model.fit(example(200, seed=1))
    assert "ε = 12 protects hardly anybody" in caplog.messages[0]
    caplog.clear()
    model.fit(example(200, seed=1))
    assert "spends ε = 12 again" in caplog.messages[0]


def test_rows_that_no_machine_holds_are_refused_before_anything_is_spent(state):
    for rows, message in ((10**12, "Ask for at most"), (0, "^rows must be at least 1, not 0")):
        with pytest.raises(dprap.errors.SettingsError, match=message):
            dprap.synthesize(example(200, seed=1), example_schema(), rows=rows, **QUICK)
    assert not list(state.glob("tables/*"))
