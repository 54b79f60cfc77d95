"""Exact accounting: its constants against the lemmas they come from, and whole runs against an
independent accountant.
"""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import log_ndtr

from dprap.accounting import Accounting, Budget, Neighbors, rho_from_epsilon
from dprap.accounting.exact import LARGEST_RHO, exact_epsilon, exact_rho, gaussian_delta, pick_rho
from dprap.accounting.stddev import stddev_for
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import BudgetError
from dprap.privacy import Curator
from dprap.privacy.verbs import select
from dprap.queries import Marginal
from dprap.sources import MemorySource

DELTA = 1 / 48842**2
EPSILONS = (1e-12, 1e-8, 1e-6, 1e-3, 0.05, 0.1, 0.5, 1.0, 3.0)
DELTAS = (1e-3, 1e-5, DELTA, 1e-15, 1e-30, 1e-40)
GRID = list(itertools.product(EPSILONS, DELTAS))


def precise_delta(variance, epsilon):
    with mpmath.workdps(120):
        root = mpmath.sqrt(mpmath.mpf(variance))
        return mpmath.ncdf(root / 2 - epsilon / root) - mpmath.exp(epsilon) * mpmath.ncdf(
            -root / 2 - epsilon / root
        )


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_rho_is_proven_in_high_precision(epsilon, delta):
    """The variance of the argument: charges, what discreteness adds to them, and a fiftieth in
    reserve.
    """
    found = exact_rho(epsilon, delta)
    assert found > 0
    with mpmath.workdps(120):
        rho = mpmath.mpf(found)
        assert (
            precise_delta(2 * rho * (1 + rho / 5) / mpmath.mpf("0.98"), mpmath.mpf(epsilon))
            <= delta
        )


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [1e-30, 1e-20, 1e-12, 1e-6, 1e-3, 0.125, 0.5])
def test_epsilon_is_proven_in_high_precision(rho, delta):
    with mpmath.workdps(120):
        exact = mpmath.mpf(rho)
        epsilon = mpmath.mpf(exact_epsilon(rho, delta))
        assert precise_delta(2 * exact * (1 + exact / 5) / mpmath.mpf("0.98"), epsilon) <= delta


def test_discrete_noise_is_never_coarser_than_the_argument_allows():
    assert stddev_for(1, LARGEST_RHO) >= 1


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_there_and_back(epsilon, delta):
    rho = exact_rho(epsilon, delta)
    if rho < LARGEST_RHO:
        assert exact_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("delta", [1e-5, DELTA, 1e-15])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 2.0])
def test_exact_buys_more_than_tight(epsilon, delta):
    assert 1.03 < rho_of(epsilon, delta) / rho_of(epsilon, delta, Accounting.TIGHT) < 2


def rho_of(epsilon, delta, accounting=Accounting.EXACT):
    return rho_from_epsilon(epsilon, delta, accounting)


@pytest.mark.parametrize("delta", DELTAS)
def test_large_budgets_are_those_of_zcdp(delta):
    assert rho_of(30.0, delta) == rho_of(30.0, delta, Accounting.TIGHT) > LARGEST_RHO
    assert rho_of(1e4, delta) == rho_of(1e4, delta, Accounting.TIGHT)
    budget = Budget.of(epsilon=30.0, delta=delta)
    assert budget.pick_rho(budget.rho / 7) == budget.rho / 7


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(
    "beyond", [Fraction(1, 10**20), Fraction(1, 10**10), Fraction(1, 1000), Fraction(1)]
)
def test_whatever_prices_its_picks_by_zcdp_promises_what_zcdp_proves(beyond, delta):
    budget = Budget.of_rho(Fraction(1, 2) + beyond, delta=delta)
    assert budget.proof is Accounting.TIGHT
    assert budget.pick_rho(Fraction(1, 100)) == Fraction(1, 100)
    assert (
        budget.epsilon
        == Budget.of_rho(budget.rho, delta=delta, accounting=Accounting.TIGHT).epsilon
    )
    within = Budget.of_rho(Fraction(1, 100), delta=delta)
    assert within.proof is Accounting.EXACT
    assert within.pick_rho(Fraction(1, 1000)) < Fraction(1, 1000)
    with pytest.raises(BudgetError, match="does not belong"):
        Budget(within.epsilon * (1 - 1e-3), delta, within.rho, Accounting.EXACT)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [1e-30, 1e-12, 1e-6, 0.01, 0.1251, 0.13, 5.0])
def test_every_rho_can_be_stated(rho, delta):
    assert Budget.of_rho(rho, delta=delta).rho == Fraction(rho)


def test_a_promise_beyond_the_proven_is_refused():
    """At δ = 10⁻³, `exact` is ahead of `tight` up to its end at ρ = 1/2, so beyond it nothing keeps
    its promise.
    """
    epsilon = exact_epsilon(LARGEST_RHO, 1e-3)
    assert Budget(epsilon, 1e-3, Fraction(1, 2), Accounting.EXACT).proof is Accounting.EXACT
    with pytest.raises(BudgetError, match="does not belong"):
        Budget(epsilon, 1e-3, Fraction(1, 2) * (1 + Fraction(1, 2 * 10**9)), Accounting.EXACT)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 4.0, 5.0, 6.0, 10.0])
def test_exact_never_grants_less_than_tight(epsilon, delta):
    """Nor does it leave a budget without a proof where the two cross."""
    exact, tight = rho_of(epsilon, delta), rho_of(epsilon, delta, Accounting.TIGHT)
    budget = Budget.of(epsilon=epsilon, delta=delta)
    assert exact >= tight
    assert budget.proof is (Accounting.EXACT if exact > tight else Accounting.TIGHT)
    assert Budget.of_rho(budget.rho, delta=delta).epsilon <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("numerator", [1, 3, 7, 11, 17, 29])
def test_fractions_between_floats_can_be_stated(numerator):
    rho = Fraction(numerator, 97)
    assert Budget.of_rho(rho, delta=1e-4).proof is Accounting.EXACT


def log_delta(variance, epsilon):
    root = np.sqrt(variance)
    above, below = (
        log_ndtr(root / 2 - epsilon / root),
        epsilon + log_ndtr(-root / 2 - epsilon / root),
    )
    return above + np.log1p(-np.exp(np.minimum(below - above, -1e-300)))


def smoothed(x):
    """ψ(x) = E(x + N)₊."""
    return x * mpmath.ncdf(x) + mpmath.npdf(x)


CHORDS = [
    (half, center)
    for half in (1e-4, 1e-2, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0, 300.0)
    for center in (-8.0, -3.0, -1.0, -1e-3, 0.0, 0.4, 2.0, 9.0)
]


@pytest.mark.parametrize(("half", "center"), CHORDS)
def test_chords_lie_below_the_wider_curve(half, center):
    """Lemma 4 at points, in 60 digits: height at 0 of the chord over center ± half, against (1 +
    half²/2)·I(slope).
    """
    with mpmath.workdps(60):
        half, low, high = mpmath.mpf(half), mpmath.mpf(center) - half, mpmath.mpf(center) + half
        slope = (smoothed(high) - smoothed(low)) / (2 * half)
        height = smoothed(high) - slope * high
        tail = min(slope, 1 - slope)
        tangent = mpmath.npdf(_upper_quantile(tail))
        assert height <= (1 + half**2 / 2) * tangent
        if half <= 0.1 and center == 0:  # nor would a constant a little below 1/2 do
            assert height > (1 + 0.49 * half**2) * tangent


@pytest.mark.parametrize("reserve", [1e-8, 1e-6, 1e-4, 1e-3, 6e-3, 2.3e-2])
@pytest.mark.parametrize("ratio", [0.003, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 3.4, 5.0, 20.0, 50.0])
def test_a_pick_is_worth_its_cost(reserve, ratio):
    """E δ(v₀, x − ℓ) ≤ δ(v₀ + w, x) for all losses ℓ in {t, t − 2a}.

    The whole chain of lemmas 2 to 5 at points. With ρ ≤ 1/2, v₀ is at most .0225 and a²/v₀ at most
    49. Negative x follow from δ(v, −x) = 1 − e^−x + e^−x δ(v, x).
    """
    half_range = math.sqrt(ratio * reserve)
    cost = half_range**2 * min(1 + ratio / 4, math.pi / 2)
    upper = np.linspace(0.001, 0.999, 399)[:, None] * 2 * half_range
    lower = upper - 2 * half_range
    at = np.linspace(0, 12, 241)[None, :] * math.sqrt(reserve + cost)
    weight = -np.expm1(lower) / (np.exp(upper) - np.exp(lower)) * np.exp(upper)
    after = np.logaddexp(
        np.log(weight) + log_delta(reserve, at - upper),
        np.log1p(-weight) + log_delta(reserve, at - lower),
    )
    assert (after <= log_delta(reserve + cost, at) + 1e-12).all()
    if ratio <= 1:  # nor is the cost much too high: in the middle the inequality is nearly tight
        cheaper = log_delta(reserve + half_range**2 * (1 + ratio / 9), at)
        assert (after > cheaper).any()


@pytest.mark.parametrize(
    "sigma", [1.0, 1.03, 1.4, 2.0, 3.0, 5.5, pytest.param(17.0, marks=pytest.mark.slow)]
)
def test_discrete_noise_is_nearly_gaussian(sigma):
    """Steps of Φ̄⁻¹(P(X ≥ m)): in the middle the largest, and never above √(1 + 1/10σ²)/σ."""
    with mpmath.workdps(60):
        weights = [
            mpmath.exp(-(mpmath.mpf(m) ** 2) / (2 * mpmath.mpf(sigma) ** 2))
            for m in range(int(45 * sigma))
        ]
        total = 2 * mpmath.fsum(weights) - 1
        tails = [weight / total for weight in itertools.accumulate(reversed(weights))][::-1]
        points = [_upper_quantile(tail) for tail in tails[: int(30 * sigma)]]
        steps = [float(above - below) for below, above in itertools.pairwise(points)]
    assert max(steps) == steps[0] <= math.sqrt(1 + 0.1 / sigma**2) / sigma
    assert steps[0] > math.sqrt(1 + 0.08 / sigma**2) / sigma


def _upper_quantile(tail):
    guess = (
        mpmath.sqrt(-2 * mpmath.log(tail))
        if tail < 1e-9
        else mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail)
    )
    return mpmath.findroot(lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / 2 / tail), guess)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 4.0])
@pytest.mark.parametrize(("picks", "share"), [(0, 0.0), (4, 0.1), (20, 0.2), (100, 0.5)])
def test_whole_runs_against_dp_accounting(epsilon, picks, share):
    """Ten discrete Gaussian measurements and the worst picks, which answer one question at random,
    composed by dp-accounting.
    """
    rho = Fraction(exact_rho(epsilon, DELTA))
    grid = epsilon / 2e4
    stddev = stddev_for(1, rho * (1 - Fraction(share)) / 10)
    run = pld.from_discrete_gaussian_mechanism(
        stddev, value_discretization_interval=grid
    ).self_compose(10)
    if picks:
        half_range = math.sqrt(2 * pick_rho(rho * Fraction(share) / picks, rho))
        coin = pld.from_randomized_response(
            2 / (1 + math.exp(half_range)), 2, value_discretization_interval=grid
        )
        run = run.compose(coin.self_compose(picks))
    theirs = run.get_epsilon_for_delta(DELTA)
    # At ε = 4 the ρ is so large that what discreteness might cost at worst, in a single
    # measurement, takes more of it.
    assert (0.96 if epsilon < 4 else 0.94) * epsilon < theirs < epsilon


@pytest.mark.parametrize("picks", [1, 2, 3, 5, 10])
def test_few_large_picks_against_dp_accounting(picks):
    """At δ = .05 a run of nothing but few picks would break its promise if they were priced by
    zCDP, by up to 60% of ε.
    """
    budget = Budget.of_rho(0.0154, delta=0.05)
    broken, kept = (
        _epsilon_of_coins(picks, math.sqrt(2 * each), 0.05, grid=budget.epsilon / 2e4)
        for each in (budget.rho / picks, budget.pick_rho(budget.rho / picks))
    )
    assert kept < budget.epsilon
    assert picks == 5 or broken > budget.epsilon


def _epsilon_of_coins(picks, half_range, delta, *, grid):
    coin = pld.from_randomized_response(
        2 / (1 + math.exp(half_range)), 2, value_discretization_interval=grid
    )
    return coin.self_compose(picks).get_epsilon_for_delta(delta)


def test_a_pick_of_any_size_is_charged_more_than_its_zcdp_cost():
    budget = Budget.of(epsilon=1.0, delta=DELTA)
    reserve = float(budget.rho) / 49
    for share in (1e-9, 1e-4, 0.01, 0.1, 1.0):
        charge = budget.rho * Fraction(share)
        strength = float(budget.pick_rho(charge))
        cost = strength * min(1 + strength / reserve / 4, math.pi / 2)
        assert cost == pytest.approx(float(charge), rel=1e-9)
        assert cost < charge
        assert (
            Budget.of(epsilon=1.0, delta=DELTA, accounting=Accounting.TIGHT).pick_rho(charge)
            == charge
        )


@pytest.mark.parametrize("accounting", Accounting)
def test_the_curator_picks_with_what_the_budget_grants(accounting, monkeypatch):
    budget = Budget.of(epsilon=1.0, delta=1e-5, accounting=accounting)
    asked = []
    honest = select.inverse_temperature
    monkeypatch.setattr(
        select,
        "inverse_temperature",
        lambda *arguments: asked.append(arguments[1]) or honest(*arguments),
    )
    source = MemorySource(Codes.of(Domain.of({"coin": 2}), {"coin": np.array([0, 1, 1])}))
    curator = Curator(source, budget=budget, neighbors=Neighbors(), ledger=None)
    charge = budget.rho / 4
    marginal = Marginal(curator.domain.names)
    curator.select([marginal], [np.zeros(2)], k=1, rho=charge)
    curator.select_queries([marginal], [np.zeros(2)], k=2, rho=charge)
    assert asked == [budget.pick_rho(charge), budget.pick_rho(charge / 2)]
    assert curator.spent == budget.rho / 2


def test_delta_of_a_gaussian():
    # total variation distance
    assert gaussian_delta(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)))
    assert gaussian_delta(1.0, 1.0) == pytest.approx(0.12693674, rel=1e-6)
