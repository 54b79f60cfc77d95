"""The whole way of a run: check, plan, open the ledger, spend, write.

New runs and resumed ones, for every front end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from dprap.accounting import Budget
from dprap.encoding.check_table import MAX_TOUCHED
from dprap.errors import DataError, DprapError, SettingsError
from dprap.mechanisms.result import Paced, Progress, ProgressCallback, silent
from dprap.privacy import Excess, Ledger, PersonColumn, open_bounded
from dprap.release.output_checks import check_output
from dprap.release.release import Release
from dprap.runs.discover import (
    Discovery,
    discover,
    discovery_name,
    open_for_discovery,
    options_for_found,
    schema_to_discover,
    stand_in,
)
from dprap.runs.execute import execute
from dprap.runs.job import Job, forget, refuse_if_begun, save_job, with_ledger
from dprap.runs.named_code import digest_of_functions
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, expected_marginals, make_plan, neighbors_of
from dprap.schema import Schema
from dprap.sources import CountSource
from dprap.sources.protocol import Expect, expect_nothing
from dprap.sources.table_files import PassProgress, no_progress
from dprap.sources.touched_values import touched_in

Reading: TypeAlias = AbstractContextManager[PassProgress]
Running: TypeAlias = AbstractContextManager[ProgressCallback]


class Observer:
    """What a front end is told while a run goes on, and where it may stop the run.

    This one says nothing.
    """

    def reading(self) -> Reading:
        """Surround the first pass over the table; gives a callback for its progress."""
        return nullcontext(no_progress)

    def running(self) -> Running:
        """Surround the run itself; gives a callback for its progress."""
        return nullcontext(silent)

    def planned(self, plan: Plan, ledger: Ledger | None, run: str | None) -> None:
        """Take note of what a new run is about to spend.

        Whatever is raised here stops it with nothing spent.
        """

    def discovering(self, wanted: Discovery, ledger: Ledger | None, run: str | None) -> None:
        """Take note of what a new run is about to pay to find domains.

        Whatever is raised here stops it, too.
        """

    def kept(self, job: Job) -> None:
        """Take note that from now on the run can be resumed."""

    def forgotten(self) -> None:
        """Take note that the run ended before it spent anything, so that there is nothing to
        resume.
        """

    def check(self) -> None:
        """Raise to stop the run; called before every charge and with every step of progress."""


def carry_out(job: Job, observer: Observer) -> Release:
    """Run a job, or go on with it.

    Args:
        job: What to do.
        observer: The front end.

    Returns:
        The release; written to the job's directory if it has one.

    Raises:
        DprapError: If anything about the job is refused. A run that was paid for is kept for
            resuming.
    """
    if job.out is not None and not job.is_resumed:
        refuse_if_begun(job.out)
    job = replace(job, schema=schema_to_discover(job.schema, job.options))
    if job.schema.discover:
        return _discover_first(job, observer)
    with _opened(job, observer) as (source, plan):
        job = with_ledger(job)
        if plan.public is not None:
            job = replace(job, public_digest=plan.public.facts.digest)
        if not job.is_resumed:
            job = replace(job, queries_digest=digest_of_functions(plan.workload))
        with _ledger(job, observer) as ledger:
            if ledger is not None and job.ledger_head is not None:
                ledger.require(job.ledger_head)
                return _spend(job, source, plan, ledger, observer)
            observer.planned(plan, ledger, job.options.run)
            observer.check()
            with _kept(job, ledger, observer):
                return _spend(job, source, plan, ledger, observer)


def _discover_first(job: Job, observer: Observer) -> Release:
    """Pay for the domains that nobody knows, and then carry the run out by the schema that holds
    them.

    A run that is resumed goes the same way: what was paid for is replayed, and gives the same
    schema.
    """
    options = job.options
    if job.out is not None:
        check_output(
            job.out, stand_in(job.schema), rows=options.rows, table_format=options.table_format
        )
    with observer.reading() as progress:
        if options.check and not job.is_resumed:
            _require_untouched(job, watched(progress, observer))
        wanted = open_for_discovery(job.table, job.schema, options, watched(progress, observer))
    observer.check()
    job = with_ledger(job)
    with _ledger(job, observer) as ledger:
        if ledger is not None and job.ledger_head is not None:
            ledger.require(job.ledger_head)
        else:
            if ledger is not None:  # not only for discovery: the run after it must fit as well
                ledger.state.check_cap(wanted.budget.whole_rho)
            observer.discovering(wanted, ledger, options.run)
            observer.check()
        with nullcontext() if job.is_resumed else _kept(job, ledger, observer):
            seed = options.insecure_noise_seed
            schema = discover(wanted, ledger=ledger, run=options.run, insecure_noise_seed=seed)
            known = replace(job, schema=schema, options=options_for_found(schema, options, wanted))
            with _opened(known, observer, budget=wanted.rest) as (source, plan):
                if not job.is_resumed:
                    observer.planned(plan, ledger, options.run)
                    observer.check()
                return _spend(known, source, plan, ledger, observer)


def open_table(
    table: Any,
    schema: Schema,
    options: RunOptions,
    progress: PassProgress = no_progress,
    expect: Expect = expect_nothing,
) -> CountSource:
    """The private table that the options describe, bounded and checked against the schema."""
    person = (
        None
        if options.person_column is None
        else PersonColumn(options.person_column, Excess(options.excess))
    )
    engine: Any = options.engine
    return open_bounded(
        table,
        schema,
        neighbors=neighbors_of(options),
        person=person,
        engine=engine,
        database_table=options.database_table,
        progress=progress,
        expect=expect,
    )


@contextmanager
def _opened(
    job: Job, observer: Observer, budget: Budget | None = None
) -> Iterator[tuple[CountSource, Plan]]:
    """Encode the table and decide everything that needs no private data; `budget` is what discovery
    has left.

    A source that holds a connection to a database closes it at the end.
    """
    schema, options = job.schema, job.options
    schema.require_reviewed()
    if job.out is not None:
        check_output(job.out, schema, rows=options.rows, table_format=options.table_format)
    with observer.reading() as progress:
        # Before a discovery the same was asked: its columns have a code for every value, and others
        # have not changed.
        if options.check and not job.is_resumed and budget is None:
            _require_untouched(job, watched(progress, observer))
        expect = partial(expected_marginals, schema, options)
        source = open_table(job.table, schema, options, watched(progress, observer), expect)
    try:
        observer.check()
        yield source, _planned(job, source, budget)
    finally:
        if hasattr(source, "close"):
            source.close()


def _planned(job: Job, source: CountSource, budget: Budget | None) -> Plan:
    """The plan of a job on an open table."""
    schema, options = job.schema, job.options
    # Where the number of records is private, nothing below may depend on it.
    records = source.rows if neighbors_of(options).rows_are_public else None
    plan = make_plan(schema, options, records=records, budget=budget)
    if (
        job.public_digest is not None
        and plan.public is not None
        and plan.public.facts.digest != job.public_digest
    ):
        raise SettingsError(
            f"the public table {plan.public.facts.name} has changed since the run began. Put the"
            " old one back, and resume again."
        )
    if job.queries_digest is not None and digest_of_functions(plan.workload) != job.queries_digest:
        raise SettingsError(
            f"the custom queries of {options.queries} have other values than when the run began."
            " Put the old code back, and resume again."
        )
    if job.out is not None:
        check_output(
            job.out, schema, rows=options.rows or records, table_format=options.table_format
        )
    return plan


def _require_untouched(job: Job, progress: PassProgress) -> None:
    """Stop where policies would change too many values.

    Like every error before spending, this one depends on the data.
    """
    touched = touched_in(
        job.table,
        job.schema,
        database_table=job.options.database_table,
        engine=job.options.engine,
        progress=progress,
    )
    found = [] if touched is None else touched.findings(MAX_TOUCHED, quoting=False)
    if found:
        more = (
            f" ({len(found) - 1} more such columns: `dprap schema check` lists them)"
            if len(found) > 1
            else ""
        )
        raise DataError(
            f"{found[0]}.{more} Nothing was spent. This message depends on the data: it is for the"
            " steward alone; --no-check turns the check off."
        )


def _ledger(job: Job, observer: Observer) -> AbstractContextManager[Ledger | None]:
    path = job.options.ledger
    if path is False or path is None:
        return nullcontext()
    return Ledger(
        path,
        neighbors=neighbors_of(job.options),
        cap_rho=job.options.ledger_cap_rho,
        anchor=job.options.anchor,
        create=not job.is_resumed,
        before_charge=observer.check,
    )


@contextmanager
def _kept(job: Job, ledger: Ledger | None, observer: Observer) -> Iterator[None]:
    """Keep a new job for resuming as long as the ledger may hold something of it."""
    if job.out is None or ledger is None:
        yield
        return
    refuse_if_begun(job.out, ["job.json"])  # by another, while this one read its table
    save_job(replace(job, ledger_head=ledger.head), job.out)
    observer.kept(job)
    try:
        yield
    except BaseException:
        names = (str(job.options.run), discovery_name(str(job.options.run)))
        if not any(ledger.may_hold(str(name)) for name in names):
            forget(job.out)
            observer.forgotten()
        raise


def _spend(
    job: Job, source: CountSource, plan: Plan, ledger: Ledger | None, observer: Observer
) -> Release:
    """Execute the plan and write the release."""
    options = job.options
    with observer.running() as progress:
        release = execute(
            plan,
            source,
            ledger=ledger,
            run=options.run,
            insecure_noise_seed=options.insecure_noise_seed,
            progress=watched(progress, observer),
            table_rows=options.rows,
        )
        if job.out is None:
            return release
        paced = Paced(watched(progress, observer))
        try:
            return release.save(
                job.out,
                rows=options.rows,
                format=options.table_format,
                watch=lambda done, rows: paced(Progress("write", done, rows, "rows")),
            )
        except Exception as error:
            if ledger is None:
                raise
            kept = (
                f"The run is paid for and kept: `dprap resume {job.out}`, with other --rows or"
                " --format if need be, writes it without spending."
            )
            if isinstance(error, DprapError):
                raise type(error)(f"{error} {kept}") from error
            error.add_note(kept)
            raise


def watched(callback: Callable[..., None], observer: Observer) -> Callable[..., None]:
    """A callback that first gives the front end the chance to stop."""

    def call(*arguments: Any) -> None:
        observer.check()
        callback(*arguments)

    return call
