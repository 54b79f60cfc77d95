"""`dprap schema`: propose one, or check one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Propose or check a schema.", no_args_is_help=True)


@app.command("draft")
def draft(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", metavar="TABLE")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the draft (.yaml or .json).")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Propose a schema from private data, for a person to review."""
    from dprap.cli.output import note
    from dprap.encoding import draft_schema
    from dprap.errors import SettingsError

    if output.exists() and not force:
        raise SettingsError(f"{output} exists already. Use --force to replace it.")
    drafted = draft_schema(table)
    drafted.save(output)
    note(
        f"{output}: a draft of {len(drafted.columns)} columns. Its bounds and categories come from private data: replace them "
        "by public knowledge, then remove the line `draft: true`. Until then no private operation takes it."
    )


@app.command("check")
def check(
    schema: Annotated[Path, typer.Argument(help="The schema.", metavar="SCHEMA")],
    table: Annotated[Path | None, typer.Argument(help="A table to check against it.", metavar="[TABLE]")] = None,
) -> None:
    """Check a schema, and a table against it. What it says about a table is for the steward only."""
    from dprap.cli.exits import REFUSED_INPUT
    from dprap.cli.output import complain, note, results
    from dprap.encoding import check as check_table
    from dprap.schema import Schema

    loaded = Schema.load(schema)
    found = check_table(loaded, table)
    results.print(f"{schema}: {len(loaded.domain)} columns, {loaded.domain.onehot_size:,} codes in all")
    for text in found.notes:
        note(text)
    for text in found.problems:
        complain(text)
    if not found.is_ready:
        raise typer.Exit(REFUSED_INPUT)
    if table is not None:
        results.print(f"{table}: every value fits the schema")
