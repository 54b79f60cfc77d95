"""`dprap ledger`: what was spent, and whether the books are intact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli.options import Json

app = typer.Typer(help="Look into a ledger.", no_args_is_help=True)
LedgerFile = Annotated[Path, typer.Argument(help="The ledger file.", metavar="FILE")]


@app.command("show")
def show(file: LedgerFile, *, as_json: Json = False) -> None:
    """Show the runs of a ledger and what they spent."""
    from dprap.cli.output import print_json, results
    from dprap.privacy import read_ledger

    state = read_ledger(file)
    runs: list[dict[str, Any]] = [
        {
            "run": name,
            "started": run.facts.get("started"),
            "epsilon": run.facts.get("epsilon"),
            "delta": run.facts.get("delta"),
            "rho_planned": float(run.planned_rho),
            "rho_spent": float(run.spent_rho),
            "charges": len(run.charges),
            "done": run.done,
        }
        for name, run in state.runs.items()
    ]
    cap = None if state.cap_rho is None else float(state.cap_rho)
    if as_json:
        opening = state.opening or {}
        neighbors = {key: opening.get(key) for key in ("relation", "max_rows_per_person")}
        print_json({"neighbors": neighbors, "cap_rho": cap, "spent_rho": float(state.spent_rho), "runs": runs})
        return
    from rich.table import Table

    table = Table("run", "started", "ε", "ρ planned", "ρ spent", "charges", "state")
    for run in runs:
        table.add_row(
            run["run"][:12],
            str(run["started"]),
            f"{run['epsilon']:g}",
            f"{run['rho_planned']:.6g}",
            f"{run['rho_spent']:.6g}",
            str(run["charges"]),
            "done" if run["done"] else "open",
        )
    results.print(table)
    limit = "no cap" if cap is None else f"cap {cap:.6g}"
    results.print(f"spent in all: {float(state.spent_rho):.6g}-zCDP ({limit})")


@app.command("verify")
def verify(file: LedgerFile) -> None:
    """Check every line and every stored result; exit code 4 if anything was changed."""
    from dprap.cli.output import results
    from dprap.privacy import read_ledger

    state = read_ledger(file)
    charges = sum(len(run.charges) for run in state.runs.values())
    results.print(f"{file}: intact; {len(state.runs)} runs, {charges} charges, ρ = {float(state.spent_rho):.6g}")
