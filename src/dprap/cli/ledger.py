"""`dprap ledger`: what was spent, and whether the books are intact."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli.options import AnchorOption, Json

# What fits on a screen of each event; `--json` gives all.
_SHOWN = 6

app = typer.Typer(help="Look into a ledger.", no_args_is_help=True)
LedgerFile = Annotated[
    Path, typer.Argument(help="The ledger file, or the table beside which it stands.", metavar="FILE")
]


@app.command("show")
def show(
    file: LedgerFile,
    *,
    events: Annotated[bool, typer.Option("--events", help="Also what was released by each charge.")] = False,
    as_json: Json = False,
) -> None:
    """Show the runs of a ledger and what they spent."""
    from rich.markup import escape

    from dprap.cli.output import print_json, results
    from dprap.privacy import named_ledger, read_ledger

    state = read_ledger(named_ledger(file))
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
            "abandoned": run.abandoned,
            **({"events": [_event(charge) for charge in run.charges.values()]} if events else {}),
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
            escape(str(run["started"])),
            "" if run["epsilon"] is None else f"{run['epsilon']:g}",
            f"{run['rho_planned']:.6g}",
            f"{run['rho_spent']:.6g}",
            str(run["charges"]),
            "abandoned" if run["abandoned"] else "done" if run["done"] else "open",
        )
    results.print(table)
    for run in runs if events else []:
        results.print(f"run {run['run']}", markup=False)
        for event in run["events"]:
            results.print(f"  {_line(event)}", markup=False)
    limit = "no cap" if cap is None else f"cap {cap:.6g}"
    results.print(f"spent in all: {float(state.spent_rho):.6g}-zCDP ({limit})")


@app.command("verify")
def verify(file: LedgerFile) -> None:
    """Check every line and every stored result; exit code 4 if anything was changed."""
    from dprap.cli.output import results
    from dprap.privacy import named_ledger, read_ledger

    file = named_ledger(file)
    state = read_ledger(file)
    charges = sum(len(run.charges) for run in state.runs.values())
    results.print(f"{file}: intact; {len(state.runs)} runs, {charges} charges, ρ = {float(state.spent_rho):.6g}")


@app.command("abandon")
def abandon(
    file: LedgerFile,
    run: Annotated[str, typer.Argument(help="The run, or the first letters of its name.", metavar="RUN")],
    anchor: AnchorOption = None,
) -> None:
    """Close an unfinished run for good, and give back what it holds but did not charge."""
    from dprap.cli.output import results
    from dprap.privacy import Ledger, named_ledger

    with Ledger(named_ledger(file), neighbors=None, anchor=anchor) as ledger:
        given_back = ledger.abandon(run)
        held = float(ledger.state.held_rho)
    results.print(f"run {run} is closed; ρ = {float(given_back):.6g} is free again, {held:.6g} stay spent or held.")


def _event(charge: dict[str, Any]) -> dict[str, Any]:
    """A charge as plain data: what was released, at which cost, with which noise."""
    return dict(charge.get("event", {})) | {"verb": charge["verb"], "rho": float(Fraction(charge["rho"]))}


def _line(event: dict[str, Any]) -> str:
    """A charge in a line. The event comes from a file that anybody may have written, so every part may be anything."""
    named = event.get("of")
    shown = [_name(each) for each in named[:_SHOWN]] if isinstance(named, list) else ["not told, by version 1"]
    more = f", … {event.get('count')!r:.12} in all" if isinstance(named, list) and len(named) > _SHOWN else ""
    noise = event.get("stddev_counts")
    several = sorted({json.dumps(each)[:6] for each in noise}) if isinstance(noise, list) else [json.dumps(noise)[:6]]
    spread = (
        "" if noise is None or not several else f", σ = {several[0]}" + ("" if len(several) == 1 else " and others")
    )
    return f"{event['verb']}, ρ = {event['rho']:.4g}{spread}: {', '.join(shown)}{more}"


def _name(described: Any) -> str:
    """A marginal or query by its columns; what has another form, as it is."""
    try:
        label = described[0] if isinstance(described[0], list) else described
        return f"{str(label[0]).lower()} " + " × ".join(json.dumps(name, ensure_ascii=False)[:40] for name in label[-1])
    except (TypeError, KeyError, IndexError):
        return json.dumps(described)[:60]
