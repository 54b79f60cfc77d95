"""`dprap resume`: go on after a crash or Ctrl-C."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o


def resume(
    out: Annotated[Path, typer.Argument(help="The --out of the run that stopped.", metavar="DIR")],
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Go on with a run that was stopped, spending nothing twice."""
    from dprap.cli.job import carry_out, load_job, open_job
    from dprap.cli.output import note, print_json, results
    from dprap.cli.summary import release_data, release_lines
    from dprap.release import load

    if out.exists():
        note(f"{out} is complete: there is nothing to resume.", quiet=quiet)
        if as_json:
            print_json(release_data(load(out), str(out)))
        return
    job = load_job(out)
    _, source, plan = open_job(job, quiet=quiet)
    started = time.monotonic()
    release = carry_out(job, source, plan, quiet=quiet)
    if as_json:
        print_json(release_data(release, str(out)))
    elif not quiet:
        for line in release_lines(release, str(out), time.monotonic() - started):
            results.print(line)
