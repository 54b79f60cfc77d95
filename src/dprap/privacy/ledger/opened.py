"""The files of a ledger that is open for spending: its lock, relation, cap, anchor and key.

What a run does with it is in `ledger`.

A run remembers which data it began with, so that it is not resumed on others. A plain digest of the
data would let whoever sees the ledger test guesses of a record, so it is keyed with a secret in
`NAME.key`, which must not be published; everything else in a ledger is public or noisy.
"""

from __future__ import annotations

import secrets
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from dprap.accounting.neighbors import Neighbors
from dprap.accounting.zcdp import MOST_RHO
from dprap.arguments import as_number, as_path, as_truth
from dprap.errors import BudgetError, LedgerError, SettingsError
from dprap.privacy.ledger.anchor import Anchor
from dprap.privacy.ledger.chain import RESTORE, ChainedFile, Head, write_durably
from dprap.privacy.ledger.reading import state_of
from dprap.privacy.ledger.record_checks import VERSION
from dprap.privacy.ledger.state import LedgerState
from dprap.privacy.ledger.stored_results import check_results


class OpenedLedger:
    """The files of a ledger, locked against every other process.

    `Ledger` explains the arguments.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        neighbors: Neighbors | None,
        cap_rho: float | Fraction | None = None,
        anchor: str | Path | None = None,
        create: bool = True,
    ) -> None:
        self.path = as_path(path, "the ledger's file")
        if neighbors is not None and not isinstance(neighbors, Neighbors):
            raise SettingsError(
                f"neighbors must be dprap.Neighbors, not {type(neighbors).__name__}."
            )
        cap_rho = None if cap_rho is None else as_number(cap_rho, "cap_rho", BudgetError)
        if cap_rho is not None and not 0 < cap_rho <= MOST_RHO:
            raise BudgetError(
                "a ledger's cap must be a positive number, and at most a thousand million."
            )
        create = as_truth(create, "create")
        self._anchor: Anchor | None = None
        self._anchored: Head | None = None
        self._chain = ChainedFile.open(self.path, create=create and neighbors is not None)
        try:
            self._state = state_of(self.path, self._chain.records)
            check_results(self.path, self._state)
            if neighbors is not None:
                self._open(neighbors, None if cap_rho is None else Fraction(cap_rho))
            self._open_anchor(anchor)
            self._key = self._secret_key()
        except BaseException:
            if self._chain.is_new:
                self._chain.remove()
            self._chain.close()
            raise

    def _open(self, neighbors: Neighbors, cap_rho: Fraction | None) -> None:
        declared = {
            "relation": neighbors.relation.value,
            "max_rows_per_person": neighbors.max_rows_per_person,
        }
        opening = self._state.opening
        if opening is None:
            cap = None if cap_rho is None else str(cap_rho)
            # The name tells ledgers apart that were opened in the same second: a run must know its
            # own again.
            name = secrets.token_hex(16)
            self._append(
                "open",
                {"version": VERSION, "name": name, "created": now(), "cap_rho": cap, **declared},
            )
            return
        if {key: opening.get(key) for key in declared} != declared:
            raise LedgerError(
                f"ledger {self.path} was opened for {opening.get('relation')} neighbours with at"
                f" most {opening.get('max_rows_per_person')} rows a person; sums over different"
                " relations mean nothing. Use another ledger."
            )
        if cap_rho is not None and cap_rho != self._state.cap_rho:
            raise LedgerError(
                f"ledger {self.path} was opened with another cap, or with none, and keeps it."
            )

    def _open_anchor(self, place: str | Path | None) -> None:
        """Compare with the anchor that the ledger has, or take a new one.

        A command is never run because a file says so: whoever opens the ledger names it again. A
        new place for an anchor that moved must have been given the last head before, or it could
        hide a loss.
        """
        known = self._state.anchor
        if place is None and known is None:
            return
        anchor = Anchor(known if place is None else place, self.path)  # type: ignore[arg-type]
        if place is None and anchor.is_command:
            raise LedgerError(
                f"ledger {self.path} has an anchor. Name it: --anchor, or anchor= in Python,"
                f" {known!r}."
            )
        remembered = anchor.read()
        if remembered is None and known is not None:
            raise LedgerError(
                f"the anchor {anchor.place} of ledger {self.path} is gone or empty, so nothing is"
                " spent. Restore it, or copy it to the place that you name now."
            )
        self._check_anchor(anchor, remembered or (0, ""))
        if anchor.place != known:
            # Before the ledger knows of it: with an anchor that cannot be written to, it would be
            # closed for good.
            anchor.write(self._chain.head)
            self._append("anchor", {"place": anchor.place})
        self._anchor = anchor
        self._write_anchor()

    def _write_anchor(self) -> None:
        if self._anchor is not None:
            self._anchored = self._chain.head
            self._anchor.write(self._anchored)

    def _check_anchor(self, anchor: Anchor, remembered: Head) -> None:
        later = [record["kind"] for record in self._chain.records[remembered[0] :]]
        if not self._chain.holds(remembered):
            raise LedgerError(
                f"ledger {self.path} is not what the anchor {anchor.place} has seen: it was"
                f" deleted, or an older copy was put in its place. Nothing is spent. {RESTORE}"
            )
        if remembered[0] and later.count("charge") > 1:
            # One charge may be ahead of the anchor, if a crash came between the two.
            raise LedgerError(
                f"the anchor {anchor.place} is older than ledger {self.path}: restore the anchor's"
                " newest state."
            )

    def _secret_key(self) -> bytes:
        """The key of data digests; if it is lost, unfinished runs cannot be resumed, and nothing
        else happens.
        """
        file = self._key_file
        try:
            if not file.exists():
                write_durably(file, secrets.token_hex(32).encode())
            return file.read_bytes()
        except OSError as error:
            raise LedgerError(f"cannot read or write {file}: {error.strerror}.") from error

    @property
    def _key_file(self) -> Path:
        return self.path.with_name(self.path.name + ".key")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            self._forget_if_unused()
        self.close()

    def _forget_if_unused(self) -> None:
        """Remove a ledger that this opening created and that says nothing: no run, no cap, no
        anchor.
        """
        says_nothing = (
            not self._state.runs and self._state.cap_rho is None and self._state.anchor is None
        )
        if self._chain.is_new and self._chain.is_usable and says_nothing:
            self._key_file.unlink(missing_ok=True)
            self._chain.remove()

    def close(self) -> None:
        """Release the ledger: other processes may open it again."""
        self._chain.close()

    @property
    def state(self) -> LedgerState:
        """What has been spent so far."""
        return self._state

    @property
    def head(self) -> Head:
        """The number of lines and the hash of the last one."""
        return self._chain.head

    def require(self, head: Head) -> None:
        """Refuse another ledger than the one that had this head at some time.

        Args:
            head: The number of lines and the hash of the last one, as it once was.

        Raises:
            LedgerError: If this ledger never had that head.

        """
        if not self._chain.holds(head):
            raise LedgerError(
                f"ledger {self.path} is not the one that this run began with, or an older copy of"
                f" it. Nothing was spent. {RESTORE}"
            )

    def _append(self, kind: str, body: dict[str, Any]) -> None:
        self._state.apply(self._chain.append(kind, body))


def now() -> str:
    """The time of a record, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
