"""`dprap bench`: the paper's experiments, the comparison with peers, and a quick subset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dprap_bench.cell import Cell
    from dprap_bench.results import Results

app = typer.Typer(
    name="bench",
    help="Run the paper's experiments and comparisons on public benchmark data. NOT PRIVATE: noise is seeded.",
    no_args_is_help=True,
)

DataDir = Annotated[Path, typer.Option("--data", help="Folder with NAME.csv and NAME-domain.json.")]
OutDir = Annotated[Path, typer.Option("--out", help="Folder for results and figures; a run goes on where it stopped.")]
Tables = Annotated[list[str], typer.Option("--table", help="Benchmark table; may be given several times.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, help="Runs of every cell, each with its own noise.")]
Limit = Annotated[float, typer.Option("--seconds", help="Processor seconds a cell may take.")]
Redo = Annotated[
    list[str] | None,
    typer.Option("--redo", help="Method whose cells are measured again; may be given several times."),
]
Methods = Annotated[
    list[str] | None, typer.Option("--method", help="Run this method's cells alone; may be given several times.")
]
ADULT = ["adult"]


@app.command()
def paper(
    data: DataDir,
    out: OutDir = Path("bench-results"),
    table: Tables = ADULT,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Number of an experiment, 1 to 10; several times for several.")
    ] = None,
    seeds: Seeds = 1,
    seconds: Limit = 3600.0,
    redo: Redo = None,
    method: Methods = None,
) -> None:
    """Run the paper's experiments (and one beyond them) and draw their figures."""
    from dprap_bench.experiments import PAPER

    numbers = only or list(PAPER)
    if unknown := [number for number in numbers if number not in PAPER]:
        raise typer.BadParameter(f"there is no experiment {unknown[0]}; they are numbered 1 to {len(PAPER)}.")
    cells = [cell for number in numbers for name in table for cell in PAPER[number].cells(name)]
    _run(cells, data, out, seeds, seconds, redo, method)


@app.command()
def peers(
    data: DataDir,
    out: OutDir = Path("bench-results"),
    table: Tables = ADULT,
    seeds: Seeds = 1,
    seconds: Limit = 3600.0,
    redo: Redo = None,
    method: Methods = None,
) -> None:
    """Compare error, time and memory with AIM and MST, as ratios of one run."""
    from dprap_bench.experiments import peers as peer_cells

    _run([cell for name in table for cell in peer_cells(name)], data, out, seeds, seconds, redo, method)


@app.command()
def quick(
    data: DataDir,
    out: OutDir = Path("bench-results"),
    table: Tables = ADULT,
    seeds: Seeds = 1,
    seconds: Limit = 120.0,
    redo: Redo = None,
    method: Methods = None,
) -> None:
    """Run a subset of about two minutes, for every change."""
    from dprap_bench.experiments import quick as quick_cells

    _run([cell for name in table for cell in quick_cells(name)], data, out, seeds, seconds, redo, method)


@app.command()
def figures(out: OutDir = Path("bench-results")) -> None:
    """Draw figures and tables anew from results that are there."""
    from dprap_bench.results import Results

    _publish(Results(out / "results.csv"), out)


def _run(
    cells: list[Cell],
    data: Path,
    out: Path,
    seeds: int,
    seconds: float,
    redo: list[str] | None,
    methods: list[str] | None,
) -> None:
    from dataclasses import replace

    from dprap_bench.results import Results
    from dprap_bench.runner import run_cells

    results = Results(out / "results.csv")
    wanted = [cell for cell in cells if not methods or cell.method in methods]
    repeated = [replace(cell, seed=seed) for seed in range(seeds) for cell in wanted]
    results.forget(cell.key for cell in repeated if cell.method in (redo or ()))
    run_cells(
        repeated,
        results,
        data_dir=data,
        seconds_per_cell=seconds,
        report=lambda line: typer.echo(line, err=True),
    )
    _publish(results, out)


def _publish(results: Results, out: Path) -> None:
    from dprap_bench.tables import write_tables

    if not results.path.exists():
        typer.echo(f"there are no results in {out}.", err=True)
        return
    for path in write_tables(results.read(), out):
        typer.echo(str(path))
    try:
        from dprap_bench.plots import draw_all
    except ImportError:
        typer.echo("figures need matplotlib: install dprap[bench] and run `dprap bench figures`.", err=True)
        return
    for path in draw_all(results.read(), out):
        typer.echo(str(path))
