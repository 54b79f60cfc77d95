"""`dprap ledger`: what was spent, and whether the files are intact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli.options import AnchorOption, Json
from dprap.cli.summaries import WholeSummaries

app = typer.Typer(
    cls=WholeSummaries,
    help="Look into a ledger: what was spent, and whether it is whole.",
    no_args_is_help=True,
)
LedgerFile = Annotated[
    Path,
    typer.Argument(help="The ledger file, or the table beside which it stands.", metavar="FILE"),
]


@app.command("show")
def show(
    file: LedgerFile,
    *,
    events: Annotated[
        bool, typer.Option("--events", help="Also what was released by each charge.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the runs of a ledger and what they spent."""
    from dprap.cli.output import print_json, print_line, results
    from dprap.errors import one_line
    from dprap.privacy import named_ledger, read_ledger
    from dprap.runs.describe import event_line, ledger_data

    data = ledger_data(read_ledger(named_ledger(file)), events=events)
    if as_json:
        print_json(data)
        return
    from rich.table import Table

    table = Table("run", "started", "ε", "ρ planned", "ρ spent", "charges", "state")
    for run in data["runs"]:
        table.add_row(
            run["run"][:12],
            one_line(str(run["started"])),
            "" if run["epsilon"] is None else f"{run['epsilon']:g}",
            f"{run['rho_planned']:.6g}",
            f"{run['rho_spent']:.6g}",
            str(run["charges"]),
            "abandoned" if run["abandoned"] else "done" if run["done"] else "open",
        )
    results().print(table)
    for run in data["runs"] if events else []:
        print_line(f"run {run['run']}")
        for event in run["events"]:
            print_line(f"  {event_line(event)}")
    cap = data["cap_rho"]
    limit = "no cap" if cap is None else f"cap {cap:.6g}"
    taken = data["threshold_delta"]
    thresholds = f", and δ = {taken:.3g} for thresholds of discovery" if taken else ""
    print_line(f"spent in all: {data['spent_rho']:.6g}-zCDP ({limit}){thresholds}")


@app.command("verify")
def verify(file: LedgerFile) -> None:
    """Check every line and every stored result; exit code 4 if anything was changed."""
    from dprap.cli.output import print_line
    from dprap.privacy import named_ledger, read_ledger

    file = named_ledger(file)
    state = read_ledger(file)
    charges = sum(len(run.charges) for run in state.runs.values())
    print_line(
        f"{file}: intact; {len(state.runs)} runs, {charges} charges, ρ ="
        f" {float(state.spent_rho):.6g}"
    )


@app.command("abandon")
def abandon(
    file: LedgerFile,
    run: Annotated[
        str, typer.Argument(help="The run, or the first letters of its name.", metavar="RUN")
    ],
    anchor: AnchorOption = None,
) -> None:
    """Close an unfinished run for good, and give back what it holds but did not charge."""
    from dprap.cli.output import print_line
    from dprap.privacy import named_ledger
    from dprap.runs.ledgers import abandon as abandon_run

    closed = abandon_run(named_ledger(file), run, anchor=anchor)
    print_line(
        f"run {run} is closed; ρ = {closed.given_back_rho:.6g} is free again, {closed.held_rho:.6g}"
        " stay spent or held."
    )
