"""The benchmark on a small table: cells, resuming, tables, figures, command line."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tests.mechanisms.small import DOMAIN, small_codes
from typer.testing import CliRunner

from dprap_bench import command, experiments
from dprap_bench.cell import Cell
from dprap_bench.measure import measure_cell
from dprap_bench.methods import BENCH_METHODS, fem_settings
from dprap_bench.results import COLUMNS, Results
from dprap_bench.runner import run_cells
from dprap_bench.tables import best, wide, write_tables
from dprap_bench.workloads import named_workload, unseen_marginals
from dprap.datasets.benchmark import save_benchmark
from dprap.domain import Domain
from dprap.errors import SettingsError, WorkloadError
from dprap.queries import Marginal, Prefix, Threshold


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    save_benchmark(small_codes(500), "small", tmp_path / "data")
    return tmp_path / "data"


def test_named_workloads(tmp_path: Path) -> None:
    triples = named_workload("3way:2", DOMAIN, rows=500, data_dir=tmp_path)
    assert len(triples) == 2
    assert len(named_workload("3way:all", DOMAIN, rows=500, data_dir=tmp_path)) == 4
    thresholds = named_workload("1of3:2", DOMAIN, rows=500, data_dir=tmp_path)
    assert thresholds.families == tuple(Threshold(family.columns, 1) for family in triples.families)
    others = unseen_marginals(triples, rows=500)
    assert len(others) == 2
    assert not {m.columns for m in others.families} & {m.columns for m in triples.families}
    with pytest.raises(WorkloadError, match="no benchmark workload"):
        named_workload("everything", DOMAIN, rows=500, data_dir=tmp_path)


def test_hdmm_workload_has_prefixes_along_ordered_columns(tmp_path: Path) -> None:
    (tmp_path / "adult-hdmm15-workload.json").write_text(json.dumps([["sex", "age"], ["sex", "race"]]))
    domain = Domain.of({"age": 5, "sex": 2, "race": 3})
    assert named_workload("hdmm15", domain, rows=9, data_dir=tmp_path).families[0] == Marginal(("sex", "age"))
    prefixes = named_workload("hdmm15:prefix", domain, rows=9, data_dir=tmp_path).families
    assert prefixes == (Prefix(("sex", "age"), ("age",)), Prefix(("sex", "race"), ()))


def test_every_experiment_names_known_methods_and_distinct_cells() -> None:
    for experiment in experiments.PAPER.values():
        for data in ("adult", "loans"):
            cells = experiment.cells(data)
            assert {cell.method for cell in cells} <= {*BENCH_METHODS, "none"}
            assert len({cell.key for cell in cells}) == len(cells)
            assert {cell.experiment for cell in cells} <= {experiment.name}
    assert fem_settings(0.1, 48842)["rounds"] == 36


def test_a_cell_is_measured(data_dir: Path) -> None:
    cell = Cell(
        "x", "small", "3way:2", "rap", 1.0, settings={"rounds": 2, "queries_per_round": 3, "synthetic_rows": 20}
    )
    metrics = measure_cell(replace(cell, extras=("rounding", "unseen", "quantiles")), data_dir)
    assert 0 < metrics["tv"] < 1
    assert metrics["max"] >= metrics["error_q0.999"] >= metrics["error_q0.5"] >= 0
    assert metrics["max_rounded_48"] > 0
    assert metrics["unseen_max"] > 0
    assert metrics["steps"] > 0
    again = measure_cell(replace(cell, extras=()), data_dir)
    assert again["max"] == metrics["max"]  # seeded throughout


def test_rows_and_columns_can_be_cut_or_repeated(data_dir: Path) -> None:
    cell = Cell("x", "small", "2way", "independent", 1.0, rows=1200, columns=3)
    assert measure_cell(cell, data_dir)["queries"] == 6 + 8 + 12
    with pytest.raises(SettingsError, match="answers nothing beyond"):
        measure_cell(Cell("x", "small", "2way", "gaussian", 1.0, extras=("unseen",)), data_dir)


def test_runs_resume_share_cells_and_note_failures(data_dir: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "results.csv")
    cells = [
        Cell("one", "small", "3way:2", "independent", 1.0),
        Cell("one", "small", "3way:2", "gaussian", 1.0, extras=("unseen",)),
        Cell("two", "small", "3way:2", "independent", 1.0),
    ]
    lines: list[str] = []
    run_cells(cells, results, data_dir=data_dir, seconds_per_cell=100, report=lines.append)
    assert len(lines) == 3
    table = results.read()
    assert tuple(table.columns) == COLUMNS
    failed = table[table["metric"] == "failed"]
    assert failed["note"].str.contains("answers nothing beyond").tolist() == [True]
    first, second = (
        table[(table["experiment"] == name) & (table["metric"] == "wall_seconds")] for name in ("one", "two")
    )
    assert first["value"].tolist() == second["value"].tolist()  # measured once
    size = results.path.stat().st_size
    run_cells(cells, results, data_dir=data_dir, seconds_per_cell=100, report=lines.append)
    assert results.path.stat().st_size == size
    results.forget([cells[0].key])
    assert set(results.read()["method"]) == {"gaussian"}, "both experiments share the cell"
    written, _ = write_tables(table, tmp_path)
    assert "| independent |" in written.read_text()
    assert "answers nothing beyond" in written.read_text()


def test_a_cell_that_takes_too_long_is_stopped(data_dir: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "results.csv")
    run_cells(
        [Cell("x", "small", "3way:2", "independent")], results, data_dir=data_dir, seconds_per_cell=0.01, report=print
    )
    assert results.read()["note"].tolist() == ["stopped after 0.1 seconds by the clock"]


def fake_results() -> pd.DataFrame:
    """Results of every experiment without running any."""
    rows = []
    values = {"max": 0.1, "tv": 0.2, "queries": 100.0, "families": 3.0, "wall_seconds": 2.0, "cpu_seconds": 2.0}
    values |= {"peak_mb": 300.0, "steps": 10.0, "cpu_seconds_per_step": 0.1, "unseen_max": 0.2, "unseen_tv": 0.3}
    values |= {"max_rounded_1": 0.3, "max_rounded_5": 0.2, "error_q0.5": 0.01, "error_q0.99": 0.05}
    values |= {"auc_synthetic": 0.8, "auc_real": 0.9}
    cells = [cell for experiment in experiments.PAPER.values() for cell in experiment.cells("adult")]
    for cell in [
        *cells,
        *experiments.peers("adult"),
        *(replace(c, method="adaptive") for c in experiments.peers("adult")),
    ]:
        facts = {name: value for name, value in cell.as_dict().items() if name in COLUMNS}
        facts |= {"key": cell.key, "settings": json.dumps(dict(cell.settings)), "note": "", "machine": "m"}
        rows += [
            facts | {"metric": name, "value": value * (1 + len(cell.method) / 10)}
            for name, value in values.items()
            if cell.method != "none" or name in ("queries", "families")
        ]
    return pd.DataFrame(rows)


def test_tables_report_the_best_settings_and_ratios(tmp_path: Path) -> None:
    results = fake_results()
    chosen = best(wide(results))
    assert (
        chosen.groupby(["experiment", "workload", "relation", "rows", "columns", "method", "epsilon"]).size().max() == 1
    )
    path, short = write_tables(results, tmp_path)
    assert "| adult | 3way:64 |" in path.read_text()
    own = next(line for line in path.read_text().splitlines() if "3way:64, add-remove, 0.1 | adaptive" in line)
    assert own.count("(1.00)") == 4
    assert "| rap | **.1300** / **.260** |" in short.read_text()  # the shortest name has the smallest fake error


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs what dprap-bench needs: matplotlib")
def test_every_figure_is_drawn(tmp_path: Path) -> None:
    from dprap_bench.plots import draw_all

    drawn = draw_all(fake_results(), tmp_path)
    assert len(drawn) == len(experiments.PAPER)
    assert all(path.stat().st_size > 5000 for path in drawn)


def test_redo_measures_the_cells_asked_for_and_leaves_others(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Cell] = []
    monkeypatch.setattr("dprap_bench.runner.run_cells", lambda cells, *_, **__: ran.extend(cells))
    monkeypatch.setattr(experiments, "quick", lambda data: [Cell("quick", data, "3way:2", "zero")])
    results = Results(tmp_path / "results.csv")
    for name, method in (("quick", "zero"), ("other", "zero"), ("quick", "gaussian")):
        results.add(Cell(name, "small", "3way:2" if name == "quick" else "3way:1", method), {"max": 0.5})
    arguments = ["quick", "--data", str(data_dir), "--table", "small", "--out", str(tmp_path), "--redo", "zero"]
    assert CliRunner().invoke(command.app, arguments).exit_code == 0
    assert [(cell.experiment, cell.method) for cell in ran] == [("quick", "zero")]
    assert set(zip(results.read()["experiment"], results.read()["method"], strict=True)) == {
        ("other", "zero"),
        ("quick", "gaussian"),
    }


def test_command_line(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "quick", lambda data: [Cell("quick", data, "3way:2", "zero")])
    arguments = ["quick", "--data", str(data_dir), "--table", "small", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(command.app, arguments)
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "out" / "tables.md").exists()
    assert CliRunner().invoke(command.app, ["figures", "--out", str(tmp_path / "out")]).exit_code == 0
    nothing = CliRunner().invoke(
        command.app,
        ["paper", "--data", str(data_dir), "--only", "10", "--table", "small", "--out", str(tmp_path / "no")],
    )
    assert nothing.exit_code == 0, nothing.output
    refused = CliRunner().invoke(command.app, ["paper", "--data", str(data_dir), "--only", "11"])
    assert refused.exit_code == 2
