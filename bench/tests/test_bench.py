"""The benchmark on a small table: cells, resuming, tables, figures, command line."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest
from tests.mechanisms.small import DOMAIN, small_codes
from typer.testing import CliRunner

import dprap
from dprap.datasets.adult import ADULT_DOMAIN
from dprap.datasets.benchmark import load_benchmark, save_benchmark
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms.adaptive.rules import Rules
from dprap.queries import Range, Threshold
from dprap_bench import command, experiments, rule_verdicts, runner
from dprap_bench import data as data_sets
from dprap_bench.cell import Cell
from dprap_bench.chosen_pair import JUDGING, at_chosen_pair, whole_grid
from dprap_bench.grid_table import grid_tables
from dprap_bench.markdown_tables import write_tables
from dprap_bench.measure_cell import measure_cell
from dprap_bench.medians import best, wide
from dprap_bench.methods import BENCH_METHODS, fem_settings
from dprap_bench.record import COSTS, Record
from dprap_bench.results import COLUMNS, Results
from dprap_bench.runner import run_cells
from dprap_bench.studies import STUDIES, adaptive_rules, study_named
from dprap_bench.workloads import named_workload, unseen_marginals


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    save_benchmark(small_codes(500), "small", tmp_path / "data")
    return tmp_path / "data"


def test_named_workloads() -> None:
    triples = named_workload("3way:2", DOMAIN, rows=500)
    assert len(triples) == 2
    assert len(named_workload("3way:all", DOMAIN, rows=500)) == 4
    thresholds = named_workload("1of3:2", DOMAIN, rows=500)
    assert thresholds.families == tuple(Threshold(family.columns, 1) for family in triples.families)
    others = unseen_marginals(triples, rows=500)
    assert len(others) == 2
    assert not {m.columns for m in others.families} & {m.columns for m in triples.families}
    with pytest.raises(WorkloadError, match="no benchmark workload"):
        named_workload("everything", DOMAIN, rows=500)


def test_hdmm_workload_has_prefixes_along_ordered_columns() -> None:
    domain = ADULT_DOMAIN
    workload = named_workload("hdmm15", domain, rows=48842)
    assert (len(workload), workload.queries) == (15, 62876)
    prefixes = named_workload("hdmm15:prefix", domain, rows=48842).families
    assert prefixes[3] == Range.prefixes(("age", "education-num", "sex"), ("age",))
    assert prefixes[6] == Range.prefixes(("race", "native-country", "income>50K"), ())


def test_every_experiment_names_known_methods_and_distinct_cells() -> None:
    for experiment in experiments.PAPER.values():
        for data in ("adult", "loans"):
            cells = experiment.cells(data)
            assert {cell.method for cell in cells} <= {*BENCH_METHODS, "none"}
            assert len({cell.key for cell in cells}) == len(cells)
            assert {cell.experiment for cell in cells} <= {experiment.name}
    assert fem_settings("adult", "3way:64", 0.1) == {"rounds": 36, "noise_scale": 1.25}


def test_fem_runs_where_its_authors_name_hyperparameters() -> None:
    """At every ε of the sweeps, on both tables; at ε = .05 with about as many rounds as at .1."""

    def rounds(experiment: str, data: str) -> dict[tuple[str, float], int]:
        cells = experiments.PAPER[experiment].cells(data)
        return {
            (cell.workload, cell.epsilon): cell.settings["rounds"]
            for cell in cells
            if cell.method == "fem"
        }

    assert {epsilon for _, epsilon in rounds("1", "adult")} == {0.1, 0.25, 0.5, 1.0}
    assert {epsilon for _, epsilon in rounds("1", "loans")} == {0.1, 0.25, 0.5}
    for data in ("adult", "loans"):
        cells = experiments.PAPER["2"].cells(data)
        swept = rounds("2", data)
        assert {workload for workload, _ in swept} == {cell.workload for cell in cells}
        assert all(abs(swept[name, 0.05] - swept[name, 0.1]) <= 1 for name, _ in swept)
    assert fem_settings("loans", "1of3:64", 0.1) is None


def test_the_whole_grid_of_the_paper_can_be_asked_for() -> None:
    grid = whole_grid(experiments.PAPER["1"].cells("adult"))
    assert {(cell.experiment, cell.method) for cell in grid} == {("grid", "rap")}
    assert len({cell.key for cell in grid}) == len(grid) == 25 * 2 * len(experiments.EPSILONS)
    for epsilon in experiments.EPSILONS:
        ours = [cell for cell in grid if cell.workload == "3way:64" and cell.epsilon == epsilon]
        pairs = {(cell.settings["rounds"], cell.settings["queries_per_round"]) for cell in ours}
        assert len(ours) == len(pairs) == 25
        assert {rounds for rounds, _ in pairs} == {2, 5, 10, 25, 50}
    few = whole_grid(experiments.PAPER["1"].cells("loans"), most_queries=125)
    assert len(few) == 10 * 2 * len(experiments.EPSILONS)
    assert max(cell.settings["rounds"] * cell.settings["queries_per_round"] for cell in few) == 125


def test_data_sets_are_prepared_from_published_files_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up files in the place of the published ones: another digest is refused, the expected one
    is taken.
    """
    downloads, out = tmp_path / "downloads", tmp_path / "data"
    missing = CliRunner().invoke(command.app, ["data", str(downloads), "--out", str(out)])
    assert missing.exit_code == 1
    assert "adult.data and adult.test missing" in missing.output
    assert "archive.ics.uci.edu" in missing.output
    assert "github.com/giusevtr/fem" in missing.output
    codes = small_codes(50)
    save_benchmark(codes, "loans", downloads)
    refused = CliRunner().invoke(command.app, ["data", str(downloads), "--out", str(out)])
    assert "loans: the files are not those of the papers" in refused.output
    assert not out.exists()
    loans = replace(data_sets.DATA_SETS[1], digest=data_sets.digest_of(codes))
    monkeypatch.setattr(data_sets, "DATA_SETS", (loans,))
    done = CliRunner().invoke(command.app, ["data", str(downloads), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert load_benchmark("loans", out).rows == 50


RAW_ADULT = Path(os.environ.get("DPRAP_RAW_ADULT", "/nowhere"))


@pytest.mark.skipif(
    not RAW_ADULT.exists(),
    reason="DPRAP_RAW_ADULT names no folder with UCI's adult.data and adult.test",
)
def test_adult_has_the_digest_of_the_papers() -> None:
    adult = data_sets.DATA_SETS[0]
    assert data_sets.digest_of(adult.prepare(RAW_ADULT)) == adult.digest


def test_a_cell_is_measured(data_dir: Path) -> None:
    cell = Cell(
        "x",
        "small",
        "3way:2",
        "rap",
        1.0,
        settings={"rounds": 2, "queries_per_round": 3, "synthetic_rows": 20},
    )
    metrics = measure_cell(replace(cell, extras=("rounding", "unseen", "quantiles")), data_dir)
    assert 0 < metrics["tv"] < 1
    assert metrics["max"] >= metrics["error_q0.999"] >= metrics["error_q0.5"] >= 0
    assert metrics["max_rounded_48"] > 0
    assert metrics["unseen_max"] > 0
    assert metrics["steps"] > 0
    again = measure_cell(replace(cell, extras=("compilation",)), data_dir)
    assert again["compiled_cpu_seconds"] > 0
    assert again["max"] == metrics["max"]  # seeded throughout


def test_compiling_takes_no_time_that_the_difference_of_two_runs_does_not_show(
    tmp_path: Path,
) -> None:
    """The second of two equal runs may take longer than the first, which compiles."""
    cells = [
        Cell("5-rows", "adult", "3way:64", "rap", settings={"synthetic_rows": rows})
        for rows in (100, 500, 1000, 2000)
    ]
    figures = [
        {"max": 0.1, "compiled_cpu_seconds": run, "compilation_cpu_seconds": more}
        | {"compiled_cpu_seconds_per_step": 0.01}
        for run, more in ((1.0, 11.0), (100.0, 12.0), (100.0, 8.0), (100.0, -2.0))
    ]
    records = [
        Record.of(cell.experiment, cell.as_dict(), found, key=cell.key)
        for cell, found in zip(cells, figures, strict=True)
    ]
    lines = write_tables(results_table(records), tmp_path)[0].read_text().splitlines()
    shown = [line.strip("| ").split(" | ")[-1] for line in lines if "| rap |" in line]
    assert shown == ["11.0", "12.0", "–", "–"]


def test_costs_are_those_of_the_first_draw(data_dir: Path) -> None:
    """Only there is compiling measured, which takes a second run."""
    cell = Cell("x", "small", "3way:2", "independent", extras=("compilation",))
    first, second = (measure_cell(replace(cell, seed=seed), data_dir) for seed in (0, 1))
    apart = {name for name in COSTS if name.startswith("comp")}
    assert first.keys() - second.keys() == apart
    assert len(apart) == 3


def test_rows_and_columns_can_be_cut_or_repeated(data_dir: Path) -> None:
    cell = Cell("x", "small", "2way", "independent", 1.0, rows=1200, columns=3)
    assert measure_cell(cell, data_dir)["queries"] == 6 + 8 + 12
    with pytest.raises(SettingsError, match="answers nothing beyond"):
        measure_cell(Cell("x", "small", "2way", "gaussian", 1.0, extras=("unseen",)), data_dir)


def test_runs_resume_share_cells_and_note_failures(data_dir: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "results")
    cells = [
        Cell("one", "small", "3way:2", "independent", 1.0),
        Cell("one", "small", "3way:2", "gaussian", 1.0, extras=("unseen",)),
        Cell("two", "small", "3way:2", "independent", 1.0),
    ]
    lines: list[str] = []
    run_cells(cells, results, data_dir=data_dir, seconds_per_cell=100, report=lines.append)
    assert len(lines) == 3
    table = results.table(["one", "two"])
    assert tuple(table.columns) == COLUMNS
    failed = table[table["metric"] == "failed"]
    assert failed["note"].str.contains("answers nothing beyond").tolist() == [True]
    first, second = (
        table[(table["experiment"] == name) & (table["metric"] == "wall_seconds")]
        for name in ("one", "two")
    )
    assert first["value"].tolist() == second["value"].tolist()  # measured once
    before = list(results.records())
    assert [record.failed for record in before] == [False, True, False]
    run_cells(cells, results, data_dir=data_dir, seconds_per_cell=100, report=lines.append)
    assert list(results.records()) == before
    assert len(lines) == 3
    results.forget(lambda record: record.key == cells[0].key)
    assert set(results.table(["one", "two"])["method"]) == {"gaussian"}, (
        "both experiments share the cell"
    )
    written, _ = write_tables(table, tmp_path)
    assert "| independent |" in written.read_text()
    assert "answers nothing beyond" in written.read_text()


def test_further_draws_share_a_process_and_keep_no_costs(data_dir: Path, tmp_path: Path) -> None:
    cells = [
        Cell("x", "small", "3way:2", "independent", epsilon, seed, extras=extras)
        for epsilon in (1.0, 2.0)
        for seed, extras in ((0, ()), (1, ()), (2, ("nothing",)), (2, ()))
    ]
    results = Results(tmp_path / "results")
    lines: list[str] = []
    records = run_cells(
        cells, results, data_dir=data_dir, seconds_per_cell=100, report=lines.append
    )
    assert len(lines) == len(cells)
    for cell, record in zip(cells, records, strict=True):
        assert record.figures["max"] == pytest.approx(measure_cell(cell, data_dir)["max"], rel=1e-5)
        assert (
            ("cpu_seconds" in record.figures) == ("peak_mb" in record.figures) == (cell.seed == 0)
        )


def test_a_process_that_ends_leaves_its_further_cells_to_another(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def ends_at_seed_2(cells: list[Cell], *_: object) -> Iterator[tuple[dict[str, float], str]]:
        started.append([cell.seed for cell in cells])
        for cell in cells:
            if cell.seed == 2:
                yield {}, "the process ended with code 3"
                return
            yield {"max": 1.0}, ""

    monkeypatch.setattr("dprap_bench.runner._in_process", ends_at_seed_2)
    cells = [Cell("x", "small", "3way:2", "zero", seed=seed) for seed in (1, 2, 3)]
    records = run_cells(
        cells, Results(tmp_path), data_dir=data_dir, seconds_per_cell=100, report=print
    )
    assert [record.note for record in records] == ["", "the process ended with code 3", ""]
    assert started == [[1, 2, 3], [3]]


def test_a_cell_that_takes_too_long_is_stopped(data_dir: Path, tmp_path: Path) -> None:
    """`rap` compiles a program first, which takes far longer than the limit."""
    results = Results(tmp_path / "results")
    run_cells(
        [Cell("x", "small", "3way:2", "rap")],
        results,
        data_dir=data_dir,
        seconds_per_cell=0.01,
        report=print,
    )
    assert [record.note for record in results.records()] == [
        "stopped after 0.1 seconds by the clock"
    ]


def fake_results() -> pd.DataFrame:
    """Results of every experiment without running any."""
    rows = []
    values = {
        "max": 0.1,
        "tv": 0.2,
        "queries": 100.0,
        "families": 3.0,
        "wall_seconds": 2.0,
        "cpu_seconds": 2.0,
    }
    values |= {
        "peak_mb": 300.0,
        "steps": 10.0,
        "cpu_seconds_per_step": 0.1,
        "unseen_max": 0.2,
        "unseen_tv": 0.3,
    }
    values |= {"max_rounded_1": 0.3, "max_rounded_5": 0.2, "error_q0.5": 0.01, "error_q0.99": 0.05}
    values |= {"auc_synthetic": 0.8, "auc_real": 0.9}
    cells = [
        cell for experiment in experiments.PAPER.values() for cell in experiment.cells("adult")
    ]
    for cell in [
        *cells,
        *experiments.peers("adult"),
        *(replace(c, method="adaptive") for c in experiments.peers("adult")),
    ]:
        facts = {name: value for name, value in cell.as_dict().items() if name in COLUMNS}
        facts |= {
            "experiment": cell.experiment,
            "key": cell.key,
            "settings": json.dumps(dict(cell.settings)),
            "note": "",
            "machine": "m",
        }
        rows += [
            facts | {"metric": name, "value": value * (1 + len(cell.method) / 10)}
            for name, value in values.items()
            if cell.method != "none" or name in ("queries", "families")
        ]
    return pd.DataFrame(rows)


def results_table(records: list[Record]) -> pd.DataFrame:
    """Records as the tidy table that a folder of results gives."""
    with tempfile.TemporaryDirectory() as folder:
        for record in records:
            Results(Path(folder)).add(record)
        return Results(Path(folder)).table({record.experiment for record in records})


def test_tables_report_the_best_settings_and_ratios(tmp_path: Path) -> None:
    results = fake_results()
    chosen = best(wide(results))
    assert (
        chosen.groupby(
            ["experiment", "workload", "relation", "rows", "columns", "method", "epsilon"]
        )
        .size()
        .max()
        == 1
    )
    path, short = write_tables(results, tmp_path)
    assert "| adult | 3way:64 |" in path.read_text()
    own = next(
        line
        for line in path.read_text().splitlines()
        if "3way:64, add-remove, 0.1 | adaptive" in line
    )
    assert own.count("(1.00)") == 4
    # the shortest name has the smallest fake error
    assert "| rap | **.1300** / **.260** |" in short.read_text()
    heads, rap = (
        next(line for line in short.read_text().splitlines() if f"| {name} |" in line)
        for name in ("method", "rap")
    )
    assert heads.endswith("| draws, ADULT |")
    assert rap.endswith("| 1 |")


def test_a_cell_of_two_comparisons_has_one_figure() -> None:
    drawn = [("1-epsilon", 0, 0.1), ("1-epsilon", 1, 0.5), ("2-marginals", 0, 0.3)]
    drawn += [("2-marginals", 2, 0.4), ("5-rows", 0, 0.9)]
    records = [
        Record.of(name, cell.as_dict(), {"max": error, "tv": error}, key=cell.key)
        for name, seed, error in drawn
        for cell in [Cell(name, "adult", "3way:64", "aim", 0.1, seed=seed)]
    ]
    found = best(wide(results_table(records))).set_index("experiment")
    # of seed 0 the later of two records counts
    assert found["max"].to_dict() == {"1-epsilon": 0.4, "2-marginals": 0.4, "5-rows": 0.9}
    assert found["draws"].to_dict() == {"1-epsilon": 3, "2-marginals": 3, "5-rows": 1}


def test_a_sweep_over_workloads_keeps_to_one_pair(tmp_path: Path) -> None:
    """Where the other experiment has a better pair, judged by other draws, on one of them."""
    ours, better = ({"rounds": t, "queries_per_round": k} for t, k in ((5, 5), (10, 5)))
    drawn = [("2-marginals", "3way:16", ours, 0, 0.2), ("2-marginals", "3way:64", ours, 0, 0.3)]
    drawn += [("1-epsilon", "3way:64", ours, 1, 0.4), ("1-epsilon", "3way:64", better, 1, 0.1)]
    drawn += [("1-epsilon", "3way:64", better, JUDGING, 0.15), ("3-hdmm", "hdmm15", ours, 0, 0.2)]
    cells = [
        (Cell(name, "adult", workload, "rap", 0.1, seed=seed, settings=settings), error)
        for name, workload, settings, seed, error in drawn
    ]
    results = results_table(
        [
            Record.of(cell.experiment, cell.as_dict(), {"max": error, "tv": error}, key=cell.key)
            for cell, error in cells
        ]
    )
    found = best(wide(results)).set_index(["experiment", "workload"])["max"].to_dict()
    assert found[("2-marginals", "3way:16")] == 0.2
    assert found[("2-marginals", "3way:64")] == pytest.approx(0.35)
    assert found[("1-epsilon", "3way:64")] == 0.15
    sections = write_tables(results, tmp_path)[0].read_text().split("## ")
    said = {section.split("\n")[0]: section for section in sections}
    assert "(10, 5) at ε = 0.1; chosen by looking" in said[experiments.PAPER["1"].title]
    assert "rap: (T, K) = (5, 5) throughout." in said[experiments.PAPER["2"].title]
    assert "(5, 5) at ε = 0.1; no other pair was run here." in said[experiments.PAPER["3"].title]


def test_a_cell_that_succeeded_when_tried_again_has_a_result(tmp_path: Path) -> None:
    cells = [Cell("grid", "adult", "3way:64", "rap", seed=seed) for seed in (1, 2)]
    outcomes: list[tuple[Cell, dict[str, float], str]] = [
        (cells[0], {}, "the first stopped"),
        (cells[1], {}, "the second stopped"),
        (cells[0], {"max": 0.1, "tv": 0.1}, ""),
    ]
    records = [
        Record.of("grid", cell.as_dict(), figures, key=cell.key, note=note)
        for cell, figures, note in outcomes
    ]
    text = write_tables(results_table(records), tmp_path)[0].read_text()
    assert "the second stopped" in text
    assert "the first stopped" not in text


def test_the_pair_that_some_draws_choose_is_judged_by_others() -> None:
    base = Cell("1-epsilon", "adult", "3way:64", "rap", 0.1)
    lucky, steady = ({"rounds": 2, "queries_per_round": 5}, {"rounds": 5, "queries_per_round": 5})
    drawn = [
        (lucky, 0, 0.1),
        (lucky, 1, 0.1),
        (steady, 0, 0.2),
        (steady, 1, 0.05),
        (steady, 2, 0.05),
    ]
    drawn += [(steady, JUDGING, 0.3), (steady, JUDGING + 1, 0.5)]
    records = [
        Record.of("1-epsilon", cell.as_dict(), {"max": error, "tv": error}, key=cell.key)
        for settings, seed, error in drawn
        for cell in [replace(base, settings=settings, seed=seed)]
    ]
    cells = [
        replace(base, settings=lucky, extras=("unseen",)),
        replace(base, settings=steady),
        replace(base, method="aim"),
    ]
    assert at_chosen_pair(cells, records) == [replace(base, settings=steady, extras=("unseen",))]
    assert at_chosen_pair([replace(base, epsilon=1.0, settings=lucky)], records) == []
    chosen = best(wide(results_table(records)))
    assert chosen["max"].tolist() == [0.4]
    assert grid_tables(wide(results_table(records))) == []  # two pairs are no grid
    grid = [
        replace(base, settings={"rounds": t, "queries_per_round": k})
        for t in (2, 5)
        for k in range(5, 11)
    ]
    records = [
        Record.of("1-epsilon", c.as_dict(), {"max": 0.01 * c.settings["rounds"]}, key=c.key)
        for c in grid
    ]
    lines = grid_tables(wide(results_table(records)))
    assert lines[0] == "adult, 3way:64, ε = 0.1, n' = 1000, rap by T and K"
    assert lines[5] == "| T = 5 | " + " | ".join(["0.0500"] * 6) + " |"
    assert chosen[["max_low", "max_high", "draws", "choosing"]].to_numpy().tolist() == [
        [0.3, 0.5, 2, 0.05]
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="needs what dprap-bench needs: matplotlib",
)
@pytest.mark.slow
def test_every_figure_is_drawn(tmp_path: Path) -> None:
    from dprap_bench.plots import draw_all

    drawn = draw_all(fake_results(), tmp_path)
    assert len(drawn) == len(experiments.PAPER)
    assert all(path.stat().st_size > 5000 for path in drawn)


def test_redo_measures_the_cells_asked_for_and_leaves_others(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Cell] = []
    monkeypatch.setattr(
        "dprap_bench.runner.run_cells", lambda cells, *_, **__: ran.extend(cells) or []
    )
    monkeypatch.setattr(experiments, "quick", lambda data: [Cell("quick", data, "3way:2", "zero")])
    results = Results(tmp_path)
    for name, method in (("quick", "zero"), ("other", "zero"), ("quick", "gaussian")):
        cell = Cell(name, "small", "3way:2" if name == "quick" else "3way:1", method)
        results.add(Record.of(name, cell.as_dict(), {"max": 0.5}, key=cell.key))
    arguments = [
        "quick",
        "--data",
        str(data_dir),
        "--table",
        "small",
        "--out",
        str(tmp_path),
        "--redo",
        "zero",
    ]
    assert CliRunner().invoke(command.app, arguments).exit_code == 0
    assert [(cell.experiment, cell.method) for cell in ran] == [("quick", "zero")]
    assert {(record.experiment, record.cell["method"]) for record in results.records()} == {
        ("other", "zero"),
        ("quick", "gaussian"),
    }


def test_command_line(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "quick", lambda data: [Cell("quick", data, "3way:2", "zero")])
    arguments = [
        "quick",
        "--data",
        str(data_dir),
        "--table",
        "small",
        "--out",
        str(tmp_path / "out"),
    ]
    ran = CliRunner().invoke(command.app, arguments)
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "out" / "tables.md").exists()
    assert (
        CliRunner().invoke(command.app, ["figures", "--out", str(tmp_path / "out")]).exit_code == 0
    )
    refused = CliRunner().invoke(
        command.app, ["paper", "--data", str(data_dir), "--only", str(len(experiments.PAPER) + 1)]
    )
    assert refused.exit_code == 2
    missing = CliRunner().invoke(
        command.app, ["quick", "--data", str(data_dir), "--out", str(tmp_path / "missing")]
    )
    assert missing.exit_code == 2
    assert "adult.csv is not in" in missing.output
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["paper", "--only", "1", "--method", "nosuch"], "no cell has nosuch; there are adaptive"),
        (["paper", "--only", "3", "--method", "rap", "--method", "fem"], "no cell has fem"),
        (["paper", "--only", "1", "--epsilon", "0.3"], "no cell has 0.3; there are 0.1, 0.25"),
        (["paper", "--only", "1", "--workload", "4way:64"], "there are 3way:64, 5way:64"),
        (["paper", "--only", "1", "--method", "aim", "--redo", "mst"], "there are aim"),
        (["paper", "--only", "10", "--table", "loans"], "no cell on this table"),
        (["paper", "--only", "6", "--grid"], "run RAP, which none"),
        (["paper", "--only", "1", "--judge"], "run --grid first"),
        (["peers", "--method", "rap"], "there are adaptive, aim"),
        (["study", "counting", "--only", "nosuch"], "the first is called"),
        (["scale", "--only", "nosuch"], "the first is called"),
    ],
)
def test_a_selection_without_cells_is_refused_and_says_what_there_is(
    arguments: list[str], named: str, tmp_path: Path
) -> None:
    for name in ("adult", "loans"):
        (tmp_path / f"{name}.csv").touch()
    folders = ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(command.app, [*arguments, *folders])
    assert refused.exit_code == 2, refused.output
    assert named in " ".join(refused.output.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


def test_cells_multiply_on_one_thread_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "NPROC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    runner._context()
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    assert [os.environ[name] for name in names] == ["1", "3", "1"]


def test_cells_without_a_result_end_in_an_exit_code_and_can_be_tried_again(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell("quick", "small", "3way:2", "gaussian", extras=("unseen",))
    monkeypatch.setattr(experiments, "quick", lambda _: [cell])
    arguments = [
        "quick",
        "--data",
        str(data_dir),
        "--table",
        "small",
        "--out",
        str(tmp_path / "out"),
    ]
    for again, runs in (([], True), ([], False), (["--retry"], True)):
        ran = CliRunner().invoke(command.app, [*arguments, *again])
        assert ran.exit_code == 1
        assert "1 of 1 cells have no result" in ran.output
        assert ("[1/1]" in ran.output) == runs
    assert len(list(Results(tmp_path / "out").records())) == 1


def test_a_record_says_where_when_and_with_what_it_was_measured() -> None:
    cell = Cell("x", "small", "3way:2", "zero")
    record = Record.of("x", cell.as_dict(), {"max": 0.123456789, "ratio": None}, key=cell.key)
    assert record.figures == {"max": 0.123457, "ratio": None}
    assert record.versions["dprap"] == dprap.__version__
    assert "Python" in record.machine
    assert Record.from_line(record.as_line()) == record


def test_a_run_killed_while_it_wrote_goes_on_with_whole_records(tmp_path: Path) -> None:
    results = Results(tmp_path)
    records = [
        Record.of("x", cell.as_dict(), {"max": 0.5}, key=cell.key, note="one\u2028line")
        for cell in (Cell("x", "small", "3way:2", method) for method in ("zero", "mst"))
    ]
    results.add(records[0])
    with (tmp_path / "x.jsonl").open("a", encoding="utf-8") as file:
        file.write(records[1].as_line()[:40])
    assert list(results.records()) == records[:1]
    results.add(records[1])
    assert list(results.records()) == records


@pytest.mark.slow
def test_a_study_is_run_like_an_experiment(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dprap_bench.studies.privacy_primitives.SIZES", (1000,))
    arguments = [
        "study",
        "privacy_primitives",
        "--data",
        str(data_dir),
        "--out",
        str(tmp_path / "out"),
    ]
    ran = CliRunner().invoke(command.app, [*arguments, "--only", "noise", "--only", "flat"])
    assert ran.exit_code == 0, ran.output
    records = list(Results(tmp_path / "out").records())
    assert [record.cell["primitive"] for record in records] == ["noise", "selection, flat scores"]
    assert all(record.figures["dprap_s"] for record in records)
    assert "| primitive noise, size 1000 | 1 |" in ran.output
    refused = CliRunner().invoke(command.app, ["study", "nothing", "--data", str(data_dir)])
    assert isinstance(refused.exception, SettingsError)
    listed = CliRunner().invoke(command.app, ["studies"])
    assert set(STUDIES) == {line.split()[0] for line in listed.output.splitlines()}


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_distinct_cells_in_plain_values(name: str) -> None:
    cells = study_named(name).cells(2)
    assert len({cell.key for cell in cells}) == len(cells) > 1
    assert all(json.loads(json.dumps(cell.as_dict())) == cell.as_dict() for cell in cells)


def test_every_rule_of_adaptive_is_studied() -> None:
    assert set(adaptive_rules.CHANGES) == {"default", *(rule.name for rule in fields(Rules))}
    for rule in adaptive_rules.CHANGES:
        assert (adaptive_rules.settings_of(rule).rules == Rules()) == (rule == "default")


KEPT = Path(__file__).parents[1] / "results"
NOTEBOOK = Path(__file__).parents[2] / "docs" / "adaptive-notebook.md"


@pytest.mark.skipif(not KEPT.exists(), reason="the kept results are in the repository alone")
def test_the_notebook_shows_what_the_kept_draws_say_of_each_rule() -> None:
    records = list(Results(KEPT).records(["adaptive_rules"]))
    page = NOTEBOOK.read_text(encoding="utf-8")
    assert "\n".join(rule_verdicts.table(records)) in page
    # a rule may go only if nothing was lost, and whoever stays without need says why
    found = rule_verdicts.losses(records)
    gone = set(found) - {rule.name for rule in fields(Rules)}
    assert gone <= set(rule_verdicts.BECAME)
    assert all(rule_verdicts.verdict(found[rule]) != rule_verdicts.LOST for rule in gone - SAME)


# Merged without a change of what they do: what is lost without them says nothing.
SAME = {"smooth_from_codes", "group_from_codes", "blocks_from_codes", "most_picks_before_sweep"}


# Studies whose results are still to be measured.
NOT_RUN_YET = {"studio_pages"}


@pytest.mark.skipif(not KEPT.exists(), reason="the kept results are in the repository alone")
def test_kept_results_are_those_of_present_cells() -> None:
    """What was measured once is found again: a run on the kept results would repeat none of it."""
    kept = list(Results(KEPT).records(experiments.COMPARISONS))
    assert len(kept) > 700
    seeds = {record.cell["seed"] for record in kept}
    present = set()
    for data in ("adult", "loans"):
        cells = [
            *experiments.peers(data),
            *(c for e in experiments.PAPER.values() for c in e.cells(data)),
        ]
        grid = whole_grid(cells)
        # The first grid had as many rows as the other experiments.
        grid += [
            replace(c, settings={k: v for k, v in c.settings.items() if k != "synthetic_rows"})
            for c in grid
        ]
        others = [*(cell for cell in cells if cell.method != "rap"), *experiments.numbers(data)]
        chosen = at_chosen_pair(cells, kept)
        for seed in seeds:
            for cell in [*others, *(chosen if seed >= JUDGING else [*cells, *grid])]:
                present.add((cell.experiment, replace(cell, seed=seed).key))
    assert {(record.experiment, record.key) for record in kept} <= present
    for name in STUDIES:
        records = list(Results(KEPT).records([name]))
        assert (not records) == (name in NOT_RUN_YET)
        if not records:
            continue
        assert len({record.key for record in records}) == len(records)
        assert set(study_named(name).cells(None)[0].facts) <= set(records[0].cell)


def test_a_loss_is_judged_by_the_criterion_of_the_study() -> None:
    def loss(*differences: float) -> rule_verdicts.Loss:
        return rule_verdicts.Loss.of([1 + each for each in differences], [1.0] * len(differences))

    assert loss(*[0.0101, 0.0099] * 10).is_lost(0.03), "above two standard errors"
    assert loss(*[0.5, -0.42] * 10).is_lost(0.03), "above the limit, if not above its error"
    assert not loss(*[0.5, -0.46] * 10).is_lost(0.03)
    assert not loss(*[-0.1] * 20).is_lost(0.03)
    assert not loss(0.5, 0.5).is_lost(0.03), "too few draws"
    case = ("table", "3way:64", 1.0)
    assert rule_verdicts.verdict({case: {"max": loss(0.0)}}) == "acts on none of these"
    assert rule_verdicts.verdict({case: {"max": loss(*[-0.1, 0.1] * 10)}}) == "nothing lost"
    assert rule_verdicts.verdict({case: {"max": loss(*[-0.1, 0.1] * 4)}}) == "acts, not judged"
