"""`--public`: said before and after the run, kept for resuming, refused where it cannot be used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.driving import COLUMNS_ALONE, Done, in_process

import dprap
from dprap.datasets import example, example_schema
from dprap.errors import SettingsError
from dprap.release import load

Run = Callable[..., Done]
SYNTH = (*COLUMNS_ALONE, "--synthetic-rows", "10")


@pytest.fixture
def run(inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    pa.csv.write_csv(example(150, seed=2), inputs / "census.csv")
    monkeypatch.chdir(inputs)
    return lambda *arguments: in_process(monkeypatch, capsys, *arguments)


def test_a_public_table_is_told_before_and_after_and_kept_for_resuming(
    run: Run, inputs: Path
) -> None:
    planned = run(
        "plan",
        "schema.yaml",
        "-e",
        "2",
        "--records",
        "400",
        "--kway",
        "1",
        "--public",
        "census.csv",
    )
    assert "public      census.csv, 150 records, digest" in planned.out
    assert "start from the public table" in planned.out
    done = run(*SYNTH, "--public", "census.csv", "--out", "out")
    assert done.code == 0
    assert "census.csv, 150 records" in done.err
    assert "started from the public table census.csv (150 records, digest" in done.out
    assert "the guarantee does not cover" in done.out
    described = json.loads((inputs / "out" / "release.json").read_text())
    assert described["public"]["name"] == "census.csv"
    assert described["public"]["rows"] == 150
    assert described["public"]["digest"] in described["guarantee"]
    first = load(inputs / "out")
    assert first.public is not None
    assert run("report", "out").code == 0
    assert "A public table was used" in (inputs / "out" / "report.html").read_text()

    shutil.rmtree(inputs / "out")
    resumed = json.loads(run("resume", "out", "--json").out)
    assert resumed["public"] == described["public"]

    shutil.rmtree(inputs / "out")
    pa.csv.write_csv(example(150, seed=3), inputs / "census.csv")
    changed = run("resume", "out")
    assert changed.code == 3
    assert "the public table census.csv has changed since the run began" in changed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--method", "rap", "--public", "census.csv"),
            "method rap cannot start from a public table",
        ),
        (
            ("--method", "gaussian", "--public", "census.csv"),
            "method gaussian cannot start from a public table",
        ),
        (
            ("--method", "independent", "--public", "census.csv"),
            "method independent cannot start from a public table",
        ),
        (
            ("--public", "narrow.csv"),
            "public table narrow.csv: column 'sex': is in the schema and not in the table",
        ),
        (("--public", "nope.csv"), "public table nope.csv: "),
        (("--public", "empty.csv"), "has no records"),
        (("--public", "table.parquet"), "the public table is the private table"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_used_is_refused_before_anything_is_spent(
    run: Run, inputs: Path, arguments: tuple[str, ...], message: str
) -> None:
    census = pa.csv.read_csv(inputs / "census.csv")
    pa.csv.write_csv(census.drop_columns(["sex"]), inputs / "narrow.csv")
    pa.csv.write_csv(census.slice(0, 0), inputs / "empty.csv")
    before = set(inputs.iterdir())
    done = run(*SYNTH, *arguments, "--out", "out")
    assert done.code == 3
    assert message in done.err
    assert done.err.count("\n") == 1
    assert set(inputs.iterdir()) == before


def test_in_python() -> None:
    private, census = example(200, seed=1), example(100, seed=2)
    settings = {"synthetic_rows": 8, "steps": 2, "final_steps": 2}
    release = dprap.synthesize(
        private, example_schema(), epsilon=1.0, kway=1, settings=settings, public=census
    )
    assert release.public is not None
    assert (release.public.name, release.public.rows) == ("in memory", 100)
    with pytest.raises(SettingsError, match="is the private table"):
        dprap.synthesize(private, example_schema(), epsilon=1.0, public=private)
