"""What the curator needs from whoever keeps its books, and the bookkeeper for runs that keep none on disk."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from dprap.privacy.ledger import Arrays, RunState


class Journal(Protocol):
    """Records charges before noise is drawn and results before they are used."""

    def begin(self, run: str, planned_rho: Fraction, facts: dict[str, Any]) -> RunState:
        """Start a run or go on with one."""
        ...

    def charge(self, run: str, step: int, verb: str, digest: str, rho: Fraction) -> None:
        """Record a charge."""
        ...

    def store(self, run: str, step: int, arrays: Arrays) -> None:
        """Record a result."""
        ...

    def result(self, run: str, step: int) -> Arrays:
        """A recorded result."""
        ...

    def finish(self, run: str) -> None:
        """Close a run."""
        ...


class MemoryJournal:
    """Books in memory, for runs without a ledger: they cannot be resumed and know no cap across runs."""

    def __init__(self) -> None:
        self._runs: dict[str, RunState] = {}
        self._arrays: dict[tuple[str, int], Arrays] = {}

    def begin(self, run: str, planned_rho: Fraction, facts: dict[str, Any]) -> RunState:
        """Start a run or go on with one."""
        return self._runs.setdefault(run, RunState(planned_rho, facts))

    def charge(self, run: str, step: int, verb: str, digest: str, rho: Fraction) -> None:
        """Record a charge."""
        self._runs[run].charges[step] = {"verb": verb, "digest": digest, "rho": str(rho)}

    def store(self, run: str, step: int, arrays: Arrays) -> None:
        """Record a result."""
        self._runs[run].results[step] = {}
        self._arrays[run, step] = arrays

    def result(self, run: str, step: int) -> Arrays:
        """A recorded result."""
        return self._arrays[run, step]

    def finish(self, run: str) -> None:
        """Close a run."""
        self._runs[run].done = True
