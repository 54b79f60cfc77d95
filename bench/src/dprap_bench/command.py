"""`dprap bench`: the paper's experiments, the comparison with peers, a quick subset, and
studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dprap_bench.cell import AnyCell, Cell, StudyCell
    from dprap_bench.record import Record
    from dprap_bench.results import Results

app = typer.Typer(
    name="bench",
    help=(
        "Run the paper's experiments and comparisons on public benchmark data. NOT PRIVATE: noise"
        " is seeded."
    ),
    no_args_is_help=True,
)

DataDir = Annotated[Path, typer.Option("--data", help="Folder with NAME.csv and NAME-domain.json.")]
OutDir = Annotated[
    Path,
    typer.Option(
        "--out", help="Folder of results, NAME.jsonl each; a run goes on where it stopped."
    ),
]
FiguresDir = Annotated[
    Path | None,
    typer.Option(
        "--figures", help="Folder for tables and figures; that of the results unless given."
    ),
]
Tables = Annotated[
    list[str], typer.Option("--table", help="Benchmark table; may be given several times.")
]
Seeds = Annotated[
    int, typer.Option("--seeds", min=1, help="Runs of every cell, each with its own noise.")
]
FirstSeed = Annotated[
    int,
    typer.Option(
        "--first-seed",
        min=0,
        help=(
            "Noise seed of the first run. Draws from 9000 on judge: figures are theirs alone where"
            " there are any."
        ),
    ),
]
Limit = Annotated[float, typer.Option("--seconds", help="Processor seconds a cell may take.")]
Redo = Annotated[
    list[str] | None,
    typer.Option(
        "--redo", help="Method whose cells are measured again; may be given several times."
    ),
]
Retry = Annotated[bool, typer.Option("--retry", help="Run cells again that have no result.")]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", help="Run this method's cells alone; may be given several times."),
]
PartsOfNames = Annotated[
    list[str] | None,
    typer.Option("--only", help="Run only cells that have this in their names; may be repeated."),
]
ADULT = ["adult"]
RESULTS = Path("bench-results")


@app.command()
def paper(
    data: DataDir,
    out: OutDir = RESULTS,
    figures: FiguresDir = None,
    table: Tables = ADULT,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Number of an experiment, 1 to 10; several times for several."),
    ] = None,
    grid: Annotated[
        bool,
        typer.Option(
            "--grid",
            help=(
                "Run RAP alone, at all 25 pairs (T, K) of the paper, with a tenth of the rows, on"
                " draws from 1 on."
            ),
        ),
    ] = False,
    most_queries: Annotated[
        int | None,
        typer.Option(
            "--most-queries",
            min=10,
            help="With --grid, leave out pairs that select more queries, T times K, than this.",
        ),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge",
            help="Run RAP alone, at the best pair of those in the results, on draws from 9000 on.",
        ),
    ] = False,
    seeds: Seeds = 1,
    first_seed: FirstSeed = 0,
    epsilon: Annotated[
        list[float] | None,
        typer.Option("--epsilon", help="Run cells of this ε alone; may be given several times."),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            help="Run cells of this workload alone, such as 3way:64; may be given several times.",
        ),
    ] = None,
    seconds: Limit = 3600.0,
    redo: Redo = None,
    retry: Retry = False,
    method: Methods = None,
) -> None:
    """Run the paper's experiments (and one beyond them) and draw their figures."""
    from dprap_bench.chosen_pair import JUDGING, at_chosen_pair, whole_grid
    from dprap_bench.experiments import COMPARISONS, PAPER
    from dprap_bench.results import Results

    numbers = only or list(PAPER)
    if unknown := [number for number in numbers if number not in PAPER]:
        raise typer.BadParameter(
            f"there is no experiment {unknown[0]}; they are numbered 1 to {len(PAPER)}."
        )
    cells = [cell for number in numbers for name in table for cell in PAPER[number].cells(name)]
    cells = _selected(cells, method=method, epsilon=epsilon, workload=workload)
    if (grid or judge) and all(cell.method != "rap" for cell in cells):
        raise typer.BadParameter("--grid and --judge run RAP, which none of these cells is of.")
    if grid:
        # A draw with seed 0 has a process of its own for its costs. The grid is about errors, and
        # its pairs share the programs that one process compiles.
        cells, first_seed = whole_grid(cells, most_queries=most_queries), max(first_seed, 1)
    if judge:
        cells, first_seed = at_chosen_pair(cells, Results(out).records(COMPARISONS)), JUDGING
        if not cells:
            raise typer.BadParameter(f"{out} has no draws that choose a pair; run --grid first.")
    _compare(
        _repeated(cells, range(first_seed, first_seed + seeds)),
        data,
        out,
        figures,
        seconds,
        redo,
        retry=retry,
    )


def _add_comparison(name: str, shows: str, seconds_per_cell: float) -> None:
    """Add the command of a comparison, whose cells are those of the function `name` in
    `experiments`.
    """

    @app.command(name, help=shows)
    def comparison(
        data: DataDir,
        out: OutDir = RESULTS,
        figures: FiguresDir = None,
        table: Tables = ADULT,
        seeds: Seeds = 1,
        first_seed: FirstSeed = 0,
        seconds: Limit = seconds_per_cell,
        redo: Redo = None,
        retry: Retry = False,
        method: Methods = None,
    ) -> None:
        from dprap_bench import experiments

        cells = [cell for each in table for cell in getattr(experiments, name)(each)]
        cells = _selected(cells, method=method)
        wanted = _repeated(cells, range(first_seed, first_seed + seeds))
        _compare(wanted, data, out, figures, seconds, redo, retry=retry)


_add_comparison(
    "peers", "Compare error, time and memory with AIM and MST, as ratios of one run.", 3600.0
)
_add_comparison("quick", "Run a subset of about two minutes, for every change.", 600.0)
_add_comparison(
    "numbers",
    "Compare prefixes, ranges and halfspaces of ADULT with HDMM, AIM and Gaussian noise.",
    600.0,
)


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="The study; `dprap bench studies` lists them.")],
    data: DataDir,
    out: OutDir = RESULTS,
    only: PartsOfNames = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="At most this many noise seeds a case.")
    ] = None,
    seconds: Limit = 3600.0,
    retry: Retry = False,
) -> None:
    """Run a study: the adaptive mechanism and its levers, RAP, counting, noise and selection."""
    from dprap_bench.markdown_tables import study_table
    from dprap_bench.results import Results
    from dprap_bench.studies import study_named

    results, asked = Results(out), study_named(name)
    records = _run(_named(asked.cells(seeds), only), results, data, seconds, retry=retry)
    own_table = getattr(asked, "table", None)
    lines = study_table(records) if own_table is None else own_table(list(results.records([name])))
    typer.echo("\n".join(lines))
    _complain_of_failures(records)


@app.command("data")
def data_sets(
    downloads: Annotated[
        Path,
        typer.Argument(
            help="Folder with the published files; what is missing is named.", metavar="DOWNLOADS"
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder for NAME.csv and NAME-domain.json, as --data takes it."),
    ],
) -> None:
    """Say what to download, and prepare ADULT and LOANS from the published files, checked by
    digest.
    """
    from dprap_bench.data import prepare

    lines, ready = prepare(downloads, out)
    for line in lines:
        typer.echo(line)
    if not ready:
        raise typer.Exit(1)


@app.command()
def scale(
    data: DataDir,
    out: OutDir = RESULTS,
    only: PartsOfNames = None,
    seconds: Limit = 3600.0,
    retry: Retry = False,
) -> None:
    """Measure large tables and workloads, and write scale.md: time and memory beside their
    targets.
    """
    from dprap_bench.results import Results
    from dprap_bench.studies import scale as cases

    results = Results(out)
    records = _run(_named(cases.cells(None), only), results, data, seconds, retry=retry)
    lines = cases.table([record for record in results.records() if record.experiment == "scale"])
    (out / "scale.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    typer.echo("\n".join(lines))
    _complain_of_failures(records)


@app.command()
def studies() -> None:
    """List the studies."""
    from dprap_bench.studies import STUDIES

    width = max(map(len, STUDIES))
    for name, shows in STUDIES.items():
        typer.echo(f"{name:<{width}}  {shows}")


@app.command("figures")
def draw(out: OutDir = RESULTS, figures: FiguresDir = None) -> None:
    """Draw figures and tables anew from results that are there."""
    from dprap_bench.results import Results

    _publish(Results(out), figures or out)


def _named(cells: Sequence[StudyCell], parts: list[str] | None) -> list[StudyCell]:
    """The cells that have one of these in their names; all of them where nothing is asked for."""
    named = [cell for cell in cells if not parts or any(part in str(cell) for part in parts)]
    if not named:
        raise typer.BadParameter(
            f"no cell has that in its name; the first is called {cells[0]}.", param_hint="--only"
        )
    return named


def _selected(cells: Sequence[Cell], **asked: Sequence[str | float] | None) -> list[Cell]:
    """The cells with one of the asked values of each attribute; all where nothing is asked for."""
    if not cells:
        raise typer.BadParameter("these experiments have no cell on this table.")
    wanted = list(cells)
    for name, values in asked.items():
        there = list(dict.fromkeys(getattr(cell, name) for cell in wanted))
        for value in values or ():
            if value not in there:
                raise typer.BadParameter(
                    f"no cell has {value}; there are {', '.join(map(str, there))}.",
                    param_hint=f"--{name}",
                )
        wanted = [cell for cell in wanted if not values or getattr(cell, name) in values]
    return wanted


def _repeated(cells: Sequence[Cell], seeds: range) -> list[Cell]:
    """The cells, each with several seeds."""
    from dataclasses import replace

    return [replace(cell, seed=seed) for seed in seeds for cell in cells]


def _compare(
    cells: list[Cell],
    data: Path,
    out: Path,
    figures: Path | None,
    seconds: float,
    redo: list[str] | None,
    *,
    retry: bool,
) -> None:
    from dprap_bench.results import Results

    for name in sorted({cell.data for cell in cells}):
        if not (data / f"{name}.csv").is_file():
            raise typer.BadParameter(
                f"{name}.csv is not in {data}. `dprap bench data DOWNLOADS --out {data}` says what"
                " to download, and prepares ADULT and LOANS.",
                param_hint="--data",
            )
    results = Results(out)
    changed = {cell.key for cell in _selected(cells, method=redo)} if redo else set()
    results.forget(lambda record: record.key in changed)
    records = _run(cells, results, data, seconds, retry=retry)
    _publish(results, figures or out)
    _complain_of_failures(records)


def _run(
    cells: Sequence[AnyCell], results: Results, data: Path, seconds: float, *, retry: bool
) -> list[Record]:
    from dprap_bench.runner import run_cells

    if retry:
        wanted = {(cell.experiment, cell.key) for cell in cells}
        results.forget(lambda record: record.failed and (record.experiment, record.key) in wanted)
    return run_cells(
        cells,
        results,
        data_dir=data,
        seconds_per_cell=seconds,
        report=lambda line: typer.echo(line, err=True),
    )


def _complain_of_failures(records: Sequence[Record]) -> None:
    """End with exit code 1 if a cell has no result."""
    failed = [record for record in records if record.failed]
    if failed:
        typer.echo(
            f"{len(failed)} of {len(records)} cells have no result. The first:"
            f" {failed[0].note.rstrip('.')}. Once it is mended, run the same with --retry.",
            err=True,
        )
        raise typer.Exit(1)


def _publish(results: Results, out: Path) -> None:
    from dprap_bench.experiments import COMPARISONS
    from dprap_bench.markdown_tables import write_tables

    table = results.table(COMPARISONS)
    regimes = list(results.records(["regimes"]))
    if table.empty and not regimes:
        typer.echo(f"there are no results in {results.folder}.", err=True)
        return
    out.mkdir(parents=True, exist_ok=True)
    for path in [] if table.empty else write_tables(table, out):
        typer.echo(str(path))
    try:
        from dprap_bench.plots import draw_all
        from dprap_bench.regime_map import draw_regimes
    except ImportError:
        typer.echo("figures need matplotlib: install it and run `dprap bench figures`.", err=True)
        return
    for drawn in [*([] if table.empty else draw_all(table, out)), draw_regimes(regimes, out)]:
        if drawn is not None:
            typer.echo(str(drawn))
