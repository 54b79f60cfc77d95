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
    from dprap.errors import SettingsError
    from dprap.schema import Schema

    if output.exists() and not force:
        raise SettingsError(f"{output} exists already. Use --force to replace it.")
    drafted = Schema.draft(table)
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
    from dprap.cli.output import note, results
    from dprap.encoding import encode
    from dprap.schema import Schema

    loaded = Schema.load(schema)
    domain = loaded.domain
    results.print(f"{schema}: {len(domain)} columns, {domain.onehot_size:,} codes in all")
    if loaded.draft:
        note("it is still marked `draft: true`: no private operation takes it until a person has reviewed it.")
    if not loaded.is_total:
        loose = [name for name, column in loaded.columns.items() if not column.is_total]
        note(f"a value outside the domain of {', '.join(loose[:5])}{' …' if len(loose) > 5 else ''} would stop a run.")
    if table is not None:
        encode(table, loaded)
        results.print(f"{table}: every value fits the schema")
