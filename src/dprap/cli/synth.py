"""`dprap synth`: from a private table to a release."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli import options as o
from dprap.runs.options import ABOUT


@o.takes(name for name in ABOUT if name != "run")
def synth(
    table: Annotated[
        str,
        typer.Argument(
            help=(
                "The private table: a CSV or Parquet file, a folder or glob of them, or"
                " postgresql://…"
            ),
            metavar="TABLE",
        ),
    ],
    schema: o.SchemaFile,
    out: Annotated[Path, typer.Option(help="Directory for the release; must not exist.")],
    given: dict[str, Any],
    *,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask before spending. Without a terminal nobody is asked."
        ),
    ] = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Spend a privacy budget on TABLE and write a release."""
    from dprap.cli.stopping import stopping
    from dprap.runs.options import RunOptions

    options = RunOptions(**given)
    with stopping() as stop:
        from dprap.cli.watching import Watching, show_release
        from dprap.runs.carry_out import carry_out
        from dprap.runs.job import new_job
        from dprap.schema import Schema

        job = new_job(table, Schema.load(schema), options, out=out)
        watching = Watching(stop, quiet=quiet, ask=not yes)
        release = carry_out(job, watching)
        show_release(
            release, str(out), time.monotonic() - watching.started, quiet=quiet, as_json=as_json
        )
