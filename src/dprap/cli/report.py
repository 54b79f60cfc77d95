"""`dprap report`: the release as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: DIR/report.html.")
    ] = None,
    language: Annotated[
        str, typer.Option(help="Language of the guarantee in plain words: en, de, fr or es.")
    ] = "en",
) -> None:
    """Write a self-contained HTML page about a release. It shows only what the release contains."""
    from dprap.cli.output import print_line
    from dprap.runs.finished_release import load_release, write_report_of

    path = output or release / "report.html"
    write_report_of(load_release(release), path, language=language)
    print_line(f"written to {path}")
