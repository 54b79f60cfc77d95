"""`dprap statement`: the steward's papers about a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o


def statement(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder to write to; default DIR-statement, beside DIR."
        ),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option(
            help=(
                "YAML file with title, curator, curator_type, intended_use, region, sector, author,"
                " contact, license, url."
            ),
            metavar="FILE",
        ),
    ] = None,
    language: Annotated[
        str, typer.Option(help="Language of the guarantee in plain words: en, de, fr or es.")
    ] = "en",
    as_json: o.Json = False,
) -> None:
    """Write the papers about a release: a plain statement, registry entry, NIST's questions,
    metadata.
    """
    from dprap.cli.output import note, print_json, print_line
    from dprap.release import load
    from dprap.statement import About, require_own_folder, statement_of, write_statement

    loaded = load(release)
    stated = About() if about is None else About.load(about)
    if as_json:
        print_json(statement_of(loaded, stated, language=language))
        return
    folder = release.resolve()
    table = next(iter(sorted(folder.glob("synthetic.*"))), folder / "synthetic.parquet")
    target = output or folder.with_name(f"{folder.name}-statement")
    if output is None:
        require_own_folder(target)
    for path in write_statement(loaded, target, stated, language=language, table=table):
        print_line(str(path))
    if stated.missing:
        note(
            f"no registry.yaml: it requires {', '.join(stated.missing)}. State them in a file, and"
            " name it by --about."
        )
