"""The (ε, δ) of a whole run from its privacy loss, where zCDP's conversion gives a tenth of the
budget away.

docs/exact-accounting.md has the proofs; numbers in brackets are its lemmas. A run is discrete
Gaussian measurements and exponential-mechanism picks, each chosen in the light of the results
before it. Let v be the variance of the privacy loss. A continuous Gaussian measurement that costs ρ
in zCDP has v = 2ρ, and its exact δ (Balle and Wang 2018) is

    δ(v, ε) = Φ(√v/2 − ε/√v) − e^ε · Φ(−√v/2 − ε/√v).

**Claim.** Let the costs of a run's steps, in the units below, add up to at most v − v₀, where the
reserve v₀ is never spent. Then the run is (ε, δ(v, ε))-differentially private.

**Argument.** Take two neighbours in either order. Let L be the privacy loss of all results so far,
and s their cost. The potential δ(v − s, ε − L) starts at δ(v, ε), and its expectation never rises
if each step with loss ℓ and cost w has

    E δ(v₀, x − ℓ) ≤ δ(v₀ + w, x)   for every x.

At the end the potential is at least (1 − e^(ε−L))₊, whose expectation is the δ of the run [1].

* *Discrete Gaussian noise* of σ ≥ 1 whose zCDP cost is ρ needs w = 2ρ(1 + 1/10σ²), because a
  Gaussian of that cost can be turned into it [6, 7]. As 1/σ² ≤ 2ρ, measurements with charges of ρ
  in all cost at most 2ρ(1 + ρ/5), and σ ≥ 1 as long as ρ ≤ 1/2.
* *A pick* with zCDP cost ρ = a²/2 has a loss within an interval of length 2a. It needs w = a²(1 +
  a²/4v₀) [4], and never more than a²·π/2 [5].

A charge is half of a cost. The reserve is a fiftieth of v: more makes picks cheaper and
measurements dearer. So a pick with charge c is given the zCDP cost ρ that solves c = ρ + ρ²/4R,
where R is the reserve in units of ρ, or 2c/π if that is more. Every charge covers its zCDP cost
too, so ledgers may add charges of all kinds of accounting. But what is written here holds for the
plan of one run, with whose reserve its picks were priced. A sum of charges, or a part of a plan,
becomes (ε, δ) by zCDP's conversion only.

>>> round(exact_rho(1.0, 48842**-2), 5)
0.01537
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

LARGEST_RHO = 0.5
"""Up to this ρ every measurement has σ ≥ 1, for which the cost of discrete noise is proven."""

# The share of v that is never spent. Picks are charged by it, and measurements pay for it.
_RESERVE = 0.02
# Discrete noise costs 1 + 1/10σ² times what continuous noise does, and 1/σ² is at most 2ρ.
_COARSENESS = 0.2
# This share of δ pays for the roundings of ρ, variance and ε.
_SLACK = 1e-6
# A relative error that a term of δ may have, in a few units in the last place.
_ULPS = 4e-16


def gaussian_delta(variance: float, epsilon: float) -> float:
    """δ at ε of a Gaussian mechanism whose privacy loss has this variance, rounded up; an upper
    bound beyond ε = 700.

    The two terms nearly cancel where ε is small, so the error of each counts: a few units in the
    last place, times how steeply Φ falls there.
    """
    root = math.sqrt(variance)
    above = _normal_cdf(root / 2 - epsilon / root)
    if epsilon > 700:
        return above
    below = math.exp(epsilon) * _normal_cdf(-root / 2 - epsilon / root)
    return above - below + above * _ULPS * ((epsilon / root) ** 2 + variance / 4 + epsilon + 8)


def exact_rho(epsilon: float, delta: float) -> float:
    """The sum of charges that (ε, δ) allows, up to `LARGEST_RHO`; cut to 40 bits, so that another
    machine finds the same.
    """

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
    """The zCDP cost that a pick may have for a charge, in a run whose charges may add up to
    `budget_rho`.
    """
    reserve = float(budget_rho) * _RESERVE / (1 - _RESERVE)
    ratio = float(charge) / reserve
    # The root of c = ρ + ρ²/4R as a share of c, without cancellation at small c/R; rounded down.
    share = max(2 / (1 + math.sqrt(1 + ratio)), 2 / math.pi)
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
