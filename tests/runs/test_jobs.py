"""Runs that are kept on disk: resumed from Python as from the command line, and old or odd job
files.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.driving import in_process, write_inputs

import dprap
from dprap.datasets import example, example_schema
from dprap.encoding import encode
from dprap.errors import DataError, DprapError, LedgerError, SettingsError
from dprap.privacy import read_ledger
from dprap.runs import carry_out
from dprap.runs.options import ABOUT, DEFAULTS, RunOptions
from dprap.runs.options import VERSION as OPTIONS_VERSION
from dprap.sources import MemorySource

QUICK = {"epsilon": 1.0, "kway": 1, "method": "independent"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPRAP_STATE", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def stopped(monkeypatch):
    """Let a call pay for its run and fail to write the release."""

    def stop(call):
        def full(*_):
            raise DataError("the disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr("dprap.encoding.write_tables.write_chunks", full)
            with pytest.raises(
                DataError,
                match="paid for and kept: `dprap resume out`, with other rows or table_format",
            ):
                call()

    return stop


def test_a_saved_run_is_resumed_from_python_and_spends_nothing_twice(folder, stopped):
    stopped(lambda: dprap.synthesize("table.csv", "schema.yaml", out="out", rows=30, **QUICK))
    spent = read_ledger("table.csv.dprap/ledger.jsonl").spent_rho
    assert not Path("out").exists()
    with pytest.raises(SettingsError, match="an earlier run for this output began there"):
        dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK)
    release = dprap.resume("out", rows=20, table_format="parquet")
    assert pyarrow.parquet.read_table("out/synthetic.parquet").num_rows == 20
    assert read_ledger("table.csv.dprap/ledger.jsonl").spent_rho == spent > 0
    with pytest.raises(SettingsError, match=r"^out is complete: .* Choose another folder"):
        dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK)
    again = dprap.resume("out")
    assert again.privacy == release.privacy
    with pytest.raises(SettingsError, match="is complete"):
        dprap.resume("out", rows=21)


def test_a_run_of_python_is_resumed_on_the_command_line(folder, stopped, monkeypatch, capsys):
    stopped(lambda: dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK))
    assert in_process(monkeypatch, capsys, "resume", "out", "--quiet").code == 0
    assert dprap.load("out").rows == 400


def test_a_table_in_memory_is_handed_over_again(folder, stopped, monkeypatch, capsys):
    table = example(200, seed=1)
    stopped(lambda: dprap.synthesize(table, example_schema(), out="out", **QUICK))
    assert "in memory" in in_process(monkeypatch, capsys, "resume", "out").err
    with pytest.raises(SettingsError, match="was in memory"):
        dprap.resume("out")
    with pytest.raises(LedgerError, match="other data"):
        dprap.resume("out", table=example(200, seed=2))
    assert dprap.resume("out", table=table).rows == 200


def test_what_a_file_cannot_keep_is_refused_before_anything_is_spent(folder):
    for odd, message in (
        ({"workload": dprap.marginals(example_schema(), 1)}, "workload is an object in memory"),
        ({"kway": 1, "settings": {"x": object()}}, "no setting 'x'"),
    ):
        with pytest.raises(SettingsError, match=message):
            dprap.synthesize(
                "table.csv", "schema.yaml", epsilon=1.0, method="independent", out="out", **odd
            )
    assert {path.name for path in folder.iterdir()} == {"table.csv", "table.parquet", "schema.yaml"}


def test_a_job_of_version_2_resumes(folder, stopped):
    stopped(lambda: dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK))
    path = Path("out.private/job.json")
    kept = json.loads(path.read_text())
    options = kept.pop("options")
    del options["version"], options["settings"]
    old = (
        kept
        | {"version": 2}
        | {name: options.pop(name) for name in ("run", "ledger", "rows", "table_format")}
    )
    old["options"] = options | {"workload_file": options.pop("workload")}
    old["options"] |= dict.fromkeys(("rounds", "queries_per_round", "synthetic_rows"))
    path.write_text(json.dumps(old))
    spent = read_ledger("table.csv.dprap/ledger.jsonl").spent_rho
    assert dprap.resume("out").rows == 400
    assert read_ledger("table.csv.dprap/ledger.jsonl").spent_rho == spent


def test_a_job_file_that_is_older_than_an_option_means_its_default():
    kept = RunOptions(epsilon=1.0, kway=2).as_plain(Path("/x"))
    later = {name for name, about in ABOUT.items() if about.since > 1}
    assert {"discover", "intervals", "target"} <= later
    assert {ABOUT[name].since for name in later} <= set(range(2, OPTIONS_VERSION + 1))
    for version in range(1, OPTIONS_VERSION + 1):
        older = {
            name: value
            for name, value in kept.items()
            if name == "version" or ABOUT[name].since <= version
        }
        options = RunOptions.from_plain(older | {"version": version}, Path("/x"))
        assert all(getattr(options, name) == DEFAULTS[name] for name in kept.keys() - older.keys())
        assert (options.epsilon, options.kway) == (1.0, 2)


def test_every_other_job_file_is_refused_in_a_line(folder, stopped):
    stopped(lambda: dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK))
    path = Path("out.private/job.json")
    kept = json.loads(path.read_text())
    before = read_ledger("table.csv.dprap/ledger.jsonl").spent_rho

    def refused(content, message):
        path.write_text(json.dumps(content))
        with pytest.raises(LedgerError, match=message) as error:
            dprap.resume("out")
        assert "\n" not in str(error.value)

    for version in (None, 1, 4, "3"):
        refused(kept | {"version": version}, "another version")
    for version in (0, OPTIONS_VERSION + 1, "1"):
        refused(kept | {"options": kept["options"] | {"version": version}}, "another version")
    for name in kept:
        refused(
            {key: value for key, value in kept.items() if key != name}, "another version|damaged"
        )
    for name in kept["options"]:
        refused(
            kept | {"options": {k: v for k, v in kept["options"].items() if k != name}},
            "another version|damaged",
        )
        odd = 3 if name == "target" else ["odd"]  # targets are a list
        refused(kept | {"options": kept["options"] | {name: odd}}, "another version|damaged")
    refused(kept | {"options": kept["options"] | {"insecure_noise_seed": 1}}, "damaged")
    refused(kept | {"options": kept["options"] | {"anchor": "command:touch owned"}}, "damaged")
    refused(kept | {"version": 2}, "damaged")
    refused([], "damaged")
    assert read_ledger("table.csv.dprap/ledger.jsonl").spent_rho == before


def test_python_reads_what_the_command_line_reads(folder):
    with pytest.raises(LedgerError, match="ledger=FILE"):
        dprap.synthesize(
            "postgresql://u@127.0.0.1:1/db", "schema.yaml", database_table="public.t", **QUICK
        )
    with pytest.raises(SettingsError, match="database and a table name go together"):
        dprap.synthesize("table.csv", "schema.yaml", database_table="public.t", **QUICK)
    release = dprap.synthesize("table.*v", "schema.yaml", engine="files", ledger="l.jsonl", **QUICK)
    assert release.rows == 400
    with pytest.raises(SettingsError, match="need a person column"):
        dprap.synthesize("table.csv", "schema.yaml", max_rows_per_person=2, **QUICK)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "x" * 5000], ids=["NUL", "surrogate", "long"])
@pytest.mark.parametrize("option", ["out", "ledger", "anchor", "workload", "public"])
def test_names_that_no_file_has_are_refused(folder, option, name):
    with pytest.raises(DprapError) as refused:
        dprap.synthesize(
            example(200, seed=1),
            example_schema(),
            **(QUICK | {"method": "adaptive"}),
            **{option: name},
        )
    assert "\n" not in str(refused.value)
    assert not list(folder.rglob("*.npz"))  # no result, so nothing was spent


@pytest.mark.parametrize("name", ["a\0b.csv", "a\ud800b.csv", "x" * 5000])
def test_tables_that_no_file_has_are_refused(folder, name):
    with pytest.raises(DprapError, match="Check the path"):
        dprap.synthesize(name, example_schema(), **QUICK)


def test_no_table_is_no_public_table(folder):
    with pytest.raises(DataError, match="cannot read a table from NoneType"):
        dprap.synthesize(None, example_schema(), **QUICK)


def test_a_source_that_holds_a_connection_is_closed_when_the_run_ends_or_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    class Connected(MemorySource):
        def close(self) -> None:
            closed.append("closed")

    monkeypatch.setattr(
        carry_out, "open_table", lambda table, schema, *_: Connected(encode(table, schema))
    )
    table, schema = pa.table({"a": [0, 1] * 50}), {"a": 2}
    dprap.synthesize(table, schema, epsilon=1.0, method="independent", ledger=False, intervals="no")
    assert closed == ["closed"]
    with pytest.raises(SettingsError):
        dprap.synthesize(table, schema, epsilon=1.0, method="nonsense", ledger=False)
    assert closed == ["closed"] * 2


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ("data", {"out": "data/out"}),
        ("data", {"out": "./data/deep/../out"}),
        ("data/*", {"out": "data/out"}),
        ("data/**/*.parquet", {"out": "data/out"}),
        ("data", {"out": "out", "ledger": "data/ledger.jsonl"}),
    ],
)
def test_nothing_is_written_where_it_would_be_read_as_data(folder, table, place):
    """The files of a release made the next look at the folder fail, so that no run could be
    resumed.
    """
    Path("data").mkdir()
    Path("table.parquet").rename("data/part.parquet")
    with pytest.raises(SettingsError, match="would be read as a part of the table"):
        dprap.synthesize(table, "schema.yaml", **place, **QUICK)
    assert [path.name for path in Path("data").iterdir()] == ["part.parquet"]
    assert not Path("data.dprap").exists()


@pytest.mark.parametrize(
    ("table", "out"),
    [("data", "data/_out"), ("data/*.parquet", "data/out"), ("data", "data-out")],
)
def test_what_is_never_read_as_data_may_stand_beside_it(folder, table, out):
    Path("data").mkdir()
    Path("table.parquet").rename("data/part.parquet")
    for each in (out, f"{out}2"):
        assert dprap.synthesize(table, "schema.yaml", out=each, **QUICK).rows == 400


def test_a_link_to_nowhere_is_refused_before_the_run_is_paid_for(folder):
    Path("out").symlink_to("nowhere")
    with pytest.raises(SettingsError, match="exists already"):
        dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK)
    assert not Path("table.csv.dprap").exists()


@pytest.mark.parametrize(
    "place",
    [
        {"out": "out", "ledger": "out/ledger.jsonl"},
        {"out": "out", "ledger": "./out/books/ledger.jsonl"},
        {"out": "same", "ledger": "same"},
        {"out": "table.csv.dprap"},
    ],
)
def test_a_ledger_in_the_folder_of_the_release_is_refused(folder, place):
    """The run was paid for, and then its folder was there already. The key of a ledger is not to be
    published either.
    """
    before = sorted(folder.iterdir())
    with pytest.raises(SettingsError, match="lies in the folder of the release"):
        dprap.synthesize("table.csv", "schema.yaml", **place, **QUICK)
    assert sorted(folder.iterdir()) == before


def test_a_ledger_may_stand_beside_what_is_kept_of_a_run(folder, stopped):
    place = {"out": "out", "ledger": "out.private/ledger.jsonl"}
    stopped(lambda: dprap.synthesize("table.csv", "schema.yaml", **place, **QUICK))
    assert dprap.resume("out").rows == 400


@pytest.mark.parametrize("name", ["", "a/b", "-"])
def test_a_name_that_no_run_can_have_is_refused_before_the_table_is_read(folder, name):
    """An empty one may come from a variable that nobody set: each call would spend again."""
    with pytest.raises(LedgerError, match="a run's name is made of letters"):
        dprap.synthesize("nowhere.csv", "schema.yaml", run=name, **QUICK)
    assert not Path("nowhere.csv.dprap").exists()


def test_two_runs_that_begin_at_once_do_not_take_one_place_to_be_kept(folder, monkeypatch):
    """While one of them read its table, the other began."""
    opened = carry_out.open_table

    def other_begins(*about):
        Path("out.private").mkdir()
        Path("out.private/job.json").write_text("of the other")
        return opened(*about)

    with monkeypatch.context() as patch:
        patch.setattr(carry_out, "open_table", other_begins)
        with pytest.raises(SettingsError, match="an earlier run for this output began there"):
            dprap.synthesize("table.csv", "schema.yaml", out="out", **QUICK)
    assert Path("out.private/job.json").read_text() == "of the other"
    assert not Path("table.csv.dprap/ledger.jsonl").exists(), "nothing was charged"
