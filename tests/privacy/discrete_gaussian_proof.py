"""The computed part of the lemma on discrete Gaussian noise, in ball arithmetic
(docs/exact-accounting.md, section 4).

Every number is a ball that contains the true value, so an inequality between balls is a proof. Ends
of intervals are exact fractions. Names follow the page: x = 1/σ², t is a place in the upper tail, c
= t·x, w = 1/t, so x = w·c, and

    S(c) = Σ_k (c + kx)·exp(−ck − xk²/2),   λ = log S, with derivatives in c at fixed x.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

from flint import arb, arb_series, fmpq, fmpq_poly

Interval = tuple[Fraction, Fraction]
Sums = list[arb]  # S, S', S'', S‴

# Up to this c and x, S is taken from the Euler–Maclaurin formula; beyond, from its first terms.
_SMOOTH_C, _SMOOTH_X = 3, Fraction(1, 4)
# Above this c, S is so near its first term that one box covers all of it.
_FAR_C = 30
# Euler–Maclaurin terms: enough to make what they leave out less than 10⁻³ there, third derivative
# included.
_TERMS = 24
# Order of Taylor's formula on a box.
_TAYLOR = 3
# Edges in c of the first boxes; the remainder of the formula is computed once for each step.
_C_EDGES = [
    Fraction(c)
    for c in ("0", "1/20", "1/8", *(f"{step}/4" for step in range(1, 13)), 4, 6, 9, 14, 20, 30)
]
# A box that is still undecided at this width is reported as a failure.
_LEAST_WIDTH = Fraction(1, 2**12)


def fraction(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def ball(interval: Interval) -> arb:
    """A ball that contains an interval."""
    return arb(fraction(interval[0])).union(arb(fraction(interval[1])))


def within(bound: arb) -> arb:
    """Zero, up to a bound."""
    return arb(0, bound.upper())


def power(base: arb, exponent: int) -> arb:
    """A whole power, also of a ball that contains 0, for which ** takes a logarithm and says
    nothing.
    """
    return math.prod([base] * exponent, start=arb(1))


# (C): h > 0, h' > 0 and h''/h' + h(1 − h'/μ²) > 0, written with λ.


def conditions(w: arb, x: arb, sums: Sums, constant: Fraction) -> list[arb]:
    """The three expressions that must be positive, from S, S', S'', S‴ or from the same multiple of
    all four.
    """
    s0, s1, s2, s3 = sums
    first = s1 / s0
    second = s2 / s0 - first * first
    third = s3 / s0 - 3 * (s2 / s0) * first + 2 * first * first * first
    kappa = arb(fraction(constant))
    rising, steep = 1 - w * first, 1 - x * second
    return [rising * (kappa + second) * steep - w * third * (1 + kappa * x), rising, steep]


def hermite(c: arb, x: arb, degree: int) -> list[arb]:
    """He_n(c; x) = E(c + i√x·N)ⁿ for n = 0 … degree."""
    values = [c * 0 + 1, c]
    for n in range(1, degree):
        values.append(c * values[n] - n * x * values[n - 1])
    return values


def coefficient(j: int) -> fmpq:
    """The factor of He_2j in Euler and Maclaurin's formula."""
    return fmpq.bernoulli(2 * j) / math.factorial(2 * j)


def smooth_sums(c: arb, x: arb) -> Sums:
    """S = 1 + c/2 + Σ_j B_2j/(2j)!·He_2j(c; x), and derivatives by He_n' = n·He_{n−1}; without the
    remainder.
    """
    values = hermite(c, x, 2 * _TERMS)
    sums = [1 + c / 2, arb(1) / 2, arb(0), arb(0)]
    for j in range(1, _TERMS + 1):
        n = 2 * j
        for order in range(min(n, 3) + 1):
            sums[order] = (
                sums[order] + arb(coefficient(j) * math.perm(n, order)) * values[n - order]
            )
    return sums


@lru_cache
def remainders(c: Interval, largest_x: Fraction) -> list[arb]:
    """Bounds of the remainder of S and its derivatives to the third for all c of an interval that
    starts above 0, and all x ≤ largest_x.

    They are |B_2P|/(2P)! · ∫ |dⁿ/dkⁿ (kⁱ·E)| dk with n = 2P + 1 and E = exp(−ck − xk²/2).
    """
    if c[0] == 0:
        # In terms of c and w = x/c ≤ 1 the bound is a sum of terms c^p·w^q with p ≥ 0 and q ≥ 0:
        # largest at c = x, at the end.
        return remainders((c[1], c[1]), c[1])
    low, high, x = (arb(fraction(value)) for value in (*c, largest_x))
    n = 2 * _TERMS + 1
    # kⁱ ≤ i!·exp(θck)/(θc)ⁱ: a tenth of the decay pays for the powers of k.
    theta = arb(1) / 10
    slow = (1 - theta) * high
    # moments[q] bounds ∫ (slow + xk)^q·exp(−slow·k − xk²/2) dk: integration by parts leads from q −
    # 2 to q.
    moments = [1 / ((1 - theta) * low), arb(1)]
    for q in range(2, n + 1):
        moments.append(slow ** (q - 1) + (q - 1) * x * moments[q - 2])

    def integral(degree: int, power: int) -> arb:
        """A bound of ∫ k^power·|E^(degree)| dk, from |He_n(u; x)| ≤ Σ_j
        n!/(j!(n−2j)!2ʲ)·xʲ·u^(n−2j).
        """
        total = arb(0)
        for j in range(degree // 2 + 1):
            rest = degree - 2 * j
            ways = math.factorial(degree) // (math.factorial(j) * math.factorial(rest) * 2**j)
            total += ways * x**j * moments[rest] / (1 - theta) ** rest
        return total * math.factorial(power) / (theta * low) ** power

    factor = abs(arb(coefficient(_TERMS)))
    return [
        factor
        * sum(
            (math.comb(n, m) * math.perm(i, m) * integral(n - m, i - m) for m in range(i + 1)),
            arb(0),
        )
        for i in range(4)
    ]


def derivatives(c: arb, x: arb, *, orders: int, terms: int, left_out: arb) -> list[arb]:
    """S, S', S'', …: the n-th derivative has the terms ((−k)ⁿ·(c + kx) + n·(−k)^(n−1))·exp(−ck −
    xk²/2).
    """
    sums = [c, arb(1), *(arb(0) for _ in range(2, orders))]
    for k in range(1, terms):
        weight = (-(c * k) - x * (arb(k * k) / 2)).exp()
        b = (c + k * x) * weight
        for n in range(orders):
            sums[n] += (-k) ** n * b + (n * (-k) ** (n - 1) * weight if n else 0)
    return [value + left_out for value in sums]


def tail(c: Interval, largest_x: Fraction, orders: int, terms: int) -> arb:
    """A bound of what the first terms leave out: each later one is at most n·(1 + c + x)·(k + 1)^(n
    + 1)·exp(−ck).
    """
    low, high = arb(fraction(c[0])), arb(fraction(c[1]))
    ratio = (-low).exp() * (arb(terms + 2) / (terms + 1)) ** orders
    assert ratio < 1
    first = (
        orders
        * (1 + high + arb(fraction(largest_x)))
        * arb(terms + 1) ** orders
        * (-low * terms).exp()
    )
    return first / (1 - ratio)


def direct_sums(box: Box) -> Sums:
    """S to S‴ on a box, by Taylor's formula around its middle; slopes in x are those in c, as ∂S/∂x
    = −S''/2.
    """
    x = tuple(map(operator.mul, box.c, box.w))
    orders = 4 + 2 * _TAYLOR
    terms = math.ceil(80 / box.c[0]) + 8
    left_out = within(tail(box.c, x[1], orders, terms))
    compute = partial(derivatives, orders=orders, terms=terms, left_out=left_out)
    middle = compute(*(arb(fraction(sum(ends) / 2)) for ends in (box.c, x)))
    whole = compute(ball(box.c), ball(x))
    half_c, half_x = (within(arb(fraction((high - low) / 2))) for low, high in (box.c, x))
    sums = []
    for order in range(4):
        total = arb(0)
        for i, j in itertools.product(range(_TAYLOR + 1), repeat=2):
            if i + j <= _TAYLOR:
                derivative = (whole if i + j == _TAYLOR else middle)[order + i + 2 * j]
                total += (
                    derivative
                    * power(half_c, i)
                    * power(-half_x / 2, j)
                    / (math.factorial(i) * math.factorial(j))
                )
        sums.append(total)
    return sums


def box_conditions(box: Box, constant: Fraction) -> list[arb]:
    """The conditions on a box."""
    c, w = ball(box.c), ball(box.w)
    if box.c[1] > _SMOOTH_C or box.c[1] * box.w[1] > _SMOOTH_X:
        return conditions(w, w * c, direct_sums(box), constant)
    step = next(step for step in itertools.pairwise(_C_EDGES) if box.c[1] <= step[1])
    errors = remainders(step, min(step[1], _SMOOTH_X))
    sums = [
        value + within(error) for value, error in zip(smooth_sums(c, w * c), errors, strict=True)
    ]
    return conditions(w, w * c, sums, constant)


def far_conditions(constant: Fraction) -> list[arb]:
    """For all c ≥ 30 and x ≤ 1: S/c and S' are 1, S'' and S‴ are 0, up to 10⁻⁸, since c·exp(−c)
    falls there.
    """
    tiny = arb(0, "1e-8")
    inverse = ball((Fraction(0), Fraction(1, _FAR_C)))  # 1/c, and w = x/c as well
    sums = [1 + tiny, inverse * (1 + tiny), inverse * tiny, inverse * tiny]  # divided by c
    return conditions(inverse, ball((Fraction(0), Fraction(1))), sums, constant)


@dataclass(frozen=True)
class Box:
    """A rectangle of (c, w)."""

    c: Interval
    w: Interval

    def needed(self) -> bool:
        """Whether it meets the region: t ≥ 1 where x ≤ 1/4, and t ≥ 3 where x ≤ 1."""
        least_x = self.c[0] * self.w[0]
        return least_x <= (Fraction(1, 4) if self.w[0] >= Fraction(1, 3) else 1)

    def proven(self, constant: Fraction) -> bool:
        try:
            return all(value > 0 for value in box_conditions(self, constant))
        # the ball of S is so wide that it contains 0: nothing is decided
        except (ValueError, ZeroDivisionError):
            return False

    def halves(self) -> list[Box]:
        (c0, c1), (w0, w1) = self.c, self.w
        if 5 * (c1 - c0) / (c1 + 1) > w1 - w0:
            middle = (c0 + c1) / 2
            return [Box((c0, middle), self.w), Box((middle, c1), self.w)]
        middle = (w0 + w1) / 2
        return [Box(self.c, (w0, middle)), Box(self.c, (middle, w1))]


def prove_tail(constant: Fraction) -> int:
    """Prove (C) on the whole region; the number of boxes it took.

    Raises ArithmeticError where it cannot.
    """
    if not all(value > 0 for value in far_conditions(constant)):
        raise ArithmeticError(f"not proven for c ≥ {_FAR_C}.")
    # The line w = 1/3 is an edge, since the region changes there.
    w_edges = [Fraction(step, 6) for step in (0, 1, 2, 4, 6)]
    waiting = [Box(c, w) for c in itertools.pairwise(_C_EDGES) for w in itertools.pairwise(w_edges)]
    boxes = 0
    while waiting:
        box = waiting.pop()
        if not box.needed():
            continue
        boxes += 1
        if box.proven(constant):
            continue
        if max(box.c[1] - box.c[0], box.w[1] - box.w[0]) < _LEAST_WIDTH:
            raise ArithmeticError(f"not proven at c in {box.c}, w in {box.w}.")
        waiting += box.halves()
    return boxes


# (B): z(t) > h(t)/μ where the chain of the argument starts, t = 1 for x ≤ 1/4 and t = 3 for x in
# [1/4, 1].


def prove_small_start(constant: Fraction, boxes: int = 50) -> None:
    """Prove (B) at t = 1 for all x in (0, 1/4], with a factor √x and the constant terms divided
    out.

    At c = x, w = 1 let 1 − λ' = (1 + xG)/2 and A = (1 − λ')²/(1 + κx), so that (h/μ)² = xA. Φ(ζ) −
    1/2 is less than the first three terms of its series and p₀ is √(x/2π)/(1 + 2e^(−2π²/x) + …), so
    (B) follows from

        G − A/6 + x(A²/40 − GA/6) + x²GA²/40 < κ/2 − xκ²/8 − 10⁻³⁰.
    """
    smooth_value, smooth_slope = _sums_where_c_is_x()
    # S − 2S' vanishes at x = 0, so that G = (S − 2S')/(xS) is found without dividing by a ball that
    # contains 0.
    difference = smooth_value - 2 * smooth_slope
    assert difference[0] == 0
    quotient = fmpq_poly(difference.coeffs()[1:])
    end = Fraction(1, 4)
    # The bound of the remainder is a sum of powers of x of at least 1, so that divided by x it is
    # largest at the end.
    value_error, slope_error, *_ = remainders((end, end), end)
    kappa = arb(fraction(constant))
    for low, high in itertools.pairwise(end * step / boxes for step in range(boxes + 1)):
        x = ball((low, high))
        s = evaluate(smooth_value, x) + within(value_error)
        slope = evaluate(smooth_slope, x) + within(slope_error)
        g = (evaluate(quotient, x) + within((value_error + 2 * slope_error) / fraction(end))) / s
        a = power(1 - slope / s, 2) / (1 + kappa * x)
        left = g - a / 6 + x * (a * a / 40 - g * a / 6) + x * x * g * a * a / 40
        if not left < kappa / 2 - x * kappa * kappa / 8 - arb("1e-30"):
            raise ArithmeticError(f"the start at t = 1 is not proven for x in ({low}, {high}).")


def _sums_where_c_is_x() -> tuple[fmpq_poly, fmpq_poly]:
    """S and S' by Euler and Maclaurin's formula at c = x, as polynomials in x."""
    x = fmpq_poly([0, 1])
    values = [fmpq_poly([1]), x]
    for n in range(1, 2 * _TERMS):
        values.append(x * values[n] - n * x * values[n - 1])
    value, slope = 1 + x * fmpq(1, 2), fmpq_poly([fmpq(1, 2)])
    for j in range(1, _TERMS + 1):
        value += coefficient(j) * values[2 * j]
        slope += coefficient(j) * 2 * j * values[2 * j - 1]
    return value, slope


def evaluate(polynomial: fmpq_poly, x: arb) -> arb:
    value = arb(0)
    for factor in reversed(polynomial.coeffs()):
        value = value * x + arb(factor)
    return value


def prove_large_start(constant: Fraction) -> int:
    """Prove, for all x in [1/4, 1], the steps z₂ − z₁ and z₃ − z₂ to be less than μ, and (B) at t =
    3.
    """
    waiting = list(itertools.pairwise(Fraction(step, 64) for step in range(16, 65)))
    intervals = 0
    while waiting:
        low, high = waiting.pop()
        intervals += 1
        if _large_start((low, high), constant):
            continue
        if high - low < _LEAST_WIDTH:
            raise ArithmeticError(f"the start at t = 3 is not proven for x in ({low}, {high}).")
        middle = (low + high) / 2
        waiting += [(low, middle), (middle, high)]
    return intervals


def _large_start(interval: Interval, constant: Fraction) -> bool:
    """By the mean value theorem: the value in the middle, plus the slope on the whole interval
    times half its width.
    """
    low, high = interval
    middle = large_start_gaps(arb_series([arb(fraction((low + high) / 2)), 1], prec=2), constant)
    whole = large_start_gaps(arb_series([ball(interval), 1], prec=2), constant)
    half = within(arb(fraction((high - low) / 2)))
    return all(value[0] + slope[1] * half > 0 for value, slope in zip(middle, whole, strict=True))


def large_start_gaps(x: arb_series, constant: Fraction) -> list[arb_series]:
    """What must be positive, as value and slope in x.

    What is left out of sums is a fixed number at each x, hence without slope.
    """
    weights = [(-x * (arb(k * k) / 2)).exp() for k in range(40)]
    # Beyond the 40th, e^(−k²/8) is less than e^(−5k): all of it is less than e^(−199).
    beyond = [sum(weights[m:], within(arb(-199).exp())) for m in (1, 2, 3)]
    z1, z2, z3 = (upper_quantile(weight / (1 + 2 * beyond[0])) for weight in beyond)
    mu = (x * (1 + arb(fraction(constant)) * x)).sqrt()
    terms = 100
    left_out = within(tail((Fraction(3, 4), Fraction(3)), Fraction(1), 2, terms))
    s, slope = derivatives(3 * x, x, orders=2, terms=terms, left_out=left_out)
    h = 3 * x - x * slope / s
    return [mu - (z2 - z1), mu - (z3 - z2), z3 - h / mu]


def upper_quantile(probability: arb_series) -> arb_series:
    """z with P(N ≥ z) = probability, and its slope: −probability'/φ(z)."""
    z = (2 * probability[0]).erfcinv() * arb(2).sqrt()
    density = (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
    return arb_series([z, -probability[1] / density], prec=2)
