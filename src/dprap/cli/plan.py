"""`dprap plan`: everything about a run, before any data are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o
from dprap.mechanisms import DEFAULT_METHOD


def plan(
    schema: Annotated[Path, typer.Argument(help="The public schema.", metavar="SCHEMA")],
    epsilon: o.Epsilon,
    rows: Annotated[int | None, typer.Option(help="Number of records, if it is public.")] = None,
    delta: o.Delta = None,
    neighbors: o.NeighborsOption = "replace",
    max_rows_per_person: o.MaxRowsPerPerson = 1,
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
    as_json: o.Json = False,
) -> None:
    """Show what a run would do and how accurate it would be. Touches no private data, spends nothing."""
    from dprap.cli.output import print_json, results
    from dprap.cli.summary import plan_data, plan_lines
    from dprap.errors import SettingsError
    from dprap.schema import Schema

    if rows is not None and rows < 1:
        raise SettingsError(f"--rows must be at least 1, not {rows}.")
    options = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "max_rows_per_person": max_rows_per_person,
        "accounting": accounting,
        "kway": kway,
        "marginals": marginals,
        "workload_seed": workload_seed,
        "workload_file": None if workload is None else str(workload),
        "max_cells": max_cells,
        "method": method,
        "rounds": rounds,
        "queries_per_round": queries_per_round,
        "synthetic_rows": synthetic_rows,
        "certificate_share": certificate,
        "seed": 0,
        "public": None if public is None else str(public),
    }
    made = o.plan_from_options(Schema.load(schema), options, rows=rows)
    if as_json:
        print_json(plan_data(made, rows))
    else:
        for line in plan_lines(made, rows):
            results.print(line)
