"""`dprap synth`: from a private table to a release."""

from __future__ import annotations

import os
import sys
import time
import uuid
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprap.cli import options as o
from dprap.cli.exits import STOPPED
from dprap.mechanisms import DEFAULT_METHOD

if TYPE_CHECKING:
    from dprap.cli.job import Job
    from dprap.cli.stopping import Stop


def synth(
    table: Annotated[
        str,
        typer.Argument(
            help="The private table: a CSV or Parquet file, a folder or glob of them, or postgresql://…",
            metavar="TABLE",
        ),
    ],
    schema: Annotated[Path, typer.Option(help="The public schema (YAML, JSON or TOML).")],
    epsilon: o.Epsilon,
    out: Annotated[Path, typer.Option(help="Directory for the release; must not exist.")],
    delta: o.Delta = None,
    neighbors: o.NeighborsOption = "replace",
    max_rows_per_person: o.MaxRowsPerPerson = 1,
    engine: o.EngineOption = None,
    database_table: o.DatabaseTable = None,
    person_column: o.PersonColumnOption = None,
    excess: o.ExcessOption = "error",
    accounting: o.AccountingOption = "exact",
    kway: o.Kway = None,
    marginals: o.Marginals = None,
    workload_seed: o.WorkloadSeed = 0,
    workload: o.WorkloadFile = None,
    max_cells: o.MaxCells = None,
    method: o.MethodOption = DEFAULT_METHOD,
    rounds: o.Rounds = None,
    queries_per_round: o.QueriesPerRound = None,
    synthetic_rows: o.SyntheticRows = None,
    certificate: o.CertificateShare = 0.02,
    public: o.Public = None,
    rows: Annotated[int | None, typer.Option(help="Rows of the synthetic table (default as many as records).")] = None,
    table_format: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
    seed: o.Seed = 0,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger to charge (default the table's own, TABLE.dprap/ledger.jsonl).", metavar="FILE"),
    ] = None,
    ledger_cap: Annotated[
        float | None, typer.Option(help="Cap of a new ledger, as ρ, over all runs against it.", metavar="RHO")
    ] = None,
    anchor: o.AnchorOption = None,
    insecure_noise_seed: Annotated[
        int | None, typer.Option(help="For tests and benchmarks alone: reproducible noise that protects nobody.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")] = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Spend a privacy budget on TABLE and write a release."""
    from dprap.cli.stopping import stopping

    if table_format not in ("parquet", "csv"):
        _refuse(f"--format must be parquet or csv, not {table_format!r}.")
    if rows is not None and rows < 1:
        _refuse(f"--rows must be at least 1, not {rows}.")
    if insecure_noise_seed is not None and (ledger, ledger_cap, anchor) != (None, None, None):
        _refuse("seeded noise protects nobody, so no ledger takes it. Leave --ledger, its options or the seed out.")
    options = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "max_rows_per_person": max_rows_per_person,
        "engine": engine,
        "database_table": database_table,
        "person_column": person_column,
        "excess": excess,
        "accounting": accounting,
        "kway": kway,
        "marginals": marginals,
        "workload_seed": workload_seed,
        "workload_file": None if workload is None else os.path.realpath(workload),
        "max_cells": max_cells,
        "method": method,
        "rounds": rounds,
        "queries_per_round": queries_per_round,
        "synthetic_rows": synthetic_rows,
        "certificate_share": certificate,
        "seed": seed,
        "public": None if public is None else os.path.realpath(public),
    }
    with stopping() as stop:
        from dprap.cli.job import Job
        from dprap.privacy import default_ledger
        from dprap.public import refuse_same_table
        from dprap.schema import Schema

        refuse_same_table(table, public)
        books = None
        if insecure_noise_seed is None:
            books = default_ledger(table, engine=engine) if ledger is None else Path(os.path.realpath(ledger))
        job = Job(
            out=out,
            table=table if "://" in table else os.path.realpath(table),
            schema=Schema.load(schema).as_mapping(),
            options=options,
            run=uuid.uuid4().hex,
            ledger=None if books is None else str(books),
            rows=rows,
            table_format=table_format,
            insecure_noise_seed=insecure_noise_seed,
        )
        _spend(job, stop, cap_rho=ledger_cap, anchor=anchor, yes=yes, quiet=quiet, as_json=as_json)


def _refuse(message: str) -> None:
    from dprap.errors import SettingsError

    raise SettingsError(message)


def _spend(
    job: Job, stop: Stop, *, cap_rho: float | None, anchor: str | None, yes: bool, quiet: bool, as_json: bool
) -> None:
    from dprap.cli.job import carry_out, forget, open_job, refuse_if_begun, save_job
    from dprap.cli.output import note
    from dprap.cli.stopping import NOTHING_SPENT
    from dprap.cli.summary import ledger_lines, plan_lines, show_release
    from dprap.privacy import Ledger

    refuse_if_begun(job)
    _, source, plan = open_job(job, stop, quiet=quiet)
    if plan.public is not None:
        job = replace(job, public_digest=plan.public.facts.digest)
    for line in plan_lines(plan, source.rows if plan.neighbors.rows_are_public else None):
        note(line, quiet=quiet)
    with (
        nullcontext()
        if job.ledger is None
        else Ledger(job.ledger, neighbors=plan.neighbors, cap_rho=cap_rho, anchor=anchor, before_charge=stop.check)
    ) as ledger:
        if ledger is not None:
            for line in ledger_lines(ledger, plan):
                note(line, quiet=quiet)
            job = replace(job, ledger_head=ledger.head)
        if not yes and sys.stdin.isatty() and not typer.confirm("Spend this budget?", err=True):
            note("nothing was spent.", quiet=quiet)
            raise typer.Exit(STOPPED)
        stop.check()
        started = time.monotonic()
        if ledger is not None:
            save_job(job)
            stop.advice = (
                f"stopped. Nothing is lost and nothing will be spent twice: go on with `dprap resume {job.out}`."
            )
        try:
            release = carry_out(job, source, plan, ledger, stop, quiet=quiet)
        except BaseException:
            if ledger is not None and not ledger.may_hold(job.run):
                forget(job)
                stop.advice = NOTHING_SPENT
            raise
    show_release(release, str(job.out), time.monotonic() - started, quiet=quiet, as_json=as_json)
