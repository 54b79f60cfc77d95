"""A run's privacy budget: what it may spend, and how the promise is worded."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dprap.accounting.exact import pick_rho
from dprap.accounting.zcdp import (
    MOST_RHO,
    Accounting,
    check_epsilon_delta,
    check_promise,
    epsilon_from_rho,
    proof_of,
    rho_from_epsilon,
)
from dprap.arguments import as_number, as_one_of
from dprap.display import ShownInNotebooks
from dprap.errors import BudgetError


@dataclass(frozen=True, repr=False)
class Budget(ShownInNotebooks):
    """(ε, δ) and the ρ they allow.

    A promise may cover two runs of a ledger, paid discovery and what follows it. Each then has a
    budget with the (ε, δ) of the whole: `rho` is its own part, `other_rho` that of the other run,
    and `threshold_delta` the part of δ that thresholds of discovery take, so that ρ + `other_rho`
    is accounted for with the rest of δ.

    >>> budget = Budget.of(epsilon=1.0, delta=1e-9)
    >>> round(float(budget.rho), 4)
    0.0162
    >>> budget
    Budget of ε = 1, δ = 1e-09: ρ = 0.01617 (exact accounting)
    """

    epsilon: float
    delta: float
    rho: Fraction
    accounting: Accounting
    other_rho: Fraction = Fraction(0)
    threshold_delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        # Whoever writes the four numbers by hand must not promise an ε that the ρ does not keep.
        if self.rho <= 0 or self.other_rho < 0 or self.threshold_delta < 0:
            raise BudgetError("every part of a budget must be positive.")
        if self.whole_rho > MOST_RHO:
            raise BudgetError(
                f"epsilon = {self.epsilon:g} promises nothing to anybody, and no ledger keeps a"
                " charge as large. Choose a far smaller epsilon, such as 1."
            )
        check_promise(self.whole_rho, self.epsilon, self.accounted_delta, self.accounting)

    def __repr__(self) -> str:
        promised = f"ε = {self.epsilon:g}, δ = {self.delta:.3g}"
        part = f" of {float(self.whole_rho):.4g}" if self.other_rho else ""
        return (
            f"Budget of {promised}: ρ = {float(self.rho):.4g}{part} ({self.accounting} accounting)"
        )

    @property
    def whole_rho(self) -> Fraction:
        """What all runs under the promise may spend together."""
        return self.rho + self.other_rho

    @property
    def accounted_delta(self) -> float:
        """The part of δ for the sum of all ρ: what thresholds leave, rounded down."""
        left = self.delta - self.threshold_delta
        return left if self.threshold_delta == 0 else math.nextafter(left, 0.0)

    @classmethod
    def of(
        cls, *, epsilon: float, delta: float, accounting: Accounting = Accounting.EXACT
    ) -> Budget:
        """Turn (ε, δ) into the largest ρ that the accounting allows.

        Args:
            epsilon: ε, above 0.
            delta: δ, strictly between 0 and 1.
            accounting: How the promise follows from ρ: `exact`, `tight` or `paper`.

        Returns:
            The budget.

        Raises:
            BudgetError: If ε or δ makes no sense.

        >>> float(Budget.of(epsilon=1.0, delta=1e-9, accounting="paper").rho) < float(
        ...     Budget.of(epsilon=1.0, delta=1e-9).rho
        ... )
        True
        """
        epsilon = as_number(epsilon, "epsilon", BudgetError)
        delta = as_number(delta, "delta", BudgetError)
        accounting = Accounting(as_one_of(accounting, "accounting", Accounting, BudgetError))
        return cls(
            epsilon, delta, Fraction(rho_from_epsilon(epsilon, delta, accounting)), accounting
        )

    def split(self, share: float, *, threshold_delta: float) -> tuple[Budget, Budget]:
        """Two budgets under the promise of this one: a share of ρ for discovery, and the rest.

        Args:
            share: The share of ρ that discovery may spend, strictly between 0 and 1.
            threshold_delta: The part of δ that the thresholds of discovery take.

        Returns:
            The budget of discovery, and that of what follows it.

        Raises:
            BudgetError: If the share is not between 0 and 1, or the thresholds take all of δ.

        >>> first, rest = Budget.of(epsilon=1.0, delta=1e-9).split(0.05, threshold_delta=1e-10)
        >>> first.whole_rho == rest.whole_rho, round(float(first.rho / first.whole_rho), 6)
        (True, 0.05)

        """
        share = as_number(share, "share", BudgetError)
        threshold_delta = as_number(threshold_delta, "threshold_delta", BudgetError)
        if not 0 < share < 1:
            raise BudgetError(
                f"the share of discovery must lie strictly between 0 and 1; it is {share}."
            )
        if not 0 <= threshold_delta < self.delta:
            raise BudgetError("the thresholds of discovery must leave some of delta.")
        left = (
            self.delta
            if threshold_delta == 0
            else math.nextafter(self.delta - threshold_delta, 0.0)
        )
        whole = Fraction(rho_from_epsilon(self.epsilon, left, self.accounting))
        part = whole * Fraction(share)
        first = replace(self, rho=part, other_rho=whole - part, threshold_delta=threshold_delta)
        return first, replace(first, rho=whole - part, other_rho=part)

    @classmethod
    def of_rho(
        cls, rho: float | Fraction, *, delta: float, accounting: Accounting = Accounting.EXACT
    ) -> Budget:
        """State a budget by its ρ; ε follows.

        Args:
            rho: The zCDP cost that may be spent, above 0.
            delta: δ, strictly between 0 and 1.
            accounting: How the promise follows from ρ: `exact`, `tight` or `paper`.

        Returns:
            The budget, with the smallest ε that the accounting can promise.

        Raises:
            BudgetError: If ρ is not positive, or δ makes no sense.

        >>> round(Budget.of_rho(0.0162, delta=1e-9).epsilon, 2)
        1.0

        """
        rho = as_number(rho, "rho", BudgetError)
        delta = as_number(delta, "delta", BudgetError)
        accounting = Accounting(as_one_of(accounting, "accounting", Accounting, BudgetError))
        if rho <= 0:
            raise BudgetError(f"rho must be positive; it is {float(rho)}.")
        epsilon = epsilon_from_rho(rho, delta, accounting)
        # Where δ alone covers so small a ρ, ε is 0; a positive ε is as true and keeps the
        # parameters meaningful.
        return cls(max(epsilon, 1e-12), delta, Fraction(rho), accounting)

    @cached_property
    def proof(self) -> Accounting:
        """The accounting that the promise rests on: `tight` where `exact` has nothing to add to
        it.
        """
        return proof_of(self.whole_rho, self.epsilon, self.accounted_delta, self.accounting)

    def pick_rho(self, charge: Fraction) -> Fraction:
        """The zCDP cost that a pick may have for a charge.

        It is the whole charge, but for a promise by `exact`: there a pick costs more than its zCDP
        cost.

        Args:
            charge: What is charged for one pick.

        Returns:
            The ρ that the noise of the pick is made for.

        Raises:
            BudgetError: If the charge is not positive.

        >>> budget = Budget.of(epsilon=1.0, delta=1e-9)
        >>> 0.9 < float(budget.pick_rho(budget.rho / 100) / (budget.rho / 100)) <= 1
        True
        """
        return pick_rho(charge, self.whole_rho) if self.proof is Accounting.EXACT else charge

    def check_against_rows(self, rows: int) -> None:
        """Refuse a δ that would allow publishing somebody's record outright.

        Call it only where the number of records is public.

        Args:
            rows: The number of records.

        Raises:
            BudgetError: If δ is 1/n or more.

        >>> Budget.of(epsilon=1.0, delta=1e-9).check_against_rows(1_000)

        """
        check_epsilon_delta(self.epsilon, self.delta)
        if self.delta * rows >= 1:
            raise BudgetError(
                f"delta = {self.delta:g} is not below 1/n for n = {rows:,} records, so it would"
                f" allow publishing a record outright. Use 1/n² = {1 / rows**2:.2g}."
            )


def default_delta(rows: int) -> float:
    """The paper's δ = 1/n², for a public number of records.

    Raises:
        BudgetError: If there are fewer than two: a δ of 1 promises nothing.

    """
    if rows < 2:
        raise BudgetError(
            "a table of one record has no default delta: 1/n² is 1, which promises nothing. Give"
            " one, such as --delta 1e-9."
        )
    return 1.0 / rows**2


def largest_belief(prior: float, epsilon: float) -> float:
    """How sure somebody can become about one person who was as sure as `prior` before, leaving δ
    aside.

    A conclusion is at most e^ε times as likely with the person's record as with another, so the
    odds grow at most e^ε-fold.

    >>> round(largest_belief(0.5, 1.0), 3), largest_belief(0.5, 5000.0)
    (0.731, 1.0)
    """
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


# Digits after the point of a percentage: as many as keep it from being rounded to certainty.
_FEWEST_DIGITS, _MOST_DIGITS = 1, 4


def percent_rounded_up(share: float) -> str:
    """What a share is at most, in percent: never less than the share, and 100 only for certainty or
    what hardly differs from it.

    A bound on what somebody may learn must be true as it is printed, so it is rounded up.

    >>> percent_rounded_up(largest_belief(0.5, 1.0)), percent_rounded_up(largest_belief(0.9, 10.0))
    ('73.2', '99.9995')
    """
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        rounded = math.ceil(share * 100 * 10**digits) / 10**digits
        if rounded < 100:
            return f"{rounded:.{digits}f}"
    return "100"
