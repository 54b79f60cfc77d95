"""The ledger: what was spent on a data set, durably, and the noisy results it bought.

Order of events for every private verb: the exact counts are ready; the **charge** is on the disk; the noise is drawn; the **result**
is on the disk; the mechanism sees it. So after a crash at any instant

* a result on the disk is replayed, never drawn again;
* a charge without a result is spent, and its one draw is made again under it. The lost draw never left the memory of
  the dead process, so what anybody has seen is one draw per charge, which is what was paid for;
* no noise was ever drawn that the ledger does not know of.

Records: `open` (relation, cap), `run` (one per run, with its planned ρ), `charge`, `result`, `done`. Results are arrays in
`NAME.results/`, named by run and step, sealed by their SHA-256 in the chain. A run that is not done holds its whole planned ρ against the
cap, since it may be resumed.
"""

from __future__ import annotations

import hashlib
import io
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np

from dprap.errors import BudgetError, LedgerError
from dprap.privacy.chain import ChainedFile, read_chain, write_durably
from dprap.privacy.neighbors import Neighbors

VERSION = 1
Arrays = dict[str, np.ndarray]


@dataclass
class RunState:
    """What the ledger knows of one run."""

    planned_rho: Fraction
    facts: dict[str, Any]
    charges: dict[int, dict[str, Any]] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    done: bool = False

    @property
    def spent_rho(self) -> Fraction:
        """Sum of all charges, exactly."""
        return sum((Fraction(charge["rho"]) for charge in self.charges.values()), Fraction(0))

    @property
    def held_rho(self) -> Fraction:
        """What this run counts against a cap."""
        return self.spent_rho if self.done else max(self.planned_rho, self.spent_rho)


@dataclass
class LedgerState:
    """Everything a ledger's records say."""

    opening: dict[str, Any] | None = None
    runs: dict[str, RunState] = field(default_factory=dict)

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


def read_ledger(path: Path | str) -> LedgerState:
    """Verify a ledger, results included, and say what it holds."""
    path = Path(path)
    state = _state(path, read_chain(path))
    for run in state.runs.values():
        for result in run.results.values():
            _load(path, result)
    return state


def _state(path: Path, records: list[dict[str, Any]]) -> LedgerState:
    state = LedgerState()
    for record in records:
        _apply(path, state, record)
    if records and state.opening is None:
        raise LedgerError(f"{path} is not a dprap ledger of version {VERSION}.")
    return state


def _apply(path: Path, state: LedgerState, record: dict[str, Any]) -> None:
    """Take one more record into account."""
    try:
        kind, body = record["kind"], record["body"]
        if kind == "open" and state.opening is None and body["version"] == VERSION:
            state.opening = body
        elif kind == "run" and body["run"] not in state.runs:
            state.runs[body["run"]] = RunState(Fraction(body["rho"]), body)
        elif kind == "charge" and body["step"] not in state.runs[body["run"]].charges:
            Fraction(body["rho"])  # a charge that is no number is damage, and must be noticed here
            state.runs[body["run"]].charges[body["step"]] = body
        elif kind == "result":
            state.runs[body["run"]].results[body["step"]] = body
        elif kind == "done":
            state.runs[body["run"]].done = True
        else:
            raise LedgerError(f"ledger {path} has a record that cannot stand there ({kind}). Restore it from a backup.")
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"ledger {path} is damaged: a record lacks what it needs. Restore it from a backup."
        ) from error


def _load(path: Path, result: dict[str, Any]) -> Arrays:
    file = _results_folder(path) / result["file"]
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LedgerError(f"ledger {path}: result {file.name} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != result["sha256"]:
        raise LedgerError(f"ledger {path}: result {file.name} was changed. Restore it from a backup.")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _results_folder(path: Path) -> Path:
    return path.with_name(path.name + ".results")


class Ledger:
    """A ledger open for spending, locked against every other process."""

    def __init__(self, path: Path | str, *, neighbors: Neighbors, cap_rho: float | Fraction | None = None) -> None:
        self.path = Path(path)
        self._chain = ChainedFile.open(self.path)
        try:
            self._state = _state(self.path, self._chain.records)
            self._open(neighbors, None if cap_rho is None else Fraction(cap_rho))
        except BaseException:
            self._chain.close()
            raise

    def _open(self, neighbors: Neighbors, cap_rho: Fraction | None) -> None:
        declared = {"relation": neighbors.relation.value, "max_rows_per_person": neighbors.max_rows_per_person}
        opening = self._state.opening
        if opening is None:
            body = {
                "version": VERSION,
                "created": _now(),
                "cap_rho": None if cap_rho is None else str(cap_rho),
                **declared,
            }
            self._append("open", body)
            return
        if {key: opening.get(key) for key in declared} != declared:
            raise LedgerError(
                f"ledger {self.path} was opened for {opening.get('relation')} neighbours with at most "
                f"{opening.get('max_rows_per_person')} rows a person; sums over different relations mean nothing. "
                "Use another ledger."
            )
        if cap_rho is not None and cap_rho != self._state.cap_rho:
            raise LedgerError(f"ledger {self.path} already has its cap, and it differs from the one given now.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the ledger."""
        self._chain.close()

    @property
    def state(self) -> LedgerState:
        """What has been spent so far."""
        return self._state

    def begin(self, run: str, planned_rho: Fraction, facts: dict[str, Any]) -> RunState:
        """Start a run, or go on with one of the same name; refuses what the cap does not allow."""
        known = self._state.runs.get(run)
        if known is not None:
            if known.done:
                raise LedgerError(f"run {run} is already done in ledger {self.path}.")
            if known.planned_rho != planned_rho or any(known.facts.get(key) != value for key, value in facts.items()):
                raise LedgerError(
                    f"run {run} in ledger {self.path} began with other data or parameters, so it cannot be resumed with "
                    "these. Start a new run."
                )
            return known
        cap = self._state.cap_rho
        if cap is not None and self._state.held_rho + planned_rho > cap:
            raise BudgetError(
                f"this run needs rho = {float(planned_rho):.4g}, but ledger {self.path} has "
                f"{float(max(cap - self._state.held_rho, Fraction(0))):.4g} left of its cap of {float(cap):.4g}. "
                "Ask for a smaller epsilon."
            )
        self._append("run", {"run": run, "rho": str(planned_rho), "started": _now(), **facts})
        return self._state.runs[run]

    def charge(self, run: str, step: int, verb: str, digest: str, rho: Fraction) -> None:
        """Record a charge; it is durable when this returns."""
        self._append("charge", {"run": run, "step": step, "verb": verb, "digest": digest, "rho": str(rho)})

    def store(self, run: str, step: int, arrays: Arrays) -> None:
        """Record a noisy result; it is durable when this returns."""
        folder = _results_folder(self.path)
        folder.mkdir(mode=0o700, exist_ok=True)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        content = buffer.getvalue()
        name = f"{run}-{step:05d}.npz"
        write_durably(folder / name, content)
        sha256 = hashlib.sha256(content).hexdigest()
        self._append("result", {"run": run, "step": step, "file": name, "sha256": sha256})

    def result(self, run: str, step: int) -> Arrays:
        """A stored result."""
        return _load(self.path, self._state.runs[run].results[step])

    def finish(self, run: str) -> None:
        """Close a run: what it did not spend is free again."""
        self._append("done", {"run": run, "ended": _now()})

    def _append(self, kind: str, body: dict[str, Any]) -> None:
        self._chain.append(kind, body)
        _apply(self.path, self._state, self._chain.records[-1])


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
