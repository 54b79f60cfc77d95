"""`dprap evaluate`: compare a release with the private table. What it writes is NOT PRIVATE."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli import options as o

# How the private table is read, and the code of custom queries, which a release does not store.
READING = ("engine", "database_table", "person_column", "excess", "queries")


@o.takes(READING)
def evaluate(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    table: Annotated[
        str, typer.Argument(help="The private table it was made from.", metavar="TABLE")
    ],
    given: dict[str, Any],
    *,
    report: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Where to write the page with the truth in it; default DIR-NOT-PRIVATE.html, beside"
                " DIR."
            )
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that models predict, trained on either table; may be repeated.",
            metavar="COLUMN",
        ),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Measure the true errors of a release and show it beside the private table.

    The result is NOT PRIVATE.
    """
    from dprap.cli.output import print_json, print_line
    from dprap.runs.finished_release import compare, comparison_path

    path = comparison_path(release, report)
    found = compare(release, table, path, given, targets=target)
    if as_json:
        print_json({"NOT PRIVATE": True, "report": str(path), **found.as_plain()})
        return
    for line in found.lines():
        print_line(line)
    print_line(f"shown in {path} (NOT PRIVATE)")
