"""The ledger: what was spent on a data set, durably, and the noisy results it bought.

Order of events for every private verb: the exact counts are ready; the **charge** is on the disk; the noise is drawn; the **result**
is on the disk; the mechanism sees it. So after a crash at any instant

* a result on the disk is replayed, never drawn again, also if the crash came before the chain knew of it: its file is
  named after the very charge it belongs to;
* a charge without a result is spent, and its one draw is made again under it. The lost draw never left the memory of
  the dead process (or an unfinished `.part` file), so what anybody has seen is one draw per charge, which is what was paid for;
* no noise was ever drawn that the ledger does not know of.

Records: `open` (relation, cap), `run` (one per run, with its planned ρ, written with its first charge), `charge`, `result`,
`done`. Results are arrays in `NAME.results/`, sealed by their SHA-256 in the chain. A run that is not done holds its whole planned ρ
against the cap, since it may be resumed.

A run remembers which data it began with, so that it is not resumed on others. A plain digest of the data would let
whoever sees the ledger test guesses of a record, so it is keyed with a secret in `NAME.key`, which must not be published;
everything else in a ledger is public or noisy.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import secrets
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np

from dprap.errors import BudgetError, DprapError, LedgerError
from dprap.privacy.books import VERSION, LedgerState, RunState, check_run_name
from dprap.privacy.chain import ChainedFile, read_chain, write_durably
from dprap.privacy.neighbors import Neighbors

Arrays = dict[str, np.ndarray]


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
        try:
            state.apply(record)
        except DprapError as error:
            raise LedgerError(f"ledger {path} cannot be used: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(
                f"ledger {path} is damaged: a record lacks what it needs. Restore it from a backup."
            ) from error
    return state


def _load(path: Path, result: dict[str, Any]) -> Arrays:
    if not all(isinstance(result.get(key), str) for key in ("file", "sha256")):
        raise LedgerError(f"ledger {path} is damaged: a result lacks its file. Restore it from a backup.")
    file = _results_folder(path) / result["file"]
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LedgerError(f"ledger {path}: result {file.name} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != result["sha256"]:
        raise LedgerError(f"ledger {path}: result {file.name} was changed. Restore it from a backup.")
    return _unpacked(content)


def _unpacked(content: bytes) -> Arrays:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _results_folder(path: Path) -> Path:
    return path.with_name(path.name + ".results")


class Ledger:
    """A ledger open for spending, locked against every other process."""

    def __init__(self, path: Path | str, *, neighbors: Neighbors, cap_rho: float | Fraction | None = None) -> None:
        self.path = Path(path)
        if cap_rho is not None and not 0 < cap_rho < float("inf"):
            raise BudgetError("a ledger's cap must be a positive number.")
        self._chain = ChainedFile.open(self.path)
        self._begun: dict[str, RunState] = {}
        try:
            self._state = _state(self.path, self._chain.records)
            self._check_results()
            self._key = self._secret_key()
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
            raise LedgerError(f"ledger {self.path} was opened with another cap, or with none, and keeps it.")

    def _check_results(self) -> None:
        """Refuse results that no charge paid for: they show that an older or shorter ledger was put in place."""
        seals = {charge["seal"][:16] for run in self._state.runs.values() for charge in run.charges.values()}
        folder = _results_folder(self.path)
        found = {file.name.removesuffix(".part").removesuffix(".npz")[-16:] for file in folder.glob("*.npz*")}
        if not found <= seals:
            raise LedgerError(
                f"{folder.name} holds results that ledger {self.path} knows no charge for: the ledger was shortened or "
                "replaced. Restore it from a backup."
            )

    def _secret_key(self) -> bytes:
        """The key of data digests; if it is lost, unfinished runs cannot be resumed, and nothing else happens."""
        file = self.path.with_name(self.path.name + ".key")
        try:
            if not file.exists():
                write_durably(file, secrets.token_hex(32).encode())
            return file.read_bytes()
        except OSError as error:
            raise LedgerError(f"cannot read or write {file}: {error.strerror}.") from error

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

    def begin(self, run: str, planned_rho: Fraction, data: str, facts: dict[str, Any]) -> RunState:
        """Start a run, or go on with one of the same name; refuses what the cap does not allow.

        A new run enters the chain with its first charge: until then it holds nothing against the cap, so that a run
        which fails on its settings costs nothing. A run that is done can be replayed, for its release may have been lost
        after its last step; any further charge is refused.
        """
        check_run_name(run)
        facts = facts | {"data": hmac.new(self._key, data.encode(), hashlib.sha256).hexdigest()}
        known = self._state.runs.get(run) or self._begun.get(run)
        if known is None:
            self._state.check_cap(planned_rho)
            self._begun[run] = RunState(planned_rho, facts)
            return self._begun[run]
        if known.planned_rho != planned_rho or any(known.facts.get(key) != value for key, value in facts.items()):
            raise LedgerError(
                f"run {run} in ledger {self.path} began with other data or parameters (or the ledger's key file was "
                "lost), so it cannot be resumed with these. Start a new run."
            )
        return known

    def charge(self, run: str, step: int, verb: str, digest: str, rho: Fraction) -> None:
        """Record a charge; it is durable when this returns."""
        state = self._state.runs.get(run) or self._begun[run]
        state.check_charge(step, rho)
        if run in self._begun:
            self._state.check_cap(state.planned_rho)
            self._append("run", {"run": run, "rho": str(state.planned_rho), "started": _now(), **state.facts})
            state.facts = self._state.runs[run].facts
            self._state.runs[run] = self._begun.pop(run)  # the very object that the curator holds
        self._append("charge", {"run": run, "step": step, "verb": verb, "digest": digest, "rho": str(rho)})

    def store(self, run: str, step: int, arrays: Arrays) -> None:
        """Record a noisy result; it is durable when this returns."""
        self._state.runs[run].check_result(step)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        file = self._result_file(run, step)
        try:
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_durably(file, buffer.getvalue())
        except OSError as error:
            raise LedgerError(f"cannot write {file}: {error.strerror}.") from error
        self._seal(run, step, buffer.getvalue())

    def adopt(self, run: str, step: int) -> bool:
        """Take in a result whose file was durable before a crash kept it out of the chain; whether there was one."""
        try:
            content = self._result_file(run, step).read_bytes()
            _unpacked(content)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, BadZipFile) as error:
            raise LedgerError(f"result {self._result_file(run, step).name} is damaged. Restore it.") from error
        self._seal(run, step, content)
        return True

    def result(self, run: str, step: int) -> Arrays:
        """A stored result."""
        return _load(self.path, self._state.runs[run].results[step])

    def finish(self, run: str) -> None:
        """Close a run: what it did not spend is free again."""
        if run in self._begun:
            self._begun.pop(run).done = True
        elif not self._state.runs[run].done:
            self._append("done", {"run": run, "ended": _now()})

    def _result_file(self, run: str, step: int) -> Path:
        seal = self._state.runs[run].charges[step]["seal"]
        return _results_folder(self.path) / f"{run}-{step:05d}-{seal[:16]}.npz"

    def _seal(self, run: str, step: int, content: bytes) -> None:
        self._state.runs[run].check_result(step)
        name = self._result_file(run, step).name
        sha256 = hashlib.sha256(content).hexdigest()
        self._append("result", {"run": run, "step": step, "file": name, "sha256": sha256})

    def _append(self, kind: str, body: dict[str, Any]) -> None:
        self._state.apply(self._chain.append(kind, body))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
