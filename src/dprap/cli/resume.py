"""`dprap resume`: go on after a crash or Ctrl-C."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o


def resume(
    out: Annotated[Path, typer.Argument(help="The --out of the run that stopped.", metavar="DIR")],
    rows: Annotated[int | None, typer.Option(help="Another number of rows of the synthetic table.")] = None,
    table_format: Annotated[str | None, typer.Option("--format", help="Another format: parquet or csv.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Where the run's ledger is now, if it was moved.", metavar="FILE")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Where the private table is now, if it was moved.")] = None,
    anchor: o.AnchorOption = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Go on with a run that was stopped, spending nothing twice."""
    from dprap.cli.stopping import stopping

    with stopping() as stop:
        from dprap.cli.job import carry_out, load_job, open_job, with_ledger_at
        from dprap.cli.output import note, print_json
        from dprap.cli.summary import release_data, show_release
        from dprap.errors import SettingsError
        from dprap.privacy import Ledger
        from dprap.release import load

        if rows is not None and rows < 1:
            raise SettingsError(f"--rows must be at least 1, not {rows}.")
        if out.exists():
            if (rows, table_format) != (None, None):
                raise SettingsError(f"{out} is complete. Move it away to write it again with other rows or format.")
            note(f"{out} is complete: there is nothing to resume.", quiet=quiet)
            if as_json:
                print_json(release_data(load(out), str(out)))
            return
        stop.advice = f"stopped. Nothing is lost and nothing will be spent twice: go on with `dprap resume {out}`."
        job = with_ledger_at(load_job(out), ledger)
        job = replace(
            job,
            rows=job.rows if rows is None else rows,
            table_format=table_format or job.table_format,
            table=job.table if data is None else data if "://" in data else os.path.realpath(data),
        )
        _, source, plan = open_job(job, stop, quiet=quiet)
        started = time.monotonic()
        with Ledger(
            str(job.ledger), neighbors=plan.neighbors, anchor=anchor, create=False, before_charge=stop.check
        ) as opened:
            opened.require(job.ledger_head)
            release = carry_out(job, source, plan, opened, stop, quiet=quiet)
        show_release(release, str(out), time.monotonic() - started, quiet=quiet, as_json=as_json)
