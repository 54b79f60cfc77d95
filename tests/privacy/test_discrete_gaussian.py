"""The noise has the distribution that the privacy argument is about.

Draws come from the operating system, so each statistical assertion has a false-alarm rate; it
stands next to it and is ALARM unless said otherwise. With fewer than 40 of them this file raises a
false alarm in less than one of 10^7 runs.
"""

import math
from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dprap.accounting.stddev import stddev_for
from dprap.errors import BudgetError
from dprap.privacy import discrete_gaussian
from dprap.privacy.discrete_gaussian import OPENDP_CELLS, add_discrete_gaussian, sample_by_table
from dprap.privacy.entropy import InsecureSeededEntropy, OsEntropy

ALARM = 1e-9


def pmf(stddev, reach):
    """P(X = x) for x = −reach … reach, from the definition."""
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-(support**2) / (2 * stddev**2))
    return support, weights / weights.sum()


def draw_by_table(count, stddev):
    return sample_by_table(count, stddev, OsEntropy())


def draw_by_opendp(count, stddev):
    """Vectors that are short enough to go through OpenDP."""
    zeros = np.zeros(OPENDP_CELLS, np.int64)
    return np.concatenate(
        [
            add_discrete_gaussian(zeros, stddev, OsEntropy())
            for _ in range(math.ceil(count / OPENDP_CELLS))
        ]
    )


SAMPLERS = [(draw_by_table, 200_000), (draw_by_opendp, 4 * OPENDP_CELLS)]


@pytest.mark.parametrize("stddev", [3.0, 1e6])
@pytest.mark.parametrize("count", [20, 2 * OPENDP_CELLS])
def test_secure_noise_is_never_rounded_from_continuous_noise(stddev, count, monkeypatch):
    """A noise of σ = 3 is 0 with probability .133, twenty of them below 10^-17."""
    monkeypatch.setattr(discrete_gaussian, "_rough_gaussian", lambda *_: pytest.fail("rounded"))
    assert add_discrete_gaussian(np.zeros(count, np.int64), stddev, OsEntropy()).any()


@pytest.mark.parametrize(("draw", "count"), SAMPLERS)
@pytest.mark.parametrize("stddev", [0.3, 1.0, 2.7, 40.0])
def test_shape(draw, count, stddev):
    """Chi-square against the exact probabilities, cells with fewer than 50 expected draws
    merged.
    """
    draws = draw(count, stddev)
    support, probabilities = pmf(stddev, math.ceil(12 * stddev))
    observed = np.bincount(draws + support[-1], minlength=len(support))
    expected = probabilities * len(draws)
    common = expected >= 50
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    if expected[-1] < 50:  # the merged tails are still rare: join them to a common cell
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    assert len(observed) >= 3
    assert stats.chisquare(observed, expected).pvalue > ALARM


@pytest.mark.parametrize(("draw", "count"), SAMPLERS)
@pytest.mark.parametrize("stddev", [1.0, 25.0])
def test_mean_and_variance(draw, count, stddev):
    """Mean and variance within their normal limits; from σ = 1 the variance of the discrete
    Gaussian is σ² to 1e-7.
    """
    draws = draw(count, stddev)
    limit = stats.norm.isf(ALARM / 2)
    assert abs(draws.mean()) < limit * stddev / math.sqrt(len(draws))
    # Var of the sample variance is about 2σ⁴/n; the normal limit is widened by a quarter for its
    # skewness.
    assert abs(draws.var() / stddev**2 - 1) < 1.25 * limit * math.sqrt(2 / len(draws))


def test_table_agrees_with_opendp():
    """Two-sample Kolmogorov–Smirnov; conservative for discrete draws, so its false-alarm rate is
    below ALARM.
    """
    ours, theirs = draw_by_table(100_000, 30.0), draw_by_opendp(OPENDP_CELLS, 30.0)
    assert stats.ks_2samp(ours, theirs).pvalue > ALARM


@pytest.mark.parametrize("stddev", [0.01, 0.05, 0.3, 1.0, 17.3, 1000.0])
def test_table_holds_the_exact_probabilities(stddev):
    """Entries against exact rational arithmetic: e^(−x²/2σ²) from its series, with 400 bits."""
    cumulative, leading = discrete_gaussian._cumulative_table(stddev)
    bits = 420

    def weight(x):
        return _exp_fixed_point(-Fraction(x * x) / (2 * Fraction(stddev) ** 2), bits)

    reach = math.ceil(16 * stddev)
    steps = range(reach + 1) if reach < 400 else []
    assert len(cumulative) == len(leading) == reach
    assert cumulative == sorted(cumulative)
    assert [value >> 192 for value in cumulative] == leading.tolist()
    if steps:
        weights = [weight(x) * (1 if x == 0 else 2) for x in steps]
        total, running = sum(weights), 0
        for x in range(reach):
            running += weights[x]
            assert abs((running << 256) // total - cumulative[x]) <= 2**20, (
                "off by less than 2^-236"
            )


def _exp_fixed_point(exponent, bits):
    """e^exponent · 2^bits for an exponent ≤ 0, by halving the argument until the series converges
    fast.
    """
    halvings = max(0, (int(-exponent) + 1).bit_length() + 8)
    small = exponent / 2**halvings
    term = total = Fraction(1)
    for k in range(1, 60):
        term = term * small / k
        term = Fraction(int(term * 2 ** (bits + 200)), 2 ** (bits + 200))
        total += term
    scaled = int(total * 2 ** (bits + 150))
    for _ in range(halvings):
        scaled = (scaled * scaled) >> (bits + 150)
    return scaled >> 150


class ScriptedEntropy:
    """Entropy with given leading words and given remaining bits."""

    secure = True

    def __init__(self, words, rest):
        self._words, self._rest, self._first = words, iter(rest), True

    def words(self, count):
        if self._first:
            self._first = False
            return np.array(self._words, dtype=np.uint64)
        return np.full(count, 2**64 - 1, dtype=np.uint64)  # all signs positive

    def below(self, bound):
        value = next(self._rest)
        assert 0 <= value < bound == 1 << 192
        return value


@pytest.mark.parametrize("stddev", [0.02, 0.3, 2.0, 50.0])
def test_ties_in_the_leading_words(stddev):
    """Words that equal a table entry's leading bits are settled by the remaining 192, exactly as
    the full U would.
    """
    cumulative, leading = discrete_gaussian._cumulative_table(stddev)
    words, rest, uniforms = [], [], []
    for entry, lead in zip(cumulative, leading.tolist(), strict=True):
        tail = entry & ((1 << 192) - 1)
        for low in {0, max(tail - 1, 0), tail, min(tail + 1, (1 << 192) - 1), (1 << 192) - 1}:
            words.append(lead)
            rest.append(low)
            uniforms.append((lead << 192) | low)
    drawn = sample_by_table(len(words), stddev, ScriptedEntropy(words, rest))
    assert drawn.tolist() == [bisect_right(cumulative, uniform) for uniform in uniforms]


def test_words_between_entries_need_no_more_bits():
    _, leading = discrete_gaussian._cumulative_table(2.0)
    drawn = sample_by_table(2, 2.0, ScriptedEntropy([0, int(leading[0]) + 1], []))
    assert drawn.tolist() == [0, 1]


def test_signs_are_independent_of_magnitudes():
    """Correlation of sign and magnitude of non-zero draws, normal limit."""
    draws = draw_by_table(200_000, 3.0)
    draws = draws[draws != 0]
    correlation = np.corrcoef(np.sign(draws), np.abs(draws))[0, 1]
    assert abs(correlation) < stats.norm.isf(ALARM / 2) / math.sqrt(len(draws)) * 1.1


def test_draws_are_independent_across_chunks(monkeypatch):
    monkeypatch.setattr(discrete_gaussian, "_CHUNK", 64)
    draws = draw_by_table(64 * 100, 50.0).reshape(100, 64)
    assert len({row.tobytes() for row in draws}) == 100, (
        "a repeated chunk would mean reused entropy"
    )


@pytest.mark.parametrize("l2_squared", [1, 2, 50])
def test_stddev_is_rounded_up(l2_squared):
    generator = np.random.default_rng(5)
    for rho in [*(10.0 ** generator.uniform(-14, 3, 300)), Fraction(1, 3), Fraction(10**9, 7)]:
        stddev = stddev_for(l2_squared, rho)
        assert Fraction(stddev) ** 2 >= Fraction(l2_squared) / (2 * Fraction(rho))
        assert stddev == pytest.approx(math.sqrt(l2_squared / (2 * rho)), rel=1e-14)


@pytest.mark.parametrize("rho", [0, -1.0, float("nan"), Fraction(0), 1e-300, 5e-324])
def test_stddev_needs_a_sensible_rho(rho):
    with pytest.raises(BudgetError):
        stddev_for(2, rho)


@pytest.mark.parametrize("stddev", [0.0, -1.0, float("nan"), float("inf")])
def test_noise_needs_a_positive_scale(stddev):
    with pytest.raises(BudgetError):
        add_discrete_gaussian(np.zeros(3, np.int64), stddev, OsEntropy())


def test_huge_scale_and_tiny_scale():
    """σ of 10^9 goes through OpenDP whatever the length; a σ of 0.01 leaves counts as they are.

    False alarm < 2^-100.
    """
    noisy = add_discrete_gaussian(np.zeros(OPENDP_CELLS + 1, np.int64), 1e9, OsEntropy())
    assert noisy.std() == pytest.approx(1e9, rel=0.2)
    counts = np.arange(10_000)
    assert add_discrete_gaussian(counts, 0.01, OsEntropy()).tolist() == counts.tolist()


def test_counts_are_not_changed_in_place():
    for size in (5, 10_000):
        counts = np.arange(size)
        add_discrete_gaussian(counts, 3.0, OsEntropy())
        assert counts.tolist() == list(range(size))


def test_seeded_noise_repeats_and_is_marked():
    first, second = (
        add_discrete_gaussian(np.zeros(100, np.int64), 5.0, InsecureSeededEntropy(1)).tolist()
        for _ in range(2)
    )
    assert first == second
    assert not InsecureSeededEntropy(1).secure
    assert OsEntropy().secure


@pytest.mark.parametrize("bound", [1, 2, 3, 2**64, 2**64 + 1, 3**200])
def test_seeded_integers_stay_below_their_bound(bound):
    entropy = InsecureSeededEntropy(0)
    assert all(0 <= entropy.below(bound) < bound for _ in range(50))
