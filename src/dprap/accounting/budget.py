"""A run's privacy budget: what it may spend, and how the promise is worded."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dprap.accounting.exact import pick_rho
from dprap.accounting.zcdp import (
    Accounting,
    check_epsilon_delta,
    check_promise,
    epsilon_from_rho,
    proof_of,
    rho_from_epsilon,
)
from dprap.errors import BudgetError


@dataclass(frozen=True)
class Budget:
    """(ε, δ) and the ρ they allow.

    >>> budget = Budget.of(epsilon=1.0, delta=1e-9)
    >>> round(float(budget.rho), 4)
    0.0162
    """

    epsilon: float
    delta: float
    rho: Fraction
    accounting: Accounting

    def __post_init__(self) -> None:
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        # Whoever writes the four numbers by hand must not promise an ε that the ρ does not keep.
        check_promise(self.rho, self.epsilon, self.delta, self.accounting)

    @classmethod
    def of(cls, *, epsilon: float, delta: float, accounting: Accounting = Accounting.EXACT) -> Budget:
        """Turn (ε, δ) into the largest ρ that the accounting allows."""
        accounting = Accounting(accounting)
        return cls(epsilon, delta, Fraction(rho_from_epsilon(epsilon, delta, accounting)), accounting)

    @classmethod
    def of_rho(cls, rho: float | Fraction, *, delta: float, accounting: Accounting = Accounting.EXACT) -> Budget:
        """State a budget by its ρ; ε follows."""
        if rho <= 0:
            raise BudgetError(f"rho must be positive; it is {float(rho)}.")
        epsilon = epsilon_from_rho(rho, delta, accounting)
        # Where δ alone covers so small a ρ, ε is 0; a positive ε is as true and keeps the parameters meaningful.
        return cls(max(epsilon, 1e-12), delta, Fraction(rho), Accounting(accounting))

    @cached_property
    def proof(self) -> Accounting:
        """The accounting that the promise rests on: `tight` where `exact` has nothing to add to it."""
        return proof_of(self.rho, self.epsilon, self.delta, self.accounting)

    def pick_rho(self, charge: Fraction) -> Fraction:
        """The zCDP cost that a pick may have for a charge: all of it, but for a promise by `exact`, where a pick costs more."""
        return pick_rho(charge, self.rho) if self.proof is Accounting.EXACT else charge

    def check_against_rows(self, rows: int) -> None:
        """Refuse a δ that would allow publishing somebody's record outright. Only for a public number of records."""
        check_epsilon_delta(self.epsilon, self.delta)
        if self.delta * rows >= 1:
            raise BudgetError(
                f"delta = {self.delta:g} is not below 1/n for n = {rows:,} records, so it would allow publishing a record "
                f"outright. Use 1/n² = {1 / rows**2:.2g}."
            )


def default_delta(rows: int) -> float:
    """The paper's δ = 1/n², for a public number of records."""
    return 1.0 / max(rows, 2) ** 2
