"""`dprap synth`: from a private table to a release."""

from __future__ import annotations

import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o
from dprap.cli.exits import STOPPED
from dprap.mechanisms import DEFAULT_METHOD


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
    ledger: Annotated[Path | None, typer.Option(help="Ledger to charge (default OUT.private/ledger.jsonl).")] = None,
    ledger_cap: Annotated[
        float | None, typer.Option(help="Cap of a new ledger, as ρ, over all runs against it.", metavar="RHO")
    ] = None,
    insecure_noise_seed: Annotated[
        int | None, typer.Option(help="For tests and benchmarks alone: reproducible noise that protects nobody.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")] = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Spend a privacy budget on TABLE and write a release."""
    from dprap.cli.job import Job, carry_out, forget_unless_spent, open_job, save_job
    from dprap.cli.output import note, print_json, results
    from dprap.cli.summary import plan_lines, release_data, release_lines
    from dprap.errors import DprapError, SettingsError
    from dprap.public import refuse_same_table
    from dprap.schema import Schema

    if out.exists():
        raise SettingsError(f"{out} exists already. Choose another --out, or remove it first.")
    if table_format not in ("parquet", "csv"):
        raise SettingsError(f"--format must be parquet or csv, not {table_format!r}.")
    if rows is not None and rows < 1:
        raise SettingsError(f"--rows must be at least 1, not {rows}.")
    if insecure_noise_seed is not None and (ledger is not None or ledger_cap is not None):
        raise SettingsError("seeded noise protects nobody, so no ledger takes it. Leave --ledger or the seed out.")
    job = Job(
        table=table if "://" in table else str(Path(table).resolve()),
        schema=Schema.load(schema).as_mapping(),
        options={
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
            "workload_file": None if workload is None else str(workload.resolve()),
            "max_cells": max_cells,
            "method": method,
            "rounds": rounds,
            "queries_per_round": queries_per_round,
            "synthetic_rows": synthetic_rows,
            "certificate_share": certificate,
            "seed": seed,
            "public": None if public is None else str(public.resolve()),
        },
        run=uuid.uuid4().hex,
        ledger=None if ledger is None else str(ledger.resolve()),
        ledger_cap_rho=ledger_cap,
        out=str(out.resolve()),
        rows=rows,
        table_format=table_format,
        insecure_noise_seed=insecure_noise_seed,
    )
    refuse_same_table(table, public)
    _, source, plan = open_job(job, quiet=quiet)
    if plan.public is not None:
        job = replace(job, public_digest=plan.public.facts.digest)
    for line in plan_lines(plan, source.rows if plan.neighbors.rows_are_public else None):
        note(line, quiet=quiet)
    if not yes and sys.stdin.isatty() and not typer.confirm("Spend this budget?", err=True):
        note("nothing was spent.", quiet=quiet)
        raise typer.Exit(STOPPED)
    started = time.monotonic()
    if insecure_noise_seed is None:
        save_job(job)
    try:
        release = carry_out(job, source, plan, quiet=quiet)
    except DprapError:
        if insecure_noise_seed is None:
            forget_unless_spent(job)
        raise
    if as_json:
        print_json(release_data(release, str(out)))
    elif not quiet:
        for line in release_lines(release, str(out), time.monotonic() - started):
            results.print(line)
