"""The steps of one run, in order: each is replayed from the books, or charged, drawn and stored."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from dprap.errors import LedgerError, SettingsError
from dprap.privacy.books import RunState
from dprap.privacy.journal import Journal
from dprap.privacy.ledger import Arrays
from dprap.privacy.stopwatch import Stopwatch
from dprap.queries import Coarse, Custom, Family, Prefix, Threshold

Exact = TypeVar("Exact")


class Steps:
    """Where a run stands in its books."""

    def __init__(self, journal: Journal, run: str, state: RunState, stopwatch: Stopwatch) -> None:
        self._journal = journal
        self._run = run
        self._state = state
        self._stopwatch = stopwatch
        self._taken = 0
        self._spent = Fraction(0)
        self._busy = threading.Lock()

    @property
    def spent(self) -> Fraction:
        """Charges of the steps taken so far (on a resumed run, of those replayed so far)."""
        return self._spent

    def take(
        self,
        verb: str,
        described: list[Any],
        rho: Fraction,
        exact: Callable[[], Exact],
        draw: Callable[[Exact], Arrays],
    ) -> Arrays:
        """Replay a step, or: exact statistic ready, charge durable, noise drawn, result durable."""
        if not self._busy.acquire(blocking=False):
            # Two steps at once would share a number, and one of them its charge.
            raise SettingsError("the curator is in the middle of a step: estimates and other threads must not call it.")
        try:
            with self._stopwatch.running():
                return self._take(verb, digest_of([verb, described, str(rho)]), rho, exact, draw)
        finally:
            self._busy.release()

    def _take(
        self, verb: str, digest: str, rho: Fraction, exact: Callable[[], Exact], draw: Callable[[Exact], Arrays]
    ) -> Arrays:
        step = self._taken
        charged = self._state.charges.get(step)
        if charged is not None and charged["digest"] != digest:
            raise LedgerError(
                f"step {step} of run {self._run} was something else when it was first taken, so the run cannot go on "
                "like this. Resume it with the same version and settings."
            )
        if step not in self._state.results and not (charged is not None and self._journal.adopt(self._run, step)):
            statistic = exact()  # whatever can fail on the data fails here, before anything is charged
            if charged is None:
                self._journal.charge(self._run, step, verb, digest, rho)
            self._journal.store(self._run, step, draw(statistic))
        result = self._journal.result(self._run, step)
        self._taken += 1
        self._spent += rho
        return result

    def finish(self) -> None:
        """Close the run."""
        self._journal.finish(self._run)


def digest_of(described: list[Any]) -> str:
    """A digest of public plain data."""
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def label(family: Family | Coarse) -> list[Any]:
    """A family in plain data, without doubt about where a column's name ends."""
    if isinstance(family, Custom):
        return ["Custom", family.name, list(family.columns)]
    if isinstance(family, Threshold):
        return ["Threshold", family.at_least, list(family.columns)]
    if isinstance(family, Prefix):
        return ["Prefix", list(family.cumulative), list(family.columns)]
    if isinstance(family, Coarse):
        return ["Coarse", list(family.starts), list(family.columns)]
    return ["Marginal", list(family.columns)]
