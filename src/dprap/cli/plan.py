"""`dprap plan`: everything about a run, before any data are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli import options as o

# What decides about a plan; the rest is for the private table, the ledger and the output.
PLANNED = (
    "epsilon",
    "delta",
    "neighbors",
    "max_rows_per_person",
    "accounting",
    "kway",
    "marginals",
    "workload_seed",
    "workload",
    "max_cells",
    "method",
    "settings",
    "certificate_share",
    "public",
)


@o.takes(PLANNED)
def plan(
    schema: Annotated[Path, typer.Argument(help="The public schema.", metavar="SCHEMA")],
    given: dict[str, Any],
    *,
    records: Annotated[
        int | None, typer.Option("--records", "--rows", help="Number of records, if it is public.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Show what a run would do and how accurate it would be. Touches no private data, spends nothing."""
    from dprap.cli.output import print_json, results
    from dprap.runs.describe import plan_data, plan_lines
    from dprap.runs.options import RunOptions
    from dprap.runs.plan import check_records, make_plan
    from dprap.schema import Schema

    check_records(records, "--records or --rows")
    made = make_plan(Schema.load(schema), RunOptions(**given), records=records)
    if as_json:
        print_json(plan_data(made))
    else:
        for line in plan_lines(made):
            results.print(line)
