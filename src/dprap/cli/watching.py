"""What the command line shows of a run, and how a signal stops one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dprap.accounting import Budget
from dprap.cli.exits import STOPPED
from dprap.cli.output import note, print_json, print_line, progress_display, reading_display
from dprap.cli.stopping import NOTHING_SPENT, Stop
from dprap.mechanisms.result import ProgressCallback
from dprap.privacy import Ledger
from dprap.release import Release
from dprap.runs.carry_out import Observer
from dprap.runs.describe import ledger_lines, plan_lines, release_data, release_lines
from dprap.runs.discover import Discovery
from dprap.runs.job import Job
from dprap.runs.plan import Plan
from dprap.sources.table_files import PassProgress


class Watching(Observer):
    """Shows the plan, asks before spending unless told not to, shows progress, and stops when a
    signal came.
    """

    def __init__(self, stop: Stop, *, quiet: bool, ask: bool) -> None:
        self.stop = stop
        self.quiet = quiet
        self.ask = ask
        self.started = time.monotonic()
        """When the run itself began, after reading and asking."""

    @contextmanager
    def reading(self) -> Iterator[PassProgress]:
        """Show how far the first pass is."""
        with reading_display(quiet=self.quiet) as progress:
            yield progress

    @contextmanager
    def running(self) -> Iterator[ProgressCallback]:
        """Show how far the run is."""
        self.started = time.monotonic()
        with progress_display(quiet=self.quiet) as progress:
            yield progress

    def planned(self, plan: Plan, ledger: Ledger | None, run: str | None) -> None:  # noqa: ARG002
        """Show the plan and what was spent before; ask."""
        for line in plan_lines(plan):
            note(line, quiet=self.quiet)
        if not plan.budget.other_rho:  # the whole budget was agreed to before discovery
            self._confirm(plan.budget, ledger)

    def discovering(self, wanted: Discovery, ledger: Ledger | None, run: str | None) -> None:  # noqa: ARG002
        """Show what discovery is about to pay; ask for the budget of the whole run."""
        for line in wanted.lines:
            note(line, quiet=self.quiet)
        self._confirm(wanted.budget, ledger)

    def _confirm(self, budget: Budget, ledger: Ledger | None) -> None:
        for line in [] if ledger is None else ledger_lines(ledger, budget):
            note(line, quiet=self.quiet)
        if self.ask and sys.stdin.isatty() and not typer.confirm("Spend this budget?", err=True):
            note("nothing was spent.", quiet=self.quiet)
            raise typer.Exit(STOPPED)

    def kept(self, job: Job) -> None:
        """From now on a stop is followed by `resume`."""
        self.stop.advice = advice_to_resume(job.out)

    def forgotten(self) -> None:
        """There is nothing to resume."""
        self.stop.advice = NOTHING_SPENT

    def check(self) -> None:
        """Stop if a signal came and its exception was lost."""
        self.stop.check()


def advice_to_resume(out: object) -> str:
    """What to tell whoever stopped a run that can be resumed."""
    return (
        "stopped. Nothing is lost and nothing will be spent twice: go on with `dprap resume"
        f" {out}`."
    )


def show_release(release: Release, out: str, seconds: float, *, quiet: bool, as_json: bool) -> None:
    """Print a finished release."""
    if as_json:
        print_json(release_data(release, out))
    elif not quiet:
        for line in release_lines(release, out, seconds):
            print_line(line)
