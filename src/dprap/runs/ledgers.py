"""Ledgers as a front end shows them: where one is, what it says, and the way to close a run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dprap.accounting.budget import Budget
from dprap.privacy import Ledger, LedgerState, balance_lines, default_ledger, read_ledger
from dprap.privacy.ledger import read_lines


def ledger_of(table: str | Path) -> Path:
    """The ledger of a table in a file."""
    return default_ledger(table)


def state_at(path: Path) -> LedgerState | None:
    """What a ledger says; None where there is no ledger yet.

    The chain is verified, stored results are not read.
    """
    return read_lines(path) if path.exists() else None


def verified(path: Path) -> LedgerState:
    """What a ledger says, after every line and every stored result was checked."""
    return read_ledger(path)


def balance(state: LedgerState | None, budget: Budget) -> list[str]:
    """What was spent before, and what the sum will be, in sentences."""
    return balance_lines(LedgerState() if state is None else state, budget)


def left_of_cap(state: LedgerState | None) -> Fraction | None:
    """The ρ that the cap leaves; None without a cap."""
    if state is None or state.cap_rho is None:
        return None
    return max(state.cap_rho - state.held_rho, Fraction(0))


def spent_by(state: LedgerState | None, run: str | None) -> tuple[float, float] | None:
    """What a run has spent, and what it planned to; None where the ledger does not know it yet."""
    found = None if state is None or run is None else state.runs.get(run)
    return None if found is None else (float(found.spent_rho), float(found.planned_rho))


@dataclass(frozen=True)
class Closed:
    """What closing a run gave back, and what all runs together still hold."""

    given_back_rho: float
    held_rho: float


def abandon(path: Path, run: str, *, anchor: str | None = None) -> Closed:
    """Close an unfinished run for good, and give back what it holds but did not charge."""
    with Ledger(path, neighbors=None, anchor=anchor) as ledger:
        given_back = ledger.abandon(run)
        return Closed(float(given_back), float(ledger.state.held_rho))
