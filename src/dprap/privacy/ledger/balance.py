"""What was spent on a data set before a run and what the sum will be after it, in words for whoever
spends.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprap.accounting.budget import Budget
from dprap.accounting.zcdp import epsilon_from_rho
from dprap.privacy.ledger.state import LedgerState

# Above it a release may depend on one record so much that "differentially private" says little:
# e^10 is about 22,000.
LARGE_EPSILON = 10.0


def balance_lines(state: LedgerState, budget: Budget) -> list[str]:
    """What was spent before, and the sum with this run, as sentences.

    Charges are zCDP whatever the accounting of their run, so their ρ add up, also when later runs
    were chosen after looking at earlier releases; the sum is turned into ε by the conversion
    `tight`, at the δ of this run. Runs that are not finished count with all that they hold. A run
    with paid discovery is asked about once, before that.
    """
    if not state.runs:
        return ["nothing was spent on this data set before, as far as its ledger knows."]
    before = state.held_rho
    after = before + budget.whole_rho
    runs = "1 run" if len(state.runs) == 1 else f"{len(state.runs):,} runs"
    lines = [
        f"{runs} before spent or hold {_stated(before, budget)} on this data set.",
        f"With this run the sum is {_stated(after, budget)}: budgets on the same people add up.",
    ]
    thresholds = state.threshold_delta + budget.threshold_delta
    if thresholds:
        lines.append(f"Thresholds of paid discovery add {thresholds:.3g} to δ.")
    if state.cap_rho is not None:
        lines.append(f"The ledger's cap is ρ = {float(state.cap_rho):.4g}.")
    return lines


def caution_lines(budget: Budget) -> list[str]:
    """What a large ε means, before it is spent; nothing for others.

    >>> caution_lines(Budget.of(epsilon=1.0, delta=1e-9))
    []
    """
    if budget.epsilon <= LARGE_EPSILON:
        return []
    times = f"10^{budget.epsilon / math.log(10):.0f}"
    meaning = (
        f"ε = {budget.epsilon:g} protects hardly anybody: a release may be {times} times as likely"
        " with a person's record as without it. Usual values lie between 0.1 and 3."
    )
    return [meaning]


def _stated(rho: Fraction, budget: Budget) -> str:
    total = float(rho)
    return (
        f"ρ = {total:.4g}, which is ε = {epsilon_from_rho(total, budget.delta):.3g} at δ ="
        f" {budget.delta:.3g}"
    )
