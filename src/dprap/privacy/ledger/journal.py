"""What the curator needs of a ledger, and the journal of runs that keep none on disk."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from dprap.privacy.ledger.state import RunState
from dprap.privacy.ledger.stored_results import Arrays


class Journal(Protocol):
    """Records charges before noise is drawn and results before they are used."""

    def begin(self, run: str, planned_rho: Fraction, data: str, facts: dict[str, Any]) -> RunState:
        """Start a run or go on with one; `data` is the private digest of the table."""
        ...

    def charge(
        self, run: str, step: int, verb: str, digest: str, rho: Fraction, event: dict[str, Any]
    ) -> None:
        """Record a charge, or refuse it; `event` says in plain data what is released for it."""
        ...

    def adopt(self, run: str, step: int) -> bool:
        """Take in a result that was stored but not recorded before a crash; whether there was
        one.
        """
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
    """Books of one run in memory, for runs without a ledger: they cannot be resumed and know no cap
    across runs.
    """

    def __init__(self) -> None:
        self._state = RunState(Fraction(0), {})
        self._arrays: dict[int, Arrays] = {}

    def begin(self, run: str, planned_rho: Fraction, data: str, facts: dict[str, Any]) -> RunState:  # noqa: ARG002
        """Start the run."""
        self._state = RunState(planned_rho, facts)
        return self._state

    def charge(
        self,
        run: str,  # noqa: ARG002
        step: int,
        verb: str,
        digest: str,
        rho: Fraction,
        event: dict[str, Any],
    ) -> None:
        """Record a charge, or refuse it."""
        self._state.add_charge(
            step, {"verb": verb, "digest": digest, "rho": str(rho), "event": event}
        )

    def adopt(self, run: str, step: int) -> bool:  # noqa: ARG002
        """Nothing outlives a crash."""
        return False

    def store(self, run: str, step: int, arrays: Arrays) -> None:  # noqa: ARG002
        """Record a result."""
        self._state.check_result(step)
        self._state.results[step] = {}
        self._arrays[step] = arrays

    def result(self, run: str, step: int) -> Arrays:  # noqa: ARG002
        """A recorded result."""
        return {name: array.copy() for name, array in self._arrays[step].items()}

    def finish(self, run: str) -> None:  # noqa: ARG002
        """Close the run."""
        self._state.done = True
