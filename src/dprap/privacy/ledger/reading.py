"""Ledgers read and verified, by anybody who holds the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dprap.errors import DprapError, LedgerError
from dprap.privacy.ledger.chain import RESTORE, read_chain
from dprap.privacy.ledger.state import LedgerState
from dprap.privacy.ledger.stored_results import read_result, unpacked


def read_lines(path: Path | str) -> LedgerState:
    """Verify the lines of a ledger, and say what they hold. Stored results are not read."""
    path = Path(path)
    return state_of(path, read_chain(path))


def read_ledger(path: Path | str) -> LedgerState:
    """Verify a ledger, results included, and say what it holds."""
    path = Path(path)
    state = read_lines(path)
    for run in state.runs.values():
        for result in run.results.values():
            unpacked(read_result(path, result))
    return state


def state_of(path: Path, records: list[dict[str, Any]]) -> LedgerState:
    """What the records of a ledger hold."""
    state = LedgerState()
    for record in records:
        try:
            state.apply(record)
        except DprapError as error:
            raise LedgerError(f"ledger {path} cannot be used: {error}") from error
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise LedgerError(
                f"ledger {path} is damaged: a record lacks what it needs. {RESTORE}"
            ) from error
    return state
