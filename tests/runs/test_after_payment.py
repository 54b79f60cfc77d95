"""Once a run is paid for, nothing that is mere post-processing takes its release away."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dprap
from dprap.datasets import example, example_schema
from dprap.mechanisms.result import Progress
from dprap.privacy import read_ledger
from dprap.runs import execute
from dprap.schema import Schema

RUN = {"epsilon": 1.0, "kway": 1, "method": "independent"}


class StoppedError(Exception):
    """Raised by a caller's own progress."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _fails(*_: object, **__: object) -> None:
    raise ValueError("something that nobody thought of")


def test_a_run_whose_intervals_fail_is_saved_without_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(execute, "calibrate", _fails)
    release = dprap.synthesize(
        example(500, seed=1), example_schema(), out=folder / "out", ledger="books.jsonl", **RUN
    )
    assert release.errors is None
    assert dprap.load(folder / "out").errors is None
    assert (folder / "out" / "synthetic.parquet").exists()
    assert [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ] == ["intervals were not found (ValueError). All that was paid for is in the release."]
    (run,) = read_ledger(folder / "books.jsonl").runs.values()
    assert run.done
    assert run.spent_rho == run.planned_rho


def test_a_table_that_cannot_be_drawn_takes_no_certificate_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execute, "draw_table", _fails)
    release = dprap.synthesize(example(500, seed=1), example_schema(), ledger=False, **RUN)
    assert release.certificate is not None
    assert release.certificate.table_rows is None
    assert "does not cover the synthetic table" in str(release.accuracy)
    assert release.privacy.rho_spent == release.privacy.rho_planned


@pytest.mark.parametrize("stage", ["intervals", "table"])
@pytest.mark.parametrize("kind", [StoppedError, KeyboardInterrupt])
def test_whoever_stops_a_run_by_its_progress_is_obeyed(
    folder: Path, stage: str, kind: type[BaseException]
) -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == stage:
            raise kind

    table = example(500, seed=1)
    with pytest.raises(kind):
        dprap.synthesize(
            table, example_schema(), out=folder / "out", ledger="books.jsonl", progress=stop, **RUN
        )
    spent = read_ledger(folder / "books.jsonl").spent_rho
    release = dprap.resume(folder / "out", table=table)
    assert release.errors is not None
    state = read_ledger(folder / "books.jsonl")
    assert len(state.runs) == 1
    assert state.spent_rho >= spent, "goes on with the same run"
    assert state.spent_rho == next(iter(state.runs.values())).planned_rho


@pytest.mark.slow
def test_constraints_that_rule_out_every_record_leave_the_rest_of_the_release(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Independent columns of fine numbers hardly ever add up, so that no record is possible."""
    rng = np.random.default_rng(0)
    sums = ("abc", "def", "ghi", "jkl")
    values: dict[str, np.ndarray] = {}
    for first, second, total in sums:
        values[first], values[second] = rng.integers(0, 50_000, (2, 300))
        values[total] = values[first] + values[second]
    table = pd.DataFrame(values)
    edges = {name: list(range(0, 100_001 if name in "cfil" else 50_001, 50)) for name in table}
    schema = Schema.of(
        {
            "columns": {name: {"type": "integer", "edges": each} for name, each in edges.items()},
            "constraints": [
                {"type": "sum", "parts": [*parts], "total": total, "relation": "="}
                for *parts, total in sums
            ],
        }
    )
    release = dprap.synthesize(
        table, schema, out=folder / "out", ledger="books.jsonl", max_cells=5_000, **RUN
    )
    assert release.saved is None
    found = dprap.load(folder / "out")
    assert found.certificate is not None
    assert found.saved is None
    assert not list((folder / "out").glob("synthetic*"))
    assert "count" in str(found.ask("count where a < 25000"))
    found.report(folder / "report.html")
    assert "There is no table" in (folder / "report.html").read_text(encoding="utf-8")
    assert "written without a table" in caplog.text
