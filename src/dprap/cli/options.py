"""Options that several commands share, and the plan they make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dprap.plan import Plan
    from dprap.privacy import Neighbors
    from dprap.schema import Schema
    from dprap.sources import CountSource

Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="Privacy budget ε: smaller protects more.")]
Delta = Annotated[float | None, typer.Option(help="δ; default 1/n², must be given with add-remove neighbours.")]
NeighborsOption = Annotated[str, typer.Option("--neighbors", help="replace (n public) or add-remove (n private).")]
MaxRowsPerPerson = Annotated[int, typer.Option(help="Most records one person has; needs --person-column if above 1.")]
PersonColumnOption = Annotated[
    str | None, typer.Option("--person-column", help="Column with person ids, outside the schema; never published.")
]
ExcessOption = Annotated[
    str, typer.Option("--excess", help="Records beyond that bound: error, or drop (add-remove only).")
]
AccountingOption = Annotated[
    str, typer.Option("--accounting", help="exact, tight (the best zCDP gives), or the paper's formula.")
]
Kway = Annotated[int | None, typer.Option(help="Answer all k-way marginals that fit (default 3).")]
Marginals = Annotated[int | None, typer.Option(help="Only this many of them, drawn at random.")]
WorkloadSeed = Annotated[int, typer.Option(help="Seed of that draw.")]
WorkloadFile = Annotated[Path | None, typer.Option("--workload", help="A YAML or JSON list of marginals instead.")]
MaxCells = Annotated[int | None, typer.Option(help="Largest marginal, in cells (default n).")]
EngineOption = Annotated[
    str | None, typer.Option("--engine", help="memory, files, postgres or spark (default: what fits TABLE).")
]
DatabaseTable = Annotated[str | None, typer.Option("--table", help="Table of a postgresql:// address: schema.table.")]
MethodOption = Annotated[
    str, typer.Option("--method", help="adaptive, rap, gaussian, independent, or one of an installed package.")
]
Rounds = Annotated[int | None, typer.Option(help="Adaptive rounds T.")]
QueriesPerRound = Annotated[int | None, typer.Option(help="Queries per round K (rap).")]
SyntheticRows = Annotated[int | None, typer.Option(help="Relaxed rows n'.")]
CertificateShare = Annotated[float, typer.Option("--certificate", help="Share of ρ for the accuracy certificate.")]
Public = Annotated[
    Path | None,
    typer.Option(
        help="A table that everybody may see, to start from (adaptive): same schema, CSV or Parquet. Not protected."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of public randomness: initialisation and rounding. Never of noise.")]
AnchorOption = Annotated[
    str | None,
    typer.Option("--anchor", help="Outside memory of the ledger's last line: FILE, or command:PROGRAM."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")]


def plan_from_options(schema: Schema, options: dict[str, Any], *, rows: int | None) -> Plan:
    """The plan that the command line's options describe; `options` is plain data, as kept for resuming."""
    from dprap.plan import WorkloadChoice, make_plan
    from dprap.privacy import Accounting

    given = {
        name: options[name] for name in ("rounds", "queries_per_round", "synthetic_rows") if options[name] is not None
    }
    workload_file = options["workload_file"]
    return make_plan(
        schema,
        epsilon=options["epsilon"],
        rows=rows,
        delta=options["delta"],
        neighbors=neighbors_from_options(options),
        accounting=one_of(Accounting, options["accounting"], "--accounting"),
        workload=WorkloadChoice(
            kway=options["kway"],
            marginals=options["marginals"],
            seed=options["workload_seed"],
            file=None if workload_file is None else Path(workload_file),
            max_cells=options["max_cells"],
        ),
        method=options["method"],
        settings=given,
        certificate_share=options["certificate_share"],
        seed=options["seed"],
        public=options["public"],
    )


def neighbors_from_options(options: dict[str, Any]) -> Any:
    """The neighbour relation that the options describe."""
    from dprap.privacy import Neighbors, Relation

    return Neighbors(one_of(Relation, options["neighbors"], "--neighbors"), options["max_rows_per_person"])


def person_from_options(options: dict[str, Any]) -> Any:
    """The person column that the options name, if any."""
    from dprap.privacy import Excess, PersonColumn

    excess = one_of(Excess, options["excess"], "--excess")
    return None if options["person_column"] is None else PersonColumn(options["person_column"], excess)


def one_of(kind: Any, value: str, option: str) -> Any:
    """A member of an enumeration by its value."""
    from dprap.errors import SettingsError

    try:
        return kind(value)
    except ValueError:
        raise SettingsError(f"{option} must be one of {', '.join(member.value for member in kind)}.") from None


def source_from_options(
    table: str,
    schema: Schema,
    options: dict[str, Any],
    neighbors: Neighbors,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> CountSource:
    """The private table that the options describe, bounded and checked against the schema."""
    from dprap.errors import SettingsError
    from dprap.privacy import open_bounded

    engine = options["engine"]
    if engine not in (None, "memory", "files", "postgres", "spark"):
        raise SettingsError("--engine must be one of memory, files, postgres, spark.")
    person = person_from_options(options)
    return open_bounded(
        table,
        schema,
        neighbors=neighbors,
        person=person,
        engine=engine,
        table=options["database_table"],
        progress=progress,
    )
