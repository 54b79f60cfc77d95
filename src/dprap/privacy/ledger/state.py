"""What the records of a ledger mean: runs, charges and results, and which record may follow
which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dprap.errors import BudgetError, LedgerError
from dprap.privacy.ledger.record_checks import check_record


@dataclass
class RunState:
    """What the ledger knows of one run."""

    planned_rho: Fraction
    facts: dict[str, Any]
    charges: dict[int, dict[str, Any]] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    done: bool = False
    abandoned: bool = False
    """Whether it was closed unfinished, to give back what it held. It can never go on."""
    spent_rho: Fraction = Fraction(0)
    """Sum of all charges, exactly."""

    @property
    def held_rho(self) -> Fraction:
        """What this run counts against a cap: all of its plan while it may be resumed."""
        return self.spent_rho if self.done else self.planned_rho

    def check_charge(self, step: int, rho: Fraction) -> None:
        """The privacy filter: refuse a charge that is out of turn, not positive, or above what is
        left of the plan.
        """
        if self.done or step != len(self.charges):
            raise LedgerError(
                "this run is closed, or the step was charged before. Nothing was charged."
            )
        if rho <= 0 or self.spent_rho + rho > self.planned_rho:
            raise BudgetError(
                f"a charge of rho = {float(rho):.4g} does not fit into what is left of this run's "
                f"{float(self.planned_rho):.4g}. Nothing was charged."
            )

    def add_charge(self, step: int, charge: dict[str, Any]) -> None:
        """Take a charge into the ledger, if the filter lets it pass."""
        self.check_charge(step, Fraction(charge["rho"]))
        self.charges[step] = charge
        self.spent_rho += Fraction(charge["rho"])

    def check_result(self, step: int) -> None:
        """Refuse a result that was not charged for or is there already."""
        if step not in self.charges or step in self.results:
            raise LedgerError("a result needs a charge of its own. Nothing was stored.")


@dataclass
class LedgerState:
    """Everything a ledger's records say."""

    opening: dict[str, Any] | None = None
    runs: dict[str, RunState] = field(default_factory=dict)
    anchor: str | None = None
    """The place outside the folder that remembers the head of the chain."""

    @property
    def cap_rho(self) -> Fraction | None:
        """Most that may ever be spent, if a cap was declared."""
        cap = (self.opening or {}).get("cap_rho")
        return None if cap is None else Fraction(cap)

    @property
    def spent_rho(self) -> Fraction:
        """Sum of all charges of all runs."""
        return sum((run.spent_rho for run in self.runs.values()), Fraction(0))

    @property
    def held_rho(self) -> Fraction:
        """What counts against the cap: charges of finished runs, planned ρ of unfinished ones."""
        return sum((run.held_rho for run in self.runs.values()), Fraction(0))

    @property
    def threshold_delta(self) -> float:
        """What the thresholds of all discoveries take of δ, beside the sum of all ρ."""
        events = (
            charge.get("event") or {}
            for run in self.runs.values()
            for charge in run.charges.values()
        )
        return math.fsum(event.get("threshold_delta", 0.0) for event in events)

    def check_cap(self, planned_rho: Fraction) -> None:
        """Refuse a new run that the cap does not allow."""
        cap = self.cap_rho
        if cap is not None and self.held_rho + planned_rho > cap:
            raise BudgetError(
                f"this run needs rho = {float(planned_rho):.4g}, but the ledger has"
                f" {float(max(cap - self.held_rho, Fraction(0))):.4g} left of its cap of"
                f" {float(cap):.4g}. Ask for a smaller epsilon."
            )

    def apply(self, record: dict[str, Any]) -> None:
        """Take one more record into account; LedgerError or BudgetError if it cannot stand where it
        stands.
        """
        kind, body = record["kind"], record["body"]
        check_record(kind, body)
        if (kind == "open") != (self.opening is None):
            raise LedgerError("the first record, and no other, must open the ledger.")
        if kind == "open":
            self.opening = body
        elif kind == "anchor":
            self.anchor = body["place"]
        elif kind == "run":
            if body["run"] in self.runs:
                raise LedgerError("a run begins twice.")
            self.check_cap(Fraction(body["rho"]))
            self.runs[body["run"]] = RunState(Fraction(body["rho"]), body)
        elif body["run"] not in self.runs:
            raise LedgerError(f"a record of kind {kind} belongs to no run.")
        elif kind == "charge":
            self.runs[body["run"]].add_charge(body["step"], body | {"seal": record["hash"]})
        elif kind == "result":
            self._add_result(body)
        elif not self.runs[body["run"]].done:
            self.runs[body["run"]].done = True
            self.runs[body["run"]].abandoned = kind == "abandon"
        else:
            raise LedgerError("a run ends twice.")

    def _add_result(self, body: dict[str, Any]) -> None:
        run, step = self.runs[body["run"]], body["step"]
        run.check_result(step)
        if body["file"] != result_name(body["run"], step, run.charges[step]["seal"]):
            raise LedgerError("a result is not named after its charge.")
        run.results[step] = body


def result_name(run: str, step: int, seal: str) -> str:
    """The file of a result: `seal` is the hash of the charge that paid for it."""
    return f"{run}-{step:05d}-{seal[:16]}.npz"
