"""`dprap report`: the release as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Default: DIR/report.html.")] = None,
) -> None:
    """Write a self-contained HTML page about a release. It shows only what the release contains."""
    from dprap.cli.output import results
    from dprap.release import load
    from dprap.report import write_report

    path = output or release / "report.html"
    write_report(load(release), path)
    results.print(f"written to {path}")
