"""Budget is never lost, hidden or spent twice: one ledger a data set, everything checked before
spending, ways on after.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import yaml
from tests.cli.driving import COLUMNS_ALONE, ROWS, Done, in_process

from dprap.errors import DataError, WorkloadError
from dprap.privacy import Curator, read_ledger
from dprap.release import load

Run = Callable[..., Done]
SYNTH = (*COLUMNS_ALONE, "--method", "independent", "--intervals", "no")
LEDGER = "table.parquet.dprap/ledger.jsonl"


@pytest.fixture
def run(inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(inputs)
    return lambda *arguments: in_process(monkeypatch, capsys, *arguments)


def stop_before_saving(monkeypatch: pytest.MonkeyPatch, run: Run, *arguments: str) -> None:
    """A run that is paid for and whose release cannot be written."""
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise DataError(
                "synthetic.parquet: cannot be written (No space left on device). Check the folder."
            )

        patch.setattr("dprap.encoding.write_tables.write_chunks", full)
        done = run(*SYNTH, *arguments)
    assert done.code == 3
    assert "The run is paid for and kept: `dprap resume" in done.err


def test_two_runs_without_options_land_on_one_ledger_and_the_sum_is_shown(
    run: Run, inputs: Path
) -> None:
    first = run(*SYNTH, "--out", "one")
    assert "nothing was spent on this data set before" in first.err
    second = run(*SYNTH, "--out", "two")
    state = read_ledger(inputs / LEDGER)
    assert len(state.runs) == 2
    one = float(next(iter(state.runs.values())).spent_rho)
    assert f"1 run before spent or hold ρ = {one:.4g}, which is ε = " in second.err
    assert f"With this run the sum is ρ = {2 * one:.4g}, which is ε = " in second.err
    before = second.err.index("With this run")
    assert before < second.err.index("measure 1/1"), "before it is spent"
    assert len(json.loads(run("ledger", "show", "table.parquet", "--json").out)["runs"]) == 2
    assert not (inputs / "one.private" / "ledger.jsonl").exists()


def test_a_folder_keeps_its_ledger_beside_it_and_does_not_read_it(run: Run, inputs: Path) -> None:
    (inputs / "data").mkdir()
    shutil.copy(inputs / "table.csv", inputs / "data" / "part.csv")
    for out, table in (("one", "data"), ("two", "data/*.csv"), ("three", "./data/")):
        assert run("synth", table, *SYNTH[2:], "--out", out, "--quiet").code == 0
    assert len(read_ledger(inputs / "data.dprap" / "ledger.jsonl").runs) == 3
    assert load(inputs / "three").rows == ROWS


def test_a_database_must_be_told_where(run: Run, inputs: Path) -> None:
    before = set(inputs.iterdir())
    done = run(
        "synth", "postgresql://u@127.0.0.1:1/db", "--table", "public.t", *SYNTH[2:], "--out", "out"
    )
    assert (done.code, done.err.count("\n")) == (4, 1)
    assert "--ledger FILE" in done.err
    assert set(inputs.iterdir()) == before


@pytest.mark.parametrize("address", ["http://x/y.csv", "s3://bucket/key", "file:///table.parquet"])
def test_an_address_that_nobody_reads_is_refused_at_once(
    run: Run, inputs: Path, address: str
) -> None:
    for ledger in ([], ["--ledger", "l.jsonl"]):
        done = run("synth", address, *SYNTH[2:], "--out", "out", *ledger)
        assert (done.code, done.err.count("\n")) == (3, 1)
        assert "this address cannot be read" in done.err
        assert address not in done.err


def test_a_large_epsilon_says_what_it_means_before_it_is_spent(run: Run) -> None:
    done = run(*SYNTH[:5], "11", *SYNTH[6:], "--out", "out")
    assert done.err.index("ε = 11 protects hardly anybody") < done.err.index("measure 1/1")
    assert "caution" in run("plan", "schema.yaml", "-e", "50", "--records", "400").out
    assert "caution" not in run("plan", "schema.yaml", "-e", "10", "--records", "400").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "1000000000000"), "1,000,000,000,000 rows takes about"),
        (("--rows", "9" * 400), "rows takes about"),
        (("--format", "csv", "--schema", "quotes.yaml"), "delimiter"),
        (("--format", "csv", "--schema", "breaks.yaml"), "delimiter"),
        (("--format", "csv", "--schema", "wide.yaml"), "delimiter"),
        (("--format", "csv", "--schema", "zero.yaml"), "delimiter"),
        (("--format", "csv", "--schema", "polish.yaml"), "that cp1252 cannot write"),
        (("--out", "table.csv/out"), "is no folder"),
        (("--out", "x" * 300), "too long"),
        (("--out", "x" * 250), "too long"),
        (("--ledger", "."), "cannot open ledger"),
        (("--ledger", "x" * 300), "too long"),
        (("--anchor", "table.parquet"), "something else"),
        (("--workload", "x" * 300), "too long"),
        (("--public", "x" * 300), "too long"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_written_is_refused_before_anything_is_spent(
    run: Run, inputs: Path, options: tuple[str, ...], message: str
) -> None:
    content = yaml.safe_load((inputs / "schema.yaml").read_text())
    for name, delimiter in (("quotes", '"'), ("breaks", "\n"), ("wide", "｜"), ("zero", "\0")):
        (inputs / f"{name}.yaml").write_text(
            yaml.safe_dump(content | {"csv": {"delimiter": delimiter}})
        )
    polish = yaml.safe_dump(content | {"csv": {"encoding": "cp1252"}}).replace(
        "- Coast", "- Gdańsk"
    )
    (inputs / "polish.yaml").write_text(polish)
    before = set(inputs.iterdir())
    arguments = (*SYNTH, *options) if "--out" in options else (*SYNTH, *options, "--out", "out")
    arguments = tuple(
        part for part in arguments if part not in ("--method", "independent", "--kway", "1")
    )
    done = run(*arguments, "--quiet")
    assert done.code in (3, 4)
    assert message in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert set(inputs.iterdir()) == before


def test_a_full_disk_is_noticed_before_anything_is_spent(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(inputs.iterdir())
    usage = shutil.disk_usage(inputs)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 19))
        done = run(*SYNTH, "--out", "out")
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "Make room, or choose another directory" in done.err
    assert set(inputs.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    ["answer {} age=3", "report {}", "evaluate {} table.csv", "resume {}", "ledger show {}"],
)
def test_paths_that_are_too_long_are_a_line(run: Run, command: str) -> None:
    for path in ("x" * 300, "y/" * 3000 + "z"):
        done = run(*command.format(path).split())
        assert done.code in (3, 4)
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1


def test_folders_of_others_are_never_deleted(run: Run, inputs: Path) -> None:
    for name in ("out.part", "out.private"):
        (inputs / name).mkdir()
        (inputs / name / "thesis.txt").write_text("years of work")
    assert run(*SYNTH, "--out", "out").code == 0
    for name in ("out.part", "out.private"):
        assert (inputs / name / "thesis.txt").read_text() == "years of work"
    assert not list(inputs.glob(".dprap-*"))


def test_folders_of_others_outlive_a_run_that_fails_before_it_spends(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inputs / "out.private").mkdir()
    (inputs / "out.private" / "thesis.txt").write_text("years of work")

    def fail(*_: object) -> None:
        raise WorkloadError("enough.")

    monkeypatch.setattr(Curator, "prepare", fail)
    assert run(*SYNTH, "--out", "out").code == 3
    assert [path.name for path in (inputs / "out.private").iterdir()] == ["thesis.txt"]


def test_a_failing_write_strands_nothing(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_saving(monkeypatch, run, "--out", "out")
    paid = (inputs / LEDGER).read_bytes()
    assert not (inputs / "out").exists()
    assert not list(inputs.glob("*.part"))
    refused = run("resume", "out", "--rows", "1000000000000")
    assert (refused.code, refused.err.count("\n")) == (3, 1)
    assert run("resume", "out", "--format", "xlsx").code == 3
    assert run("resume", "out", "--rows", "0").code == 3
    assert run("resume", "out", "--rows", "17", "--format", "csv", "--quiet").code == 0
    assert pa.csv.read_csv(inputs / "out" / "synthetic.csv").num_rows == 17
    assert (inputs / LEDGER).read_bytes() == paid, "nothing was spent again"
    again = run("resume", "out", "--rows", "18")
    assert again.code == 3
    assert "Move it away" in again.err


def test_a_moved_folder_resumes(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def]
    stop_before_saving(monkeypatch, run, "--out", "out")
    spent = read_ledger(inputs / LEDGER).spent_rho
    moved = tmp_path_factory.mktemp("moved") / "project"
    shutil.copytree(inputs, moved)
    for path in inputs.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    monkeypatch.chdir(moved)
    assert run("resume", "out", "--quiet") == Done(0, "", "")
    assert read_ledger(moved / LEDGER).spent_rho == spent
    assert not list(inputs.iterdir()), "nothing is written to the old place"


def test_a_ledger_that_is_not_there_is_not_begun_anew(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_saving(monkeypatch, run, "--out", "out")
    spent = read_ledger(inputs / LEDGER).spent_rho
    (inputs / "table.parquet.dprap").rename(inputs / "elsewhere")
    done = run("resume", "out")
    assert (done.code, done.err.count("\n")) == (4, 1)
    assert "dprap resume out --ledger FILE" in done.err
    assert not (inputs / "table.parquet.dprap").exists()
    assert not (inputs / "out").exists()
    # a new ledger now stands where the old one was
    assert run(*SYNTH, "--out", "other", "--quiet").code == 0
    swapped = run("resume", "out")
    assert swapped.code == 4
    assert "is not the one that this run began with" in swapped.err
    assert run("resume", "out", "--ledger", "elsewhere/ledger.jsonl", "--quiet").code == 0
    assert read_ledger(inputs / "elsewhere" / "ledger.jsonl").spent_rho == spent


def test_a_table_that_was_moved_is_pointed_to(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_saving(monkeypatch, run, "--out", "out")
    (inputs / "table.parquet").rename(inputs / "renamed.parquet")
    assert run("resume", "out").code == 3
    assert run("resume", "out", "--data", "table.csv", "--quiet").code == 0, (
        "the same records, in another file"
    )


def test_a_job_of_another_version_is_refused_in_a_line(run: Run, inputs: Path) -> None:
    (inputs / "out.private").mkdir()
    for content, code in (("{}", 4), ('{"version": 2}', 4), ("[]", 4), ("nonsense", 4)):
        (inputs / "out.private" / "job.json").write_text(content)
        done = run("resume", "out")
        assert (done.code, done.err.count("\n")) == (code, 1)


def test_an_unfinished_run_is_abandoned(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def fail(*_: object, **__: object) -> None:
            raise WorkloadError("enough.")

        patch.setattr(Curator, "certify", fail)
        assert run(*SYNTH, "--out", "out").code == 3
    (name,) = read_ledger(inputs / LEDGER).runs
    held = read_ledger(inputs / LEDGER).held_rho
    done = run("ledger", "abandon", "table.parquet", name[:8])
    assert done.code == 0
    assert "is free again" in done.out
    state = read_ledger(inputs / LEDGER)
    assert state.held_rho == state.spent_rho < held
    assert run("ledger", "abandon", LEDGER, name).code == 4
    refused = run("resume", "out")
    assert refused.code == 4
    assert "was abandoned" in refused.err
    assert "abandoned" in run("ledger", "show", LEDGER).out


def test_an_anchor_is_remembered_and_notices_a_rollback(
    run: Run, inputs: Path, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def]
    anchor = tmp_path_factory.mktemp("outside") / "anchor"
    assert run(*SYNTH, "--out", "one", "--anchor", str(anchor), "--quiet").code == 0
    shutil.copytree(inputs / "table.parquet.dprap", inputs / "backup")
    assert run(*SYNTH, "--out", "two", "--quiet").code == 0
    shutil.rmtree(inputs / "table.parquet.dprap")
    shutil.copytree(inputs / "backup", inputs / "table.parquet.dprap")
    done = run(*SYNTH, "--out", "three")
    assert done.code == 4
    assert "an older copy" in done.err
    assert not (inputs / "three.private").exists()


def test_what_was_released_is_shown(run: Run) -> None:
    run(*SYNTH, "--out", "out")
    assert "measure, ρ = 0.11" in (shown := run("ledger", "show", "table.parquet", "--events").out)
    assert 'marginal "age"' in shown
    events = json.loads(run("ledger", "show", "table.parquet", "--events", "--json").out)["runs"][
        0
    ]["events"]
    assert [event["verb"] for event in events] == ["measure", "certify"]


def test_a_stop_before_the_first_charge_leaves_nothing_and_strands_nothing(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(inputs.iterdir())
    with monkeypatch.context() as patch:

        def stop(*_: object) -> None:
            assert (inputs / "out.private" / "job.json").exists()
            os.kill(os.getpid(), signal.SIGTERM)

        patch.setattr(Curator, "prepare", stop)
        done = run(*SYNTH, "--out", "out", "--quiet")
    assert (done.code, done.err) == (130, "stopped. Nothing was spent.\n")
    assert set(inputs.iterdir()) == before
    assert run(*SYNTH, "--out", "out", "--quiet").code == 0
