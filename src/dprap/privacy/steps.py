"""The steps of one run, in order: each is replayed from the ledger, or charged, drawn, stored."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from dprap.errors import LedgerError, SettingsError
from dprap.privacy.ledger import Arrays, RunState
from dprap.privacy.ledger.journal import Journal
from dprap.privacy.stopwatch import Stopwatch
from dprap.queries import Family, Marginal
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


@dataclass(frozen=True)
class Described:
    """What a step is about, in public plain data: marginals or queries.

    Of a million marginals the text is a tenth of what their plain data would take.

    Args:
        first: The entries that a line of the ledger names.
        count: How many entries there are.
        text: All entries as JSON, with commas between them and no brackets around them.

    """

    first: list[Any]
    count: int
    text: bytes

    @classmethod
    def of(cls, entries: Iterable[Any]) -> Described:
        """Describe a step by its entries.

        >>> Described.of([["Marginal", ["age"]], ["Marginal", ["sex"]]]).text
        b'["Marginal", ["age"]], ["Marginal", ["sex"]]'
        """
        left = iter(entries)
        first: list[Any] = []
        count, texts = 0, []
        while some := list(islice(left, MOST_NAMED)):
            first = first or some
            count += len(some)
            texts.append(json.dumps(some)[1:-1])
        return cls(first, count, ", ".join(texts).encode())


class Steps:
    """Where a run stands in its ledger."""

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
        described: Described,
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
            described: The marginals or queries it is about. A replay must repeat them.
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
                digest = _digest_of_step(verb, (terms or {}).values(), described, rho)
                event = {
                    "of": described.first,
                    "count": described.count,
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


def _digest_of_step(verb: str, terms: Iterable[Any], described: Described, rho: Fraction) -> str:
    """The digest of [verb, [*terms, *described], rho]."""
    digest = hashlib.sha256(f"[{json.dumps(verb)}, [".encode())
    separator = b""
    for term in terms:
        digest.update(separator)
        for text in _json(term):
            digest.update(text.encode())
        separator = b", "
    if described.count:
        digest.update(separator + described.text)
    digest.update(f"], {json.dumps(str(rho))}]".encode())
    return digest.hexdigest()


def _json(value: Any) -> Iterator[str]:
    """The JSON text of plain data in pieces: json.dumps holds a text for each number of a list."""
    if not isinstance(value, list | tuple):
        yield json.dumps(value)
        return
    yield "["
    for start in range(0, len(value), MOST_NAMED):
        some = value[start : start + MOST_NAMED]
        yield ", " if start else ""
        if any(isinstance(each, list | tuple) and len(each) > MOST_NAMED for each in some):
            for place, each in enumerate(some):
                yield ", " if place else ""
                yield from _json(each)
        else:
            yield json.dumps(some)[1:-1]
    yield "]"


def label(family: Family) -> list[Any]:
    """A family as the ledger has written it from the start: the word for its kind, its terms, its
    columns.

    It holds the values of the plain form, in that order. Digests are made of it, so a run that was
    begun earlier goes on only as long as each family keeps its label.
    """
    if type(family) is Marginal and family.groups is None:
        # what follows from the lines below, at once: a large workload has a million of them
        return ["Marginal", list(family.columns)]
    plain = as_plain(family)
    columns = plain.pop("columns")
    return [_WORDS[tuple(plain)], *plain.values(), columns]
