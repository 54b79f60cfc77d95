"""A ledger open for spending.

Order of events for every private verb: the exact counts are ready; the **charge** is on the disk,
and with the anchor if there is one; the noise is drawn; the **result** is on the disk; the
mechanism sees it. So after a crash at any instant

* a result on the disk is replayed, never drawn again, also if the crash came before the chain knew
  of it: its file is named after the very charge it belongs to;
* a charge without a result is spent, and its one draw is made again under it. The lost draw never
  left the memory of the dead process (or an unfinished `.part` file), so what anybody has seen is
  one draw per charge, which is what was paid for;
* no noise was ever drawn that the ledger does not know of.

Records: `open` (relation, cap), `anchor`, `run` (one per run, with its planned ρ, written with its
first charge), `charge` (with the event: what is released for it), `result`, `done` or `abandon`. A
run that is not done holds its whole planned ρ against the cap, since it may be resumed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dprap.accounting.neighbors import Neighbors
from dprap.errors import LedgerError
from dprap.privacy.ledger.opened import OpenedLedger, now
from dprap.privacy.ledger.record_checks import check_run_name
from dprap.privacy.ledger.state import RunState, result_name
from dprap.privacy.ledger.stored_results import (
    Arrays,
    packed,
    read_result,
    results_folder,
    unpacked,
    write_result,
)


def _no_objection() -> None:
    """Let every charge pass."""


class Ledger(OpenedLedger):
    """A ledger open for spending, locked against every other process.

    A curator calls `begin`, `charge`, `store` and `finish`; a person calls `abandon`, and `dprap
    ledger` shows the rest.

    Args:
        path: The file of the ledger; it is created if it is absent.
        neighbors: The neighbour relation of all its runs; None takes that of a ledger which exists.
        cap_rho: The most that all runs together may spend, declared when the ledger is created.
        anchor: A file outside its folder, or `command:PROGRAM`, that remembers the head
            (`dprap.privacy.ledger.anchor`). A ledger keeps its anchor: later openings check it
            without being told, a command must be named again.
        create: Whether an absent ledger is created, or refused.
        before_charge: Called before every charge; what it raises stops the run with nothing
            charged.

    Raises:
        LedgerError: If the ledger is damaged, in use, of another relation, or not the one its
            anchor has seen.
        BudgetError: If the cap means nothing.

    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/ledger.jsonl", neighbors=Neighbors("replace"), cap_rho=1)
    >>> head = ledger.head
    >>> held = ledger.begin("first", Fraction(1, 2), "digest of the table", {})
    >>> ledger.may_hold("first")  # only once something was charged
    False
    >>> ledger.charge("first", 0, "measure", "0" * 64, Fraction(1, 8), {})
    >>> ledger.adopt("first", 0)  # no result was written before a crash
    False
    >>> ledger.store("first", 0, {"0": np.array([3, 4])})
    >>> ledger.result("first", 0)["0"].tolist()
    [3, 4]
    >>> ledger.abandon("fir")
    Fraction(3, 8)
    >>> second = ledger.begin("second", Fraction(7, 8), "digest of the table", {})
    >>> ledger.finish("second")
    >>> ledger.require(head)
    >>> ledger.state.spent_rho
    Fraction(1, 8)
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: Path | str,
        *,
        neighbors: Neighbors | None,
        cap_rho: float | Fraction | None = None,
        anchor: str | Path | None = None,
        create: bool = True,
        before_charge: Callable[[], None] = _no_objection,
    ) -> None:
        self._before_charge = before_charge
        self._begun: dict[str, RunState] = {}
        super().__init__(path, neighbors=neighbors, cap_rho=cap_rho, anchor=anchor, create=create)

    def may_hold(self, run: str) -> bool:
        """Whether a run is in the ledger, or may be.

        A line that could not be written whole may have reached the disk.

        Args:
            run: The name of the run.

        Returns:
            Whether something may have been charged for it.

        """
        return run in self._state.runs or not self._chain.is_usable

    def begin(self, run: str, planned_rho: Fraction, data: str, facts: dict[str, Any]) -> RunState:
        """Start a run, or go on with one of the same name.

        A new run enters the chain with its first charge: until then it holds nothing against the
        cap, so that a run which fails on its settings costs nothing. A run that is done can be
        replayed, for its release may have been lost after its last step; any further charge is
        refused.

        Args:
            run: The name of the run.
            planned_rho: What it may spend in all.
            data: A digest of the table; the ledger keeps it under a secret key.
            facts: What else must be the same for a run to go on.

        Returns:
            The state of the run: its charges and results so far.

        Raises:
            LedgerError: If the run was abandoned, or began with other data or parameters.
            BudgetError: If the cap does not allow it.
        """
        check_run_name(run)
        facts = facts | {"data": hmac.new(self._key, data.encode(), hashlib.sha256).hexdigest()}
        known = self._state.runs.get(run) or self._begun.get(run)
        if known is None:
            self._state.check_cap(planned_rho)
            self._begun[run] = RunState(planned_rho, facts)
            return self._begun[run]
        if known.abandoned:
            raise LedgerError(
                f"run {run} in ledger {self.path} was abandoned, so it cannot go on. Start a new"
                " run."
            )
        if known.planned_rho != planned_rho or any(
            known.facts.get(key) != value for key, value in facts.items()
        ):
            raise LedgerError(
                f"run {run} in ledger {self.path} began with other data or parameters (or the"
                " ledger's key file was lost), so it cannot be resumed with these. Start a new"
                " run."
            )
        return known

    def charge(
        self, run: str, step: int, verb: str, digest: str, rho: Fraction, event: dict[str, Any]
    ) -> None:
        """Record a charge and what is released for it, durably, with the anchor.

        Args:
            run: The name of the run.
            step: The number of the step, from 0.
            verb: The verb of the curator.
            digest: A digest of everything that the step depends on.
            rho: The price.
            event: What is released, in plain data.

        Raises:
            LedgerError: If the anchor changed, or the step was charged before.
            BudgetError: If the run or the cap does not allow it.
        """
        self._before_charge()
        state = self._state.runs.get(run) or self._begun[run]
        state.check_charge(step, rho)
        if self._anchor is not None and self._anchor.read() != self._anchored:
            raise LedgerError(
                f"the anchor {self._anchor.place} changed while ledger {self.path} was in use: a"
                " copy of the ledger may be in use elsewhere. Nothing was charged."
            )
        if run in self._begun:
            self._state.check_cap(state.planned_rho)
            self._append(
                "run", {"run": run, "rho": str(state.planned_rho), "started": now(), **state.facts}
            )
            state.facts = self._state.runs[run].facts
            self._state.runs[run] = self._begun.pop(run)  # the very object that the curator holds
        body = {
            "run": run,
            "step": step,
            "verb": verb,
            "digest": digest,
            "rho": str(rho),
            "event": event,
        }
        self._append("charge", body)
        self._write_anchor()

    def store(self, run: str, step: int, arrays: Arrays) -> None:
        """Record a noisy result; it is durable when this returns.

        Args:
            run: The name of the run.
            step: The step, which was charged before.
            arrays: The noisy result.

        Raises:
            LedgerError: If the step was not charged, or has a result, or the file cannot be
                written.
        """
        self._state.runs[run].check_result(step)
        content = packed(arrays)
        write_result(self.path, self._result_name(run, step), content)
        self._seal(run, step, content)

    def adopt(self, run: str, step: int) -> bool:
        """Take in a result whose file was durable before a crash kept it out of the chain.

        Args:
            run: The name of the run.
            step: The step, which was charged before.

        Returns:
            Whether there was such a result.

        Raises:
            LedgerError: If its file cannot be read.

        """
        try:
            content = (results_folder(self.path) / self._result_name(run, step)).read_bytes()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise LedgerError(
                f"a result of ledger {self.path} cannot be read: {error.strerror}."
            ) from error
        unpacked(content)
        self._seal(run, step, content)
        return True

    def result(self, run: str, step: int) -> Arrays:
        """A stored result.

        Args:
            run: The name of the run.
            step: The step.

        Returns:
            The noisy arrays.

        Raises:
            LedgerError: If its file is damaged or cannot be read.

        """
        return unpacked(read_result(self.path, self._state.runs[run].results[step]))

    def finish(self, run: str) -> None:
        """Close a run: what it did not spend is free again.

        Args:
            run: The name of the run.

        Raises:
            LedgerError: If the ledger cannot be written.

        """
        if run in self._begun:
            self._begun.pop(run).done = True
        elif not self._state.runs[run].done:
            self._append("done", {"run": run, "ended": now()})

    def abandon(self, run: str) -> Fraction:
        """Close an unfinished run for good and give back what it holds but did not charge.

        Args:
            run: The name of the run, or the beginning of it if no other run begins so.

        Returns:
            The ρ that is free again.

        Raises:
            LedgerError: If there is no such run, or it is closed already.

        """
        found = [name for name in self._state.runs if name == run] or [
            name for name in self._state.runs if run and name.startswith(run)
        ]
        if len(found) != 1:
            raise LedgerError(
                f"ledger {self.path} has no run {run!r}, or several that begin so. See dprap ledger"
                " show."
            )
        state = self._state.runs[found[0]]
        if state.done:
            raise LedgerError(f"run {found[0]} is closed: it holds nothing beyond its charges.")
        given_back = state.planned_rho - state.spent_rho
        self._append("abandon", {"run": found[0], "ended": now()})
        return given_back

    def _result_name(self, run: str, step: int) -> str:
        return result_name(run, step, self._state.runs[run].charges[step]["seal"])

    def _seal(self, run: str, step: int, content: bytes) -> None:
        self._state.runs[run].check_result(step)
        name = self._result_name(run, step)
        self._append(
            "result",
            {"run": run, "step": step, "file": name, "sha256": hashlib.sha256(content).hexdigest()},
        )
