"""`dprap resume`: go on after a crash or Ctrl-C."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli import options as o
from dprap.runs.options import ABOUT

CHANGES = {
    "rows": "Another number of rows of the synthetic table.",
    "table_format": "Another format: parquet or csv.",
    "ledger": "Where the run's ledger is now, if it was moved.",
    "anchor": ABOUT["anchor"].help,
}


@o.takes(CHANGES, helps=CHANGES)
def resume(
    out: Annotated[Path, typer.Argument(help="The --out of the run that stopped.", metavar="DIR")],
    given: dict[str, Any],
    *,
    data: Annotated[
        str | None, typer.Option(help="Where the private table is now, if it was moved.")
    ] = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Go on with a run that was stopped, spending nothing twice."""
    from dprap.cli.stopping import stopping

    with stopping() as stop:
        from dprap.cli.output import note, print_json
        from dprap.cli.watching import Watching, advice_to_resume, show_release
        from dprap.release import load
        from dprap.runs.carry_out import carry_out
        from dprap.runs.describe import release_data
        from dprap.runs.job import is_complete, job_to_resume

        if is_complete(out, given):
            note(f"{out} is complete: there is nothing to resume.", quiet=quiet)
            if as_json:
                print_json(release_data(load(out), str(out)))
            return
        stop.advice = advice_to_resume(out)
        watching = Watching(stop, quiet=quiet, ask=False)
        release = carry_out(job_to_resume(out, table=data, changes=given), watching)
        show_release(
            release, str(out), time.monotonic() - watching.started, quiet=quiet, as_json=as_json
        )
