from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.driving import COLUMNS_ALONE, ROWS, Done, in_process
from tests.release.made import save_made_release

from dprap.cli.app import app
from dprap.release import load

Run = Callable[..., Done]
SYNTH = (*COLUMNS_ALONE, "--method", "independent", "--intervals", "no")


def test_the_package_runs_as_a_module() -> None:
    """`python -m dprap` works where the script is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "dprap", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dprap ")


@pytest.fixture
def run(inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(inputs)
    return lambda *arguments: in_process(monkeypatch, capsys, *arguments)


def test_the_whole_job(run: Run, inputs: Path) -> None:
    done = run(*SYNTH, "--intervals", "yes", "--out", "out", "--rows", "123", "--yes")
    assert done.code == 0
    assert done.out.startswith(
        "(2, 6.25e-06)-differentially private with respect to replacing one record"
    )
    assert "ε = 2" in done.err  # the plan, before spending
    assert pa.parquet.read_table(inputs / "out" / "synthetic.parquet").num_rows == 123
    assert load(inputs / "out").rows == ROWS

    answered = run("answer", "out", "age in 30..39 and sex = female", "--by", "income")
    assert answered.code == 0
    assert "[10000, 15000)" in answered.out  # brackets are not eaten as markup
    assert json.loads(run("answer", "out", "", "--by", "sex", "--json").out)[
        "count"
    ] == pytest.approx(ROWS, abs=1)

    assert run("report", "out").out == "written to out/report.html\n"
    assert (inputs / "out" / "report.html").read_text().startswith("<!DOCTYPE html>")

    judged = run("evaluate", "out", "table.parquet")
    assert judged.out.startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in (inputs / "out-NOT-PRIVATE.html").read_text()
    as_data = json.loads(run("evaluate", "out", "table.csv", "--json", "--report", "eval.html").out)
    assert as_data["NOT PRIVATE"] is True
    assert (inputs / "eval.html").exists()

    shown = json.loads(run("ledger", "show", "table.parquet.dprap/ledger.jsonl", "--json").out)
    assert shown["spent_rho"] == pytest.approx(load(inputs / "out").privacy.rho_spent)
    assert shown["runs"][0]["done"] is True
    assert "done" in run("ledger", "show", "table.parquet.dprap/ledger.jsonl").out
    assert "intact; 1 run" in run("ledger", "verify", "table.parquet.dprap/ledger.jsonl").out
    assert "nothing to resume" in run("resume", "out").err


def test_json_and_quiet(run: Run) -> None:
    done = run(*SYNTH, "--out", "out", "--quiet", "--json", "--format", "csv")
    assert done.err == ""
    data = json.loads(done.out)
    assert data["private"] is True
    assert data["rho_spent"] > 0
    assert run(*SYNTH, "--out", "out2", "--quiet") == Done(0, "", "")
    planned = json.loads(run("plan", "schema.yaml", "-e", "1", "--rows", "400", "--json").out)
    assert planned["records"] == 400


def test_schema_commands(run: Run, inputs: Path) -> None:
    drafted = run("schema", "draft", "table.csv", "-o", "draft.yaml")
    assert drafted.code == 0
    assert "draft" in drafted.err
    refused = run("synth", "table.csv", "--schema", "draft.yaml", "-e", "1", "--out", "out")
    assert refused.code == 3
    assert "is a draft" in refused.err
    assert run("schema", "check", "schema.yaml", "table.parquet").code == 0


def test_names_with_brackets_are_shown_whole(run: Run, inputs: Path) -> None:
    columns = {name: {"type": "boolean"} for name in ("area [m²]", "[/b] x", "a :key: b")}
    columns["fine [kg]"] = {"type": "number", "min": 0, "max": 9, "decimals": 5}  # type: ignore[dict-item]
    (inputs / "odd.yaml").write_text(json.dumps({"columns": columns}))
    planned = run("plan", "odd.yaml", "-e", "1", "--records", "400", "--kway", "1")
    assert "intervals of fine [kg]" in planned.out
    assert "finds intervals of fine [kg]\n" in run("schema", "check", "odd.yaml").out
    refused = run("schema", "export", "odd.yaml", "-o", "a [m²].json", "--to", "sdv")
    assert refused.out.startswith("a [m²].json: 4 columns")
    twice = run("schema", "export", "odd.yaml", "-o", "a [m²].json", "--to", "sdv")
    assert twice.err.startswith("error: a [m²].json exists")


def test_an_answer_without_a_question_is_about_all_records(run: Run) -> None:
    assert run(*SYNTH, "--out", "out", "--quiet").code == 0
    assert run("answer", "out", "--by", "sex").out == run("answer", "out", "", "--by", "sex").out


def test_seeded_noise_is_marked_and_keeps_no_ledger(run: Run, inputs: Path) -> None:
    done = run(*SYNTH, "--out", "out", "--insecure-noise-seed", "1")
    assert done.out.startswith("NOT PRIVATE")
    assert not (inputs / "out.private").exists()
    assert load(inputs / "out").privacy.private is False


BAD = [
    ("synth nope.csv --schema schema.yaml -e 1 --out o", 3, "nope.csv"),
    ("synth table.csv --schema nope.yaml -e 1 --out o", 3, "nope.yaml"),
    ("synth table.csv --schema schema.yaml -e -1 --out o", 4, "epsilon must be a positive number"),
    ("synth table.csv --schema schema.yaml -e nan --out o", 4, "epsilon must be a positive number"),
    ("synth table.csv --schema schema.yaml -e one --out o", 2, "--epsilon"),
    ("synth table.csv --schema schema.yaml --out o", 2, "Missing option"),
    (
        "synth table.csv --schema schema.yaml -e 1 --delta 2 --out o",
        4,
        "delta must lie strictly between 0 and 1",
    ),
    ("synth table.csv --schema schema.yaml -e 1 --delta 0.01 --out o", 4, "is not below 1/n"),
    (
        "synth table.csv --schema schema.yaml -e 1 --neighbors some --out o",
        3,
        "--neighbors must be one of",
    ),
    (
        "synth table.csv --schema schema.yaml -e 1 --neighbors add-remove --out o",
        4,
        "delta must be given",
    ),
    (
        "synth table.csv --schema schema.yaml -e 1 --method magic --out o",
        3,
        "there is no method 'magic'",
    ),
    (
        "synth table.csv --schema schema.yaml -e 1 --method independent --rounds 3 --out o",
        3,
        "no setting 'rounds'",
    ),
    (
        "synth table.csv --schema schema.yaml -e 1 --accounting loose --out o",
        3,
        "--accounting must be one of",
    ),
    (
        "synth table.csv --schema schema.yaml -e 1 --preset paper --method adaptive --out o",
        3,
        "--preset paper means --method rap, not adaptive",
    ),
    ("synth table.csv --schema schema.yaml -e 1 --kway 99 --out o", 3, "k must be between 1"),
    (
        "synth table.csv --schema schema.yaml -e 1 --workload nope.yaml --out o",
        3,
        "nope.yaml: cannot be read",
    ),
    (
        "synth table.csv --schema schema.yaml -e 1 --format xlsx --out o",
        3,
        "--format must be parquet or csv",
    ),
    ("synth table.csv --schema schema.yaml -e 1 --rows 0 --out o", 3, "--rows must be at least 1"),
    ("synth table.csv --schema schema.yaml -e 1 --certificate 2 --out o", 3, "certificate's share"),
    (
        "synth table.csv --schema schema.yaml -e 1 --insecure-noise-seed 1 --ledger l --out o",
        3,
        "no ledger takes it",
    ),
    ("synth table.csv --schema schema.yaml -e 1 --out .", 3, "exists already"),
    ("plan schema.yaml -e 1", 4, "delta must be given"),
    ("plan schema.yaml -e 1 --records 0", 3, "--records must be at least 1"),
    ("plan schema.yaml -e 1 --rows 0", 3, "--rows must be at least 1"),
    ("plan schema.yaml -e 1 --rows 5 --records 5", 3, "--rows is the former name of --records"),
    ("resume nowhere", 3, "there is no run to resume"),
    ("answer nowhere age=3", 3, "is not a release"),
    ("report nowhere", 3, "is not a release"),
    ("evaluate nowhere table.csv", 3, "is not a release"),
    ("ledger show nowhere", 4, "cannot read ledger"),
    ("ledger show .", 4, "it is no file. Name the ledger's own file"),
    ("synth table.csv --schema schema.yaml -e 1 --out o --ledger .", 4, "Name a file"),
    ("synth table.csv --schema schema.yaml -e 1e12 --out o", 4, "epsilon = 1e+12 promises nothing"),
    ("plan schema.yaml -e 1 --records 1", 4, "of one record has no default delta"),
    ("ledger verify schema.yaml", 4, "damaged"),
    ("schema check table.csv", 3, "a schema file ends in"),
    ("schema draft table.csv -o schema.yaml", 3, "exists already"),
    ("dance", 2, "No such command"),
]


@pytest.mark.parametrize(("line", "code", "message"), BAD, ids=[line for line, _, _ in BAD])
def test_errors_are_one_line_with_a_documented_code_and_spend_nothing(
    run: Run, inputs: Path, line: str, code: int, message: str
) -> None:
    before = set(inputs.iterdir())
    done = run(*line.split())
    assert done.code == code
    assert message in done.err
    assert done.out == ""
    if code != 2:
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1
    assert set(inputs.iterdir()) == before


def test_a_run_that_fails_before_it_spends_leaves_nothing(
    run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dprap.errors import WorkloadError
    from dprap.mechanisms import independent

    def fail(*_: object, **__: object) -> None:
        raise WorkloadError("column 'age': too much. Ask for less.")

    monkeypatch.setattr(independent, "MECHANISM", replace(independent.MECHANISM, run=fail))
    assert run(*SYNTH, "--out", "out").code == 3
    assert not (inputs / "out.private").exists()
    monkeypatch.undo()
    monkeypatch.chdir(inputs)
    assert not (inputs / "out").exists()


def test_a_table_that_breaks_its_schema_is_refused_without_a_value(run: Run, inputs: Path) -> None:
    text = (inputs / "table.csv").read_text().splitlines()
    cells = text[1].split(",")
    cells[1] = '"Zaphod"'
    (inputs / "bad.csv").write_text("\n".join([text[0], ",".join(cells), *text[2:]]))
    done = run("synth", "bad.csv", "--schema", "schema.yaml", "-e", "1", "--out", "out")
    assert done.code == 3
    assert "column 'sex'" in done.err
    assert "Zaphod" not in done.err


def test_a_second_run_over_the_cap_is_refused_before_it_spends(run: Run, inputs: Path) -> None:
    first = run(*SYNTH, "--out", "one", "--ledger", "shared.jsonl", "--ledger-cap", "0.12")
    assert first.code == 0
    before = (inputs / "shared.jsonl").read_bytes()
    second = run(*SYNTH, "--out", "two", "--ledger", "shared.jsonl")
    assert second.code == 4
    assert "left of its cap" in second.err
    assert (inputs / "shared.jsonl").read_bytes() == before
    assert not (inputs / "two").exists()
    assert not (inputs / "two.private").exists()
    third = run(*SYNTH[:4], "-e", "0.2", *SYNTH[6:], "--out", "three", "--ledger", "shared.jsonl")
    assert third.code == 0
    shown = json.loads(run("ledger", "show", "shared.jsonl", "--json").out)
    assert shown["spent_rho"] <= shown["cap_rho"]
    assert len(shown["runs"]) == 2


def test_an_edited_ledger_is_noticed(run: Run, inputs: Path) -> None:
    run(*SYNTH, "--out", "out")
    ledger = inputs / "table.parquet.dprap" / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"step": 0', '"step": 9'))
    done = run("ledger", "verify", str(ledger))
    assert done.code == 4
    assert "damaged" in done.err


def test_the_demo_does_not_replace_what_is_not_a_demo(run: Run, inputs: Path) -> None:
    save_made_release(inputs / "precious")
    for name in ("precious", "."):
        done = run("demo", "--out", name)
        assert done.code == 3
        assert "is not an earlier demo" in done.err
    assert load(inputs / "precious").rows == 1000
    done = run("demo", "--out", "shown", "--rows", "300", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    (inputs / "shown" / "notes.txt").write_text("mine")
    assert run("demo", "--out", "shown").code == 3
    assert (inputs / "shown" / "notes.txt").read_text() == "mine"
    (inputs / "shown" / "notes.txt").unlink()
    (inputs / "file").write_text("mine")
    assert run("demo", "--out", "file").code == 3


def test_without_a_terminal_nobody_is_asked_and_help_says_so(run: Run, inputs: Path) -> None:
    done = run(*SYNTH, "--out", "out", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    shown = " ".join(run("synth", "--help").out.split())
    assert "Do not ask before spending. Without a terminal nobody is asked." in shown


def test_every_command_and_option_has_help() -> None:
    import typer

    def check(command: object, path: str) -> None:
        assert getattr(command, "help", None), f"{path} has no help"
        for parameter in getattr(command, "params", []):
            assert getattr(parameter, "help", None), f"{path} {parameter.name} has no help"
        for name, below in getattr(command, "commands", {}).items():
            check(below, f"{path} {name}")

    check(typer.main.get_command(app), "dprap")
