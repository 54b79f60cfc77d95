"""Discrete Gaussian noise of σ ≥ 1 costs at most a Gaussian shift of μ² = (1 + 1/10σ²)/σ²: the
computed part of the proof.
"""

import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx
from tests.privacy import discrete_gaussian_proof as proof

CONSTANT = Fraction(1, 10)
TOO_SMALL = Fraction(1, 13)  # the steps in the middle of a fine discrete Gaussian need 1/12


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(100):
        yield


def test_the_middle_step():
    """(A): √(1 + x/10)·(1 − x(1 + x/10)/24) ≥ 1 for x ≤ 1, by a polynomial below it whose terms
    after the first are bounded.
    """
    first = Fraction(1, 20) - Fraction(1, 24)
    second = Fraction(1, 800) + Fraction(1, 480) + Fraction(1, 240)
    third = Fraction(1, 4800) - Fraction(1, 19200)
    assert first - second - third > 0


@pytest.mark.slow
def test_the_tail():
    assert proof.prove_tail(CONSTANT) < 3000


def test_the_start_for_fine_noise():
    proof.prove_small_start(CONSTANT)


def test_the_start_for_coarse_noise():
    assert proof.prove_large_start(CONSTANT) < 300


@pytest.mark.parametrize(
    "part", [proof.prove_tail, proof.prove_small_start, proof.prove_large_start]
)
def test_a_smaller_constant_is_not_proven(part):
    with pytest.raises(ArithmeticError, match="not proven"):
        part(TOO_SMALL)


def test_a_smaller_constant_is_refuted():
    """Not only not proven: at small c and x the first condition is negative."""
    small = (Fraction(1, 1000), Fraction(1, 999))
    assert proof.box_conditions(proof.Box(small, small), TOO_SMALL)[0] < 0
    assert proof.box_conditions(proof.Box(small, small), CONSTANT)[0] > 0


@pytest.mark.parametrize(
    ("c", "x"),
    [(0.02, 0.02), (0.4, 0.25), (1.0, 0.2), (2.9, 0.25), (0.75, 0.25), (3.0, 1.0), (9, 1)],
)
def test_both_ways_to_sum_contain_the_sum(c, x):
    """S to S‴ by 40-digit summation lie in the balls of a small box around (c, x), by either
    formula where it is used.
    """
    c, x = Fraction(c), Fraction(x)
    tiny = Fraction(1, 2**20)
    box = proof.Box((c, c + tiny), (x / c, x / c + tiny / c))
    balls = [proof.direct_sums(box)] if c >= Fraction(1, 4) else []
    if c <= 3 and x <= Fraction(1, 4):
        smooth = proof.smooth_sums(proof.ball(box.c), proof.ball(box.c) * proof.ball(box.w))
        step = next(
            step for step in zip(proof._C_EDGES, proof._C_EDGES[1:], strict=False) if c <= step[1]
        )
        errors = proof.remainders(step, min(step[1], Fraction(1, 4)))
        balls.append(
            [value + proof.within(error) for value, error in zip(smooth, errors, strict=True)]
        )
    with mpmath.workdps(40):
        exact_c, exact_x = (mpmath.mpf(value.numerator) / value.denominator for value in (c, x))
        for order in range(4):
            terms = (_term(exact_c, exact_x, order, k) for k in range(math.ceil(100 / c) + 20))
            exact = arb(mpmath.nstr(mpmath.fsum(terms), 35), 1e-25)
            for found in balls:
                assert found[order].overlaps(exact)
                assert found[order].rad() < 1e-2


def _term(c, x, order, k):
    slope = order * mpmath.mpf(-k) ** (order - 1) if order and (k or order == 1) else 0
    return (mpmath.mpf(-k) ** order * (c + k * x) + slope) * mpmath.exp(-c * k - x * k * k / 2)
