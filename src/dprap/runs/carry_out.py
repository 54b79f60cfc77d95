"""The whole way of a run: check, plan, open the ledger, spend, write. New runs and resumed ones, for every front end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

from dprap.errors import DprapError, SettingsError
from dprap.mechanisms.result import ProgressCallback, silent
from dprap.privacy import Excess, Ledger, PersonColumn, open_bounded
from dprap.release.output_checks import check_output
from dprap.release.release import Release
from dprap.runs.execute import execute
from dprap.runs.job import Job, forget, refuse_if_begun, save_job, with_ledger
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, make_plan, neighbors_of
from dprap.schema import Schema
from dprap.sources import CountSource
from dprap.sources.files import PassProgress, no_progress

Reading: TypeAlias = AbstractContextManager[PassProgress]
Running: TypeAlias = AbstractContextManager[ProgressCallback]


class Observer:
    """What a front end is told while a run goes on, and where it may stop the run. This one says nothing."""

    def reading(self) -> Reading:
        """Surround the first pass over the table; gives a callback for its progress."""
        return nullcontext(no_progress)

    def running(self) -> Running:
        """Surround the run itself; gives a callback for its progress."""
        return nullcontext(silent)

    def planned(self, plan: Plan, ledger: Ledger | None, run: str | None) -> None:
        """Take note of what a new run is about to spend. Whatever is raised here stops it with nothing spent."""

    def kept(self, job: Job) -> None:
        """Take note that from now on the run can be resumed."""

    def forgotten(self) -> None:
        """Take note that the run ended before it spent anything, so that there is nothing to resume."""

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
        DprapError: If anything about the job is refused. A run that was paid for is kept for resuming.

    """
    if job.out is not None and not job.is_resumed:
        refuse_if_begun(job.out)
    source, plan = _open(job, observer)
    job = with_ledger(job)
    if plan.public is not None:
        job = replace(job, public_digest=plan.public.facts.digest)
    with _ledger(job, plan, observer) as ledger:
        if ledger is not None and job.ledger_head is not None:
            ledger.require(job.ledger_head)
            return _spend(job, source, plan, ledger, observer)
        observer.planned(plan, ledger, job.options.run)
        observer.check()
        with _kept(job, ledger, observer):
            return _spend(job, source, plan, ledger, observer)


def open_table(table: Any, schema: Schema, options: RunOptions, progress: PassProgress = no_progress) -> CountSource:
    """The private table that the options describe, bounded and checked against the schema."""
    person = None if options.person_column is None else PersonColumn(options.person_column, Excess(options.excess))
    engine: Any = options.engine
    return open_bounded(
        table,
        schema,
        neighbors=neighbors_of(options),
        person=person,
        engine=engine,
        database_table=options.database_table,
        progress=progress,
    )


def _open(job: Job, observer: Observer) -> tuple[CountSource, Plan]:
    """Encode the table and decide everything that needs no private data."""
    schema, options = job.schema, job.options
    schema.require_reviewed()
    if job.out is not None:
        check_output(job.out, schema, rows=options.rows, table_format=options.table_format)
    with observer.reading() as progress:
        source = open_table(job.table, schema, options, watched(progress, observer))
    observer.check()
    # Where the number of records is private, nothing below may depend on it.
    records = source.rows if neighbors_of(options).rows_are_public else None
    plan = make_plan(schema, options, records=records)
    if job.public_digest is not None and plan.public is not None and plan.public.facts.digest != job.public_digest:
        raise SettingsError(
            f"the public table {plan.public.facts.name} has changed since the run began. Put the old one back, and "
            "resume again."
        )
    if job.out is not None:
        check_output(job.out, schema, rows=options.rows or records, table_format=options.table_format)
    return source, plan


def _ledger(job: Job, plan: Plan, observer: Observer) -> AbstractContextManager[Ledger | None]:
    path = job.options.ledger
    if path is False or path is None:
        return nullcontext()
    return Ledger(
        path,
        neighbors=plan.neighbors,
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
    save_job(replace(job, ledger_head=ledger.head), job.out)
    observer.kept(job)
    try:
        yield
    except BaseException:
        if not ledger.may_hold(str(job.options.run)):
            forget(job.out)
            observer.forgotten()
        raise


def _spend(job: Job, source: CountSource, plan: Plan, ledger: Ledger | None, observer: Observer) -> Release:
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
        try:
            return release.save(job.out, rows=options.rows, format=options.table_format)
        except DprapError as error:
            if ledger is None:
                raise
            raise type(error)(
                f"{error} The run is paid for and kept: `dprap resume {job.out}`, with other --rows or --format if need "
                "be, writes it without spending."
            ) from error


def watched(callback: Callable[..., None], observer: Observer) -> Callable[..., None]:
    """A callback that first gives the front end the chance to stop."""

    def call(*arguments: Any) -> None:
        observer.check()
        callback(*arguments)

    return call
