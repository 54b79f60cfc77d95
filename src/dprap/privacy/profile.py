"""The (ε, δ) of a whole run from its privacy loss, where zCDP's conversion gives a tenth of the budget away.

A run is discrete Gaussian measurements and exponential-mechanism picks, each chosen in the light of the results before it. Write
v for variance of the privacy loss: a continuous Gaussian measurement that costs ρ in zCDP has a loss of variance v = 2ρ, and

    δ(v, ε) = Φ(√v/2 − ε/√v) − e^ε · Φ(−√v/2 − ε/√v)

is its exact δ (Balle and Wang 2018). **Claim.** If the charges of a run, in the units below, add up to at most v/2 less a reserve
v₀/2 that is never spent, the run is (ε, δ(v, ε))-differentially private.

**Argument.** Take two neighbours in either order, let L be the log-ratio of the probabilities of all results so far, the first neighbour's over the second's, and s what
was charged for them, times 2. M = δ(v − s, ε − L) starts at δ(v, ε). If no step raises its expectation under the first neighbour, its final value has at most that
expectation; and that value is at least (1 − e^(ε−L))₊, whose expectation is the δ of the run, since δ(u, x) ≥ (1 − e^x)₊ for all u. What a step
costs may depend on earlier results: v − s is known before it is taken. It remains that one step with loss ℓ and cost w has
E δ(u, x − ℓ) ≤ δ(u + w, x) for every x and every u ≥ v₀. It suffices to show it for u = v₀, since δ(u, ·) is a mixture of shifts of δ(v₀, ·).

*Continuous Gaussian noise*, w = 2ρ: equality, for a shift of the largest size; smaller ones cost less.

*Discrete Gaussian noise.* A coordinate shifted by j is an experiment on the integers. Its trade-off curve is made of chords between the tails P(X ≥ m), so it lies above the convex
curve of a Gaussian shift μ if the corners do: Φ̄⁻¹(P(X ≥ m)) − Φ̄⁻¹(P(X ≥ m − j)) ≤ μ for all m. Then the Gaussian can be turned into it, and costs no less
in any composition (Blackwell). The steps for j = 1 are largest in the middle, where μ² = (1 + 1/12σ² + …)/σ², and shrink towards the tails, so
μ² = j²(1 + 1/10σ²)/σ² is enough for σ ≥ 2 (by computation, see the tests). Coordinates add up. As 1/σ² ≤ 2ρ, a run of ρ in all costs at most ρ(1 + ρ/5), and σ ≥ 2 if ρ ≤ 1/8.

*A pick* with bounded range 2a (a = ηΔ) costs ρ = a²/2 in zCDP. Its worst loss takes two values, t and t − 2a, by convexity of δ in e^x. Let
k(u, x) = e^(−x/2) δ(u, x). It solves k'' = k/4 + e^(−u/8) g_u and ∂k/∂u = e^(−u/8) g_u/2, with g_u the density of N(0, u). So the step adds
∫ K(y) e^(−v₀/8) g_{v₀}(x + y) dy to k, where K is a tent over [−t, 2a − t] with its top at 0, while a cost of w pays for ∫₀ʷ e^(−(v₀+s)/8) g_{v₀+s}(x) ds/2.
For t = a both are even in x; divided by g_{v₀} and expanded in x², every term of the tent but the first is below two thirds of the
payment's if r = a²/v₀ ≤ ½, so the payment suffices if it does at x = 0. There, w = a²(1 + r/6) is enough; other t make the tent smaller by
more than they lean it. For large r, w = a²·π/2 is enough: what a single pick costs as a Gaussian. The last three sentences are not proven
on paper for all r and t: tests compute the inequality itself on a grid of (r, v₀, x, t), and it is tight only as r → 0 at x = 0, t = a.

The reserve is a fiftieth of v, so a pick with charge c is given the zCDP ρ that solves c = ρ + ρ²/6R, R being the reserve in
units of ρ, or 2c/π if that is more. Every charge covers its zCDP cost too, so ledgers may add charges of all kinds of accounting; but what is written here holds for
the plan of one run, whose reserve its picks were priced with. A sum of charges, or a part of a plan, becomes (ε, δ) by zCDP's conversion only.

>>> round(exact_rho(1.0, 48842**-2), 5)
0.01537
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

LARGEST_RHO = 0.125
"""Beyond it the noise may be too coarse for the profile of a Gaussian; zCDP's conversion is used."""

_RESERVE = 0.02
_COARSENESS = 0.2
_SLACK = 1e-6  # of δ: for the roundings of ρ, variance and ε
_ULPS = 4e-16


def gaussian_delta(variance: float, epsilon: float) -> float:
    """δ at ε of a Gaussian mechanism whose privacy loss has this variance, rounded up; an upper bound beyond ε = 700.

    The two terms nearly cancel where ε is small, so the error of each counts: a few units in the last place, times how steeply Φ falls there.
    """
    root = math.sqrt(variance)
    above = _normal_cdf(root / 2 - epsilon / root)
    if epsilon > 700:
        return above
    below = math.exp(epsilon) * _normal_cdf(-root / 2 - epsilon / root)
    return above - below + above * _ULPS * ((epsilon / root) ** 2 + variance / 4 + epsilon + 8)


def exact_rho(epsilon: float, delta: float) -> float:
    """The sum of charges that (ε, δ) allows, up to `LARGEST_RHO`; cut to 40 bits, so that another machine finds the same."""

    def kept(log_rho: float) -> bool:
        rho = math.exp(log_rho)
        variance = 2 * rho * (1 + _COARSENESS * rho) / (1 - _RESERVE)
        return gaussian_delta(variance, epsilon) <= delta * (1 - _SLACK)

    if kept(math.log(LARGEST_RHO)):
        return LARGEST_RHO
    least = -700.0
    mantissa, exponent = math.frexp(math.exp(_last(kept, least, math.log(LARGEST_RHO))))
    return math.ldexp(math.floor(mantissa * 2**40), exponent - 40) if kept(least) else 0.0


def exact_epsilon(rho: float, delta: float) -> float:
    """The smallest ε that allows charges of ρ in all, at most `LARGEST_RHO`."""

    def allowed(epsilon: float) -> bool:
        return exact_rho(epsilon, delta) >= rho

    if allowed(0.0):
        return 0.0
    largest = 1.0
    while not allowed(largest):
        largest *= 2
    return -_last(lambda negative: allowed(-negative), -largest, 0.0)


def pick_rho(charge: Fraction, budget_rho: Fraction) -> Fraction:
    """The zCDP cost that a pick may have for a charge, in a run whose charges may add up to `budget_rho`."""
    reserve = float(budget_rho) * _RESERVE / (1 - _RESERVE)
    ratio = float(charge) / reserve
    # The root of c = ρ + ρ²/6R as a share of c, without cancellation at small c/R; rounded down.
    share = max(2 / (1 + math.sqrt(1 + 2 * ratio / 3)), 2 / math.pi)
    return charge * Fraction(share * (1 - 1e-12))


def _normal_cdf(value: float) -> float:
    # Not NormalDist().cdf, whose 1 + erf has no digits left in the lower tail.
    return math.erfc(-value / math.sqrt(2)) / 2


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number in [low, high] up to which a condition holds, on its safe side."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
