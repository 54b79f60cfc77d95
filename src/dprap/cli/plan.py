"""`dprap plan`: everything about a run, before any data are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli import options as o
from dprap.runs.options import PLANNED


@o.takes(PLANNED, optional=("epsilon",))
def plan(
    schema: Annotated[Path, typer.Argument(help="The public schema.", metavar="SCHEMA")],
    given: dict[str, Any],
    *,
    records: Annotated[
        int | None, typer.Option(help="Number of records of the table, if it is public.")
    ] = None,
    rows: o.RowsForRecords = None,
    target_error: Annotated[
        float | None,
        typer.Option(
            help=(
                "A wanted error, as a share of all records: shows the ε, or the records, that it"
                " needs."
            )
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Argument(
            help='The marginal of --target-error, such as "age × sex".', metavar="MARGINAL"
        ),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Show what a run would do and how accurate it would be.

    Touches no private data, spends nothing.

    With --target-error and a marginal it plans backwards: with --records it finds the ε, with
    --epsilon the records.
    """
    from dprap.cli.output import print_json, print_line
    from dprap.errors import SettingsError
    from dprap.runs.describe import plan_data, plan_lines
    from dprap.runs.discover import plan_run
    from dprap.runs.options import RunOptions
    from dprap.runs.plan import check_records
    from dprap.schema import Schema

    records = o.records_of(records, rows)
    check_records(records, "--records" if rows is None else "--rows")
    if target_error is not None or of is not None:
        _backwards(schema, given, records, target_error, of, as_json=as_json)
        return
    if given["epsilon"] is None:
        raise SettingsError(
            "--epsilon is missing: how much privacy may the run spend? See `dprap plan --help`."
        )
    made = plan_run(Schema.load(schema), RunOptions(**given), records=records)
    if as_json:
        print_json(plan_data(made))
    else:
        for line in plan_lines(made):
            print_line(line)


def _backwards(
    schema: Path,
    given: dict[str, Any],
    records: int | None,
    error: float | None,
    of: str | None,
    *,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from dprap.cli.output import print_json, print_line
    from dprap.errors import SettingsError
    from dprap.runs.options import RunOptions
    from dprap.runs.wanted_precision import marginal_of, plan_for_error
    from dprap.schema import Schema

    if error is None or of is None:
        raise SettingsError('planning backwards takes both: --target-error 0.01 "age × sex".')
    if (records is None) == (given["epsilon"] is None):
        raise SettingsError(
            "give --records to find the ε, or --epsilon to find the records: one of the two."
        )
    loaded = Schema.load(schema)
    options = RunOptions(**given | {"epsilon": given["epsilon"] or 1.0})
    found = plan_for_error(loaded, marginal_of(of, loaded), error, options, records)
    if as_json:
        print_json(asdict(found) | {"marginal": list(found.marginal.columns)})
        return
    for line in found.lines():
        print_line(line)
