"""The steps of one run, in order: each is replayed from the books, or charged, drawn and stored."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dprap.errors import LedgerError, SettingsError
from dprap.privacy.ledger import Arrays, RunState
from dprap.privacy.ledger.journal import Journal
from dprap.privacy.stopwatch import Stopwatch
from dprap.queries import Family
from dprap.queries.plain import as_plain

Exact = TypeVar("Exact")

# Marginals and queries that a line of the ledger names one by one. Of more of them it gives the
# number and, as always, the digest of all, so that a ledger does not grow with workload times
# rounds.
MOST_NAMED = 1000

# The ledger's words for families, by the keys that the plain form has beside the columns.
_WORDS = {
    (): "Marginal",
    ("groups",): "Coarse",
    ("at_least",): "Threshold",
    ("cumulative",): "Prefix",
    ("ranges",): "Range",
    ("halfspaces",): "Halfspace",
    ("custom",): "Custom",
}


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
        self._codes: str | None = None

    @property
    def spent(self) -> Fraction:
        """Charges of the steps taken so far (on a resumed run, of those replayed so far)."""
        return self._spent

    def under(self, maps: dict[str, list[int]]) -> None:
        """All later steps are about the codes that these maps give."""
        self._codes = digest_of([self._codes, maps])

    def take(
        self,
        verb: str,
        described: list[Any],
        rho: Fraction,
        exact: Callable[[], Exact],
        draw: Callable[[Exact], Arrays],
        *,
        terms: dict[str, Any] | None = None,
        stddev_counts: float | list[float] | None = None,
    ) -> Arrays:
        """Replay a step, or: exact statistic ready, charge durable, noise drawn, result durable.

        Args:
            verb: The curator's verb.
            described: The marginals or queries it is about, in public plain data. A replay must
                repeat them.
            rho: The charge.
            exact: Computes the exact statistic.
            draw: Makes the noisy result of it.
            terms: Further public facts by name, such as the number of picks. A replay must repeat
                them too.
            stddev_counts: The noise, where it is Gaussian, for the ledger.
        """
        if not self._busy.acquire(blocking=False):
            # Two steps at once would share a number, and one of them its charge.
            raise SettingsError(
                "the curator is in the middle of a step: estimates and other threads must not"
                " call it."
            )
        try:
            # Whether NumPy warns or raises is the caller's setting, and where it would depends on
            # exact counts.
            with self._stopwatch.running(), np.errstate(all="ignore"):
                if self._codes is not None:
                    terms = {**(terms or {}), "codes": self._codes}
                digest = digest_of([verb, [*(terms or {}).values(), *described], str(rho)])
                event = {
                    "of": described,
                    "count": len(described),
                    "stddev_counts": stddev_counts,
                    **(terms or {}),
                }
                return self._take(verb, digest, rho, _shortened(event), exact, draw)
        finally:
            self._busy.release()

    def _take(
        self,
        verb: str,
        digest: str,
        rho: Fraction,
        event: dict[str, Any],
        exact: Callable[[], Exact],
        draw: Callable[[Exact], Arrays],
    ) -> Arrays:
        step = self._taken
        charged = self._state.charges.get(step)
        if charged is not None and charged["digest"] != digest:
            raise LedgerError(
                f"step {step} of run {self._run} was something else when it was first taken, so the"
                " run cannot go on like this. Resume it with the same version and settings."
            )
        if step not in self._state.results and not (
            charged is not None and self._journal.adopt(self._run, step)
        ):
            # whatever can fail on the data fails here, before anything is charged
            statistic = exact()
            if charged is None:
                self._journal.charge(self._run, step, verb, digest, rho, event)
            self._journal.store(self._run, step, draw(statistic))
        result = self._journal.result(self._run, step)
        self._taken += 1
        self._spent += rho
        return result

    def finish(self) -> None:
        """Close the run."""
        self._journal.finish(self._run)


def _shortened(value: Any) -> Any:
    """Plain data with every list cut to what a line of the ledger holds."""
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    return [_shortened(each) for each in value[:MOST_NAMED]] if isinstance(value, list) else value


def digest_of(described: Any) -> str:
    """A digest of public plain data."""
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def label(family: Family) -> list[Any]:
    """A family as the ledger has written it from the start: the word for its kind, its terms, its
    columns.

    It holds the values of the plain form, in that order. Digests are made of it, so a run that was
    begun earlier goes on only as long as each family keeps its label.
    """
    plain = as_plain(family)
    columns = plain.pop("columns")
    return [_WORDS[tuple(plain)], *plain.values(), columns]
