"""`dprap schema`: propose one, review it, check it, and bring it from and to other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli.options import Json
from dprap.cli.review import review
from dprap.cli.summaries import WholeSummaries

app = typer.Typer(
    cls=WholeSummaries,
    help="Propose, review, check, import or export a schema.",
    no_args_is_help=True,
)

_Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
_Table = Annotated[
    str | None, typer.Option("--table", help="Table of a .duckdb file: schema.table.")
]


@app.command("draft")
def draft(
    table: Annotated[Path, typer.Argument(help="The private table: a file.", metavar="TABLE")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the draft (.yaml or .json).")
    ],
    known: Annotated[
        list[Path] | None,
        typer.Option(
            "--known",
            help=(
                "What is known already: a file that `schema import` reads. Wins over the data. May"
                " be repeated."
            ),
            metavar="FILE",
        ),
    ] = None,
    database_table: _Table = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What stands between the fields of a CSV file.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Its character encoding, such as utf-8 or cp1252.")
    ] = None,
    skip_lines: Annotated[
        int | None, typer.Option(help="Lines above its header.", metavar="N")
    ] = None,
    force: _Force = False,
) -> None:
    """Propose a schema from private data, for a person to review.

    How a CSV file is written is recognised, unless given.
    """
    from dprap.cli.output import note
    from dprap.encoding.draft import draft as draft_table
    from dprap.schema.imports import import_known
    from dprap.sources.duckdb import opened

    _refuse_existing(output, force=force)
    settings = {name: column for path in known or [] for name, column in import_known(path).items()}
    given = {"delimiter": delimiter, "encoding": encoding, "skip_lines": skip_lines}
    csv = {name: value for name, value in given.items() if value is not None}
    drafted = draft_table(opened(table, database_table), known=settings, csv=csv)
    drafted.save(output)
    schema = drafted.schema
    for name in schema.ignore_columns:
        note(f"left out   {name or '(a column without a name)'}: {schema.draft_notes[name].reason}")
    asked: dict[str, list[str]] = {}
    for name, kept in schema.draft_notes.items():
        if kept.question:
            asked.setdefault(kept.question, []).append(name)
    for question, names in asked.items():
        more = f" and {len(names) - 3} more columns" if len(names) > 3 else ""
        note(f"question   {', '.join(names[:3])}{more}: {question}")
    if drafted.suggestions:
        note(
            "Constraints that hold in the data stand as comments at the end of the draft"
            f" ({len(drafted.suggestions)})."
        )
    note(
        f"{output}: a draft of {len(schema.columns)} column{'s' * (len(schema.columns) > 1)}. What"
        " it says comes from private data, and is for the steward's eyes alone. Go on with `dprap"
        f" schema review {output}`. Until then no private operation takes it."
    )


app.command("review")(review)


@app.command("check")
def check(
    schema: Annotated[Path, typer.Argument(help="The schema.", metavar="SCHEMA")],
    table: Annotated[
        Path | None, typer.Argument(help="A table to check against it.", metavar="TABLE")
    ] = None,
    database_table: _Table = None,
    as_json: Json = False,
) -> None:
    """Check a schema, and a table against it.

    What it says about a table is for the steward only.
    """
    from dataclasses import asdict

    from dprap.cli.exits import REFUSED_INPUT
    from dprap.cli.output import complain, note, print_json, print_line
    from dprap.encoding import check as check_table
    from dprap.schema import Schema
    from dprap.sources.duckdb import opened

    loaded = Schema.load(schema)
    found = check_table(loaded, None if table is None else opened(table, database_table))
    if as_json:
        print_json(asdict(found))
        raise typer.Exit(0 if found.is_ready else REFUSED_INPUT)
    size, *notes = found.notes
    print_line(f"{schema}: {size}")
    for text in notes:
        note(text)
    if found.counts:
        note("Values that the policies touch (exact counts, for the steward's eyes alone):")
    for text in found.counts:
        note(f"  {text}")
    for text in (*found.problems, *found.touched):
        complain(text)
    if not found.is_ready:
        raise typer.Exit(REFUSED_INPUT)
    if table is not None:
        print_line(f"{table}: every value fits the schema")


@app.command("import")
def import_schema(
    source: Annotated[
        Path,
        typer.Argument(
            help=(
                "SDV metadata, Frictionless, JSON Schema or Croissant (.json), pandera (.yaml),"
                " SAS, Stata or SPSS, or a code book (.csv)."
            ),
            metavar="SOURCE",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the schema (.yaml or .json).")
    ],
    force: _Force = False,
) -> None:
    """Make a schema of what another tool or a code book knows."""
    from dprap.cli.output import print_line
    from dprap.schema.imports import import_schema as read

    _refuse_existing(output, force=force)
    schema = read(source)
    schema.save(output)
    print_line(f"{output}: {len(schema.columns)} columns from {source}")


@app.command("export")
def export_schema(
    schema: Annotated[Path, typer.Argument(help="The schema.", metavar="SCHEMA")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write it (.json).")],
    to: Annotated[str, typer.Option("--to", help="frictionless or sdv.")] = "frictionless",
    force: _Force = False,
) -> None:
    """Write a schema in the form of another tool."""
    import json

    from dprap.cli.output import print_line
    from dprap.errors import SettingsError
    from dprap.schema import Schema
    from dprap.schema.exports import EXPORTS

    _refuse_existing(output, force=force)
    if to not in EXPORTS:
        raise SettingsError(f"--to must be one of {', '.join(EXPORTS)}.")
    loaded = Schema.load(schema)
    loaded.require_reviewed()
    try:
        output.write_text(
            json.dumps(EXPORTS[to](loaded), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise SettingsError(f"{output}: cannot be written ({error.strerror}).") from None
    print_line(f"{output}: {len(loaded.columns)} columns for {to}")


def _refuse_existing(output: Path, *, force: bool) -> None:
    from dprap.errors import SettingsError

    if output.exists() and not force:
        raise SettingsError(f"{output} exists already. Use --force to replace it.")
