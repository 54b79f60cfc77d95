"""From (ε, δ) to ρ and back.

`exact` follows the privacy loss of the run itself (`dprap.accounting.exact`), or is `tight` where
that grants more. The other two need only that the run is ρ-zCDP (zero-concentrated differential
privacy). A ρ-zCDP mechanism has Rényi divergence at most αρ at every order α > 1. Each order gives
a valid (ε, δ) statement (Canonne, Kamath and Steinke 2020, Corollary 13):

    ε = αρ + log(1/(αδ))/(α − 1) + log(1 − 1/α).

`tight` takes the best order; because *every* order is valid, the search can lose accuracy but never
soundness. `paper` is ε = ρ + 2√(ρ log 1/δ), the formula of the RAP paper, kept for faithful
reproduction.

>>> [round(rho_from_epsilon(1.0, 48842**-2, accounting), 5) for accounting in Accounting]
[0.01537, 0.01427, 0.01132]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from dprap.accounting.exact import LARGEST_RHO, exact_epsilon, exact_rho
from dprap.errors import BudgetError

Rho = float | Fraction
"""A charge or budget; fractions let shares of a budget add up to it exactly."""


MOST_RHO = 10**9
"""No budget comes near: it belongs to an ε of about as much. Ledgers keep no larger charge, because
it could not be shown as a float.
"""


_SLACK = 1e-12
# Rounding errors must not turn into extra budget: ρ is rounded down and ε up by this much.


# `exact` charges picks more than their zCDP cost, which takes one or two per cent of a usual run's
# ρ: less is no gain.
_WORTH_ITS_PICKS = 1.02

_LEAST_DELTA = 1e-40
# Samplers are exact up to 10^-45.


class Accounting(StrEnum):
    """How ε and δ are turned into ρ."""

    EXACT = "exact"
    TIGHT = "tight"
    PAPER = "paper"


def rho_from_epsilon(
    epsilon: float, delta: float, accounting: Accounting = Accounting.TIGHT
) -> float:
    """Largest ρ that implies (ε, δ)-differential privacy; by `exact` only for the plan of a run,
    whose `Budget` prices its picks.
    """
    check_epsilon_delta(epsilon, delta)
    if Accounting(accounting) is Accounting.EXACT:
        exact, tight = exact_rho(epsilon, delta), rho_from_epsilon(epsilon, delta, Accounting.TIGHT)
        return exact if exact >= tight * _WORTH_ITS_PICKS else tight
    if Accounting(accounting) is Accounting.PAPER:
        log_inverse_delta = -math.log(delta)
        # (√(L + ε) − √L)², written without the cancellation that ruins it at small ε.
        rho = (
            epsilon / (math.sqrt(log_inverse_delta + epsilon) + math.sqrt(log_inverse_delta))
        ) ** 2
        return rho * (1 - _SLACK)
    return _tight_rho(float(epsilon), float(delta))


@lru_cache(maxsize=1024)
def _tight_rho(epsilon: float, delta: float) -> float:
    """What the best order gives; kept, because a run asks for the same again and again."""

    def rho_at(log_order: float) -> float:
        order, intercept = _order_and_intercept(log_order, delta)
        return (epsilon - intercept) / order

    rho = rho_at(_argmax(rho_at))
    # At the best order ε and the intercept do not cancel (their difference is about ε/2), so the
    # relative error is a few units in the last place, and the slack is thousands of them.
    return max(rho, 0.0) * (1 - _SLACK)


def epsilon_from_rho(rho: Rho, delta: float, accounting: Accounting = Accounting.TIGHT) -> float:
    """Smallest ε for ρ at the given δ.

    Sums of charges, as in a ledger, and parts of a plan are for `tight` or `paper`, never `exact`.
    """
    if not (math.isfinite(rho) and rho >= 0):
        raise BudgetError(f"rho must be a number of at least 0; it is {rho}.")
    check_epsilon_delta(1.0, delta)
    if rho == 0:
        return 0.0
    if Accounting(accounting) is Accounting.EXACT:
        by_zcdp = epsilon_from_rho(rho, delta, Accounting.TIGHT)
        return (
            min(by_zcdp, exact_epsilon(_rounded_up(rho), delta)) if rho <= LARGEST_RHO else by_zcdp
        )
    rho = float(rho)
    if Accounting(accounting) is Accounting.PAPER:
        return (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + _SLACK)
    return _tight_epsilon(rho, float(delta))


@lru_cache(maxsize=1024)
def _tight_epsilon(rho: float, delta: float) -> float:
    """What the best order gives; kept, as `_tight_rho` is."""

    def negative_epsilon_at(log_order: float) -> float:
        order, intercept = _order_and_intercept(log_order, delta)
        # The two may cancel where δ alone nearly suffices, so the slack is on their sizes, not on
        # their sum.
        return -(order * rho + intercept + _SLACK * (order * rho + abs(intercept)))

    return max(-negative_epsilon_at(_argmax(negative_epsilon_at)), 0.0)


def proof_of(rho: Rho, epsilon: float, delta: float, accounting: Accounting) -> Accounting:
    """What the promise of (ε, δ) for a ρ rests on: `exact` rests on `tight` wherever that gives the
    same ρ.
    """
    if accounting is Accounting.EXACT and rho <= _allowed(epsilon, delta, Accounting.TIGHT):
        return Accounting.TIGHT
    return accounting


def check_promise(rho: Rho, epsilon: float, delta: float, accounting: Accounting) -> None:
    """Refuse a budget that promises an ε which its ρ does not keep."""
    check_epsilon_delta(epsilon, delta)
    if not 0 < rho <= _allowed(epsilon, delta, proof_of(rho, epsilon, delta, accounting)):
        raise BudgetError(
            f"rho = {float(rho):.4g} does not belong to epsilon = {epsilon:.4g}, delta ="
            f" {delta:.4g}."
        )


def _allowed(epsilon: float, delta: float, proof: Accounting) -> float:
    """The largest ρ of a proof.

    There and back, ρ → ε → ρ, zCDP's conversions err by less than 10⁻⁹.
    """
    if proof is Accounting.EXACT:
        return exact_rho(epsilon, delta)
    return rho_from_epsilon(epsilon, delta, proof) * (1 + 1e-9)


def _rounded_up(rho: Rho) -> float:
    rounded = float(rho)
    return rounded if rounded >= rho else math.nextafter(rounded, math.inf)


def check_epsilon_delta(epsilon: float, delta: float) -> None:
    """Refuse privacy parameters that mean nothing."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise BudgetError(f"epsilon must be a positive number; it is {epsilon}.")
    if not 0 < delta < 1:
        raise BudgetError(f"delta must lie strictly between 0 and 1; it is {delta}.")
    if delta < _LEAST_DELTA:
        raise BudgetError(
            f"delta must be at least {_LEAST_DELTA:g}: the samplers are not more exact. It is"
            f" {delta}."
        )


def _order_and_intercept(log_order: float, delta: float) -> tuple[float, float]:
    """Order α = 1 + exp(log_order), and the part of ε that does not depend on ρ."""
    above_one = math.exp(log_order)
    order = 1 + above_one
    log_of_order = math.log1p(above_one)  # log(1 + x) loses x where it is tiny
    # log(1 − 1/α) = log(α − 1) − log α; log1p keeps its digits where α is large.
    log_ratio = math.log1p(-1 / order) if above_one > 1 else log_order - log_of_order
    return order, (-math.log(delta) - log_of_order) / above_one + log_ratio


def _argmax(objective: Callable[[float], float]) -> float:
    """Maximise over log(α − 1): a coarse scan finds the hill, golden sections its top."""
    step = 0.25
    best = max((step * i for i in range(-200, 400)), key=objective)
    low, high = best - step, best + step
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if objective(left) < objective(right):
            low = left
        else:
            high = right
    return (low + high) / 2
