import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import opendp.prelude as dp
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

from dprap.accounting import Accounting, Budget, default_delta, epsilon_from_rho, rho_from_epsilon
from dprap.errors import BudgetError

DELTA = 1 / 48842**2
EPSILONS = (1e-6, 1e-4, 1e-2, 0.05, 0.1, 0.25, 0.5, 1.0, 10.0, 100.0)
DELTAS = (1e-3, 1e-5, DELTA, 1e-15, 1e-30)
GRID = list(itertools.product(EPSILONS, DELTAS))


@pytest.mark.parametrize(
    ("epsilon", "paper", "tight"),
    [
        (0.05, 2.891e-5, 4.385e-5),
        (0.1, 1.155e-4, 1.675e-4),
        (0.25, 7.195e-4, 9.852e-4),
        (0.5, 2.861e-3, 3.758e-3),
        (1.0, 1.1317e-2, 1.427e-2),
    ],
)
def test_table_of_the_paper(epsilon, paper, tight):
    assert rho_from_epsilon(epsilon, DELTA, Accounting.PAPER) == pytest.approx(paper, rel=5e-4)
    assert rho_from_epsilon(epsilon, DELTA, Accounting.TIGHT) == pytest.approx(tight, rel=5e-4)


@pytest.mark.parametrize("accounting", [Accounting.TIGHT, Accounting.PAPER])
@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_there_and_back(epsilon, delta, accounting):
    rho = rho_from_epsilon(epsilon, delta, accounting)
    back = epsilon_from_rho(rho, delta, accounting)
    # Where δ alone nearly covers ρ the two parts of ε cancel; an error of 1e-11 in ε is what the
    # slack may cost.
    assert back == pytest.approx(epsilon, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_tight_is_never_worse_than_the_paper(epsilon, delta):
    assert rho_from_epsilon(epsilon, delta, Accounting.TIGHT) >= rho_from_epsilon(
        epsilon, delta, Accounting.PAPER
    )


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_rho_is_proven_in_high_precision(epsilon, delta):
    """Some order proves that the returned ρ keeps (ε, δ), without any tolerance: rounding went the
    safe way.
    """
    with localcontext() as context:
        context.prec = 60
        rho = Decimal(rho_from_epsilon(epsilon, delta, Accounting.TIGHT))

        def epsilon_at(log_above_one):
            alpha = 1 + log_above_one.exp()
            return alpha * rho - (alpha * Decimal(delta)).ln() / (alpha - 1) + (1 - 1 / alpha).ln()

        low, high = Decimal(-10), Decimal(60)
        best = min((Decimal(point) for point in range(-10, 60)), key=epsilon_at)
        low, high = best - 1, best + 1
        for _ in range(70):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (left, high) if epsilon_at(left) > epsilon_at(right) else (low, right)
        assert epsilon_at(low) <= Decimal(epsilon)


@pytest.mark.parametrize("delta", [1e-5, DELTA, 1e-12, 1e-30])
@pytest.mark.parametrize("rho", [1e-8, 1e-4, 1e-2, 0.5, 10.0])
def test_against_dp_accounting(rho, delta):
    guess = math.sqrt(-math.log(delta) / rho)
    orders = [1 + guess * 10 ** (step / 300) for step in range(-300, 301)]
    accountant = RdpAccountant(orders)
    accountant.compose(dp_event.ZCDpEvent(rho))
    theirs = accountant.get_epsilon(delta)
    ours = epsilon_from_rho(rho, delta, Accounting.TIGHT)
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert ours <= theirs * (1 + 1e-9), (
        "the best of all orders is at least as good as the best of 601"
    )


@pytest.mark.parametrize("delta", [1e-5, DELTA, 1e-12])
@pytest.mark.parametrize("rho", [1e-4, 1e-2, 0.5, 10.0])
def test_against_opendp(rho, delta):
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T=float)
    scale = 1 / math.sqrt(2 * rho)
    approximate = dp.c.make_fix_delta(
        dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta
    )
    assert epsilon_from_rho(rho, delta, Accounting.TIGHT) == pytest.approx(
        approximate.map(1.0)[0], rel=1e-5
    )


def test_small_epsilon_does_not_cancel():
    """A known trap: (√(L + ε) − √L)² computed as written turns ε = 1e-7 into a large ρ."""
    log_inverse = -math.log(DELTA)
    assert rho_from_epsilon(1e-7, DELTA, Accounting.PAPER) == pytest.approx(
        1e-14 / (4 * log_inverse), rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_bad_epsilon(epsilon):
    with pytest.raises(BudgetError, match="epsilon"):
        Budget.of(epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize("epsilon", [1.2e9, 1e12, 1e300])
def test_an_epsilon_whose_rho_no_ledger_keeps_is_refused(epsilon, accounting):
    with pytest.raises(BudgetError, match=r"epsilon = 1.* promises nothing .* such as 1\.$"):
        Budget.of(epsilon=epsilon, delta=1e-6, accounting=accounting)
    with pytest.raises(BudgetError, match="promises nothing"):
        Budget.of_rho(epsilon, delta=1e-6, accounting=accounting)


@pytest.mark.parametrize("delta", [0.0, -1e-9, 1e-41, 1.0, 2.0, math.nan])
def test_bad_delta(delta):
    with pytest.raises(BudgetError, match="delta"):
        Budget.of(epsilon=1.0, delta=delta)


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan, math.inf])
def test_bad_rho(rho):
    with pytest.raises(BudgetError, match="rho"):
        Budget.of_rho(rho, delta=1e-6)


def test_budget_must_be_consistent():
    with pytest.raises(BudgetError, match="does not belong"):
        Budget(epsilon=0.1, delta=1e-9, rho=Fraction(1), accounting=Accounting.TIGHT)


def test_delta_of_one_over_n_is_refused():
    budget = Budget.of(epsilon=1.0, delta=1e-3)
    budget.check_against_rows(999)
    with pytest.raises(BudgetError, match="below 1/n"):
        budget.check_against_rows(1000)
    assert default_delta(48842) == DELTA
    Budget.of(epsilon=1.0, delta=default_delta(2)).check_against_rows(2)
    with pytest.raises(BudgetError, match=r"of one record has no default delta.* --delta 1e-9"):
        default_delta(1)
