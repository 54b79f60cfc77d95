"""The Python interface: one call from a table to a release."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dprap.accounting import Budget
from dprap.arguments import as_path, as_whole_number
from dprap.documents import DocumentError, parse
from dprap.domain import Domain
from dprap.errors import SchemaError
from dprap.privacy import Ledger, balance_lines, caution_lines
from dprap.release import load
from dprap.release.release import Release
from dprap.runs.carry_out import Observer, Running, carry_out
from dprap.runs.discover import Discovery, plan_run
from dprap.runs.job import is_complete, job_to_resume, new_job
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, check_records
from dprap.runs.progress_bar import ShownProgress, check_progress, shown
from dprap.runs.python_messages import worded_for_python
from dprap.runs.signatures import takes_run_options
from dprap.schema import Schema
from dprap.workload import MAX_CELLS, Workload, all_kway

# Without a handler of the user's, Python shows warnings on stderr: in scripts and notebooks alike.
_log = logging.getLogger("dprap")


class _Logging(Observer):
    """Says on the log what a run means and what was spent before; hands progress to the caller."""

    def __init__(self, progress: ShownProgress) -> None:
        check_progress(progress)
        self._progress = progress

    def running(self) -> Running:
        return shown(self._progress)

    def planned(self, plan: Plan, ledger: Ledger | None, run: str | None) -> None:
        if not plan.budget.other_rho:  # what paid discovery goes before was said before it
            self._warn(plan.budget, ledger, run)

    def discovering(self, wanted: Discovery, ledger: Ledger | None, run: str | None) -> None:
        self._warn(wanted.budget, ledger, run)

    def _warn(self, budget: Budget, ledger: Ledger | None, run: str | None) -> None:
        for line in caution_lines(budget):
            _log.warning(line)
        if ledger is not None and ledger.state.runs and run not in ledger.state.runs:
            for line in balance_lines(ledger.state, budget):
                _log.warning("%s (ledger %s)", line, ledger.path)


@takes_run_options
def synthesize(  # noqa: D417 - the decorator explains epsilon with the other options
    table: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    epsilon: float,
    out: Path | str | None = None,
    progress: ShownProgress = None,
    **options: Any,
) -> Release:
    """Publish a private table under (epsilon, delta)-differential privacy.

    Every charge is durable, in the ledger of the data set. By default it stands beside a table in
    files, and in the user's state folder for one in memory, found again by the table's content; a
    database or Spark needs `ledger`. What was spent on the data set before, and the sum, is logged
    before anything is spent. `ledger=False` keeps **no memory of what was spent**: for invented
    data alone.

    People with several records need `max_rows_per_person`, or `neighbors=Neighbors(relation,
    max_rows_per_person)`, and the `person_column`. The certificate covers the fitted answers and
    the table that `Release.table()` gives, which has `rows` rows, or as many as there are records.

    Args:
        table: An Arrow, pandas, polars or Spark table, the path of a CSV or Parquet file, a folder
            or a glob of them, or a postgresql:// address with `database_table`.
        schema: What is publicly known of it: a Schema, its plain form, or the path of a schema
            file.
        **options: The options of a run.
        out: A directory for the release, which must not exist. The run is then kept beside it, and
            `resume` goes on with it if it stops.
        progress: True or False for a bar or none, or a function that is called with every step. By
            default there is a bar in terminals and notebooks.

    Returns:
        The release.

    Raises:
        DprapError: If the table, the schema or an option is refused; nothing was spent, or the
            message says so.

    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(500, seed=1), example_schema(), epsilon=1.0, kway=1, method="independent"
    ... )
    >>> release.table(rows=10, format="arrow").num_rows
    10
    """
    with worded_for_python():
        checked_options = RunOptions.of(epsilon=epsilon, **options)
        checked = as_schema(schema)
        checked.refuse_draft()
        job = new_job(
            table, checked, checked_options, out=None if out is None else as_path(out, "out")
        )
        return carry_out(job, _Logging(progress))


@takes_run_options
def plan(  # noqa: D417
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    epsilon: float,
    records: int | None = None,
    **options: Any,
) -> Plan:
    """Tell what a run would do and how accurate it would be.

    Touches no private data, spends nothing.

    Takes the options of `synthesize`, so that the same ones can be planned and then run. The plan
    is shown as a few lines; its `forecast` has the noise of each step, memory and time.

    Args:
        schema: What is publicly known of the table.
        **options: The options of a run.
        records: The number of records of the table, if it is public.

    Returns:
        The plan.

    Raises:
        DprapError: If the schema or an option is refused.

    >>> from dprap.datasets import example_schema
    >>> planned = plan(example_schema(), epsilon=1.0, records=20_000, kway=1, method="independent")
    >>> [f"{step.label}: ± {step.stddev_counts:.0f}" for step in planned.forecast.steps]
    ['14 columns one by one: ± 29', 'accuracy certificate: ± 38']
    """
    with worded_for_python():
        check_records(records)
        return plan_run(
            as_schema(schema), RunOptions.of(epsilon=epsilon, **options), records=records
        )


def resume(
    out: Path | str,
    *,
    table: Any = None,
    rows: int | None = None,
    table_format: str | None = None,
    ledger: Path | str | None = None,
    anchor: Path | str | None = None,
    progress: ShownProgress = None,
) -> Release:
    """Go on with a run that was stopped, spending nothing twice.

    Args:
        out: The directory of the run.
        table: Where the private table is now, if it was moved; the table itself, if it is in
            memory.
        rows: Another number of rows of the synthetic table.
        table_format: Another format: parquet or csv.
        ledger: Where the run's ledger is now, if it was moved.
        anchor: Outside memory of the ledger's last line; a command must be named again.
        progress: True or False for a bar or none, or a function that is called with every step. By
            default there is a bar in terminals and notebooks.

    Returns:
        The release, written to `out`; if it was complete, as it is there.

    Raises:
        DprapError: If there is nothing to resume, or the run cannot be; the message says why.
    """
    out = as_path(out, "the folder of a release")
    asked = {"rows": rows, "table_format": table_format, "ledger": ledger, "anchor": anchor}
    changes = {name: value for name, value in asked.items() if value is not None}
    with worded_for_python():
        if is_complete(out, changes):
            return load(out)
        return carry_out(job_to_resume(out, table=table, changes=changes), _Logging(progress))


def marginals(
    schema: Schema | Domain | str | Path | Mapping[str, Any], k: int, *, max_cells: int = MAX_CELLS
) -> Workload:
    """All k-way marginals of a schema.

    Args:
        schema: The schema, in any form that `synthesize` takes, or its domain.
        k: How many columns each marginal has.
        max_cells: The most cells that a marginal may have; larger ones are left out.

    Returns:
        A workload of one family for each marginal.

    Raises:
        WorkloadError: If k is not between 1 and the number of columns, or no marginal is small
            enough.

    >>> from dprap.datasets import example_schema
    >>> len(marginals(example_schema(), 2))
    91
    """
    domain = schema if isinstance(schema, Domain) else as_schema(schema).domain
    as_whole_number(max_cells, "max_cells", 1)
    with worded_for_python():
        return all_kway(domain, k, max_cells=max_cells)


def as_schema(schema: Schema | str | Path | Mapping[str, Any]) -> Schema:
    """A schema from a file or its text, from plain data, or as it is."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.of(schema)
    if not isinstance(schema, str | Path):
        raise SchemaError(
            f"a schema is a Schema, a mapping or the path of a file, not {type(schema).__name__}. "
            "The table comes first, then the schema."
        )
    if isinstance(schema, str) and "\n" in schema:  # the text of a file, not its name
        try:
            return Schema.of(parse(schema, "yaml"))
        except DocumentError as error:
            raise SchemaError(f"the text of the schema {error}.") from None
    return Schema.load(schema)


__all__ = ["Plan", "as_schema", "marginals", "plan", "resume", "synthesize"]
