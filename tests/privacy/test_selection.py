"""Picks follow the exponential mechanism exactly.

False-alarm rate of each statistical assertion: ALARM.
"""

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dprap.errors import BudgetError, SettingsError
from dprap.privacy.entropy import InsecureSeededEntropy, OsEntropy
from dprap.privacy.selection import (
    _bounds,
    _factors,
    _level_weights,
    _weight,
    inverse_temperature,
    pick_in_turn,
    pick_top,
)

ALARM = 1e-9


def successive_picks(scores, k, eta):
    """Probability of every ordered outcome of k exponential-mechanism picks without replacement."""
    weights = {index: math.exp(eta * (score - max(scores))) for index, score in enumerate(scores)}
    outcomes = {}
    for order in itertools.permutations(range(len(scores)), k):
        probability, left = 1.0, sum(weights.values())
        for index in order:
            probability *= weights[index] / left
            left -= weights[index]
        outcomes[order] = probability
    return outcomes


def check_frequencies(observed, expected, draws):
    """Chi-square test; outcomes with fewer than 50 expected draws are merged."""
    assert sum(expected.values()) == pytest.approx(1)
    assert set(observed) <= set(expected)
    common = [key for key, probability in expected.items() if probability * draws >= 50]
    seen = [observed[key] for key in common]
    hoped = [expected[key] * draws for key in common]
    if len(common) < len(expected):
        rest = draws - sum(hoped)
        seen.append(draws - sum(seen))
        hoped.append(rest)
        if rest < 50:  # join the rare rest to the last common outcome
            seen[-2:], hoped[-2:] = [seen[-2] + seen[-1]], [hoped[-2] + hoped[-1]]
    assert stats.chisquare(seen, np.array(hoped) * sum(seen) / sum(hoped)).pvalue > ALARM


CASES = [
    ([0, 0, 0], 1, 0.7),
    ([5, 3, 3, 0], 1, 0.5),
    ([5, 3, 3, 0], 2, 0.5),
    ([1, 1, 2, 7], 3, 0.3),
    ([4, 2, 0], 3, 0.4),
    pytest.param([10**12, 10**12 - 1, 0], 1, 1.0, marks=pytest.mark.slow),
    ([-3, -1, -7], 2, 0.25),
]


@pytest.mark.parametrize(("scores", "k", "eta"), CASES)
def test_picks_follow_the_exponential_mechanism(scores, k, eta):
    draws = 2_500
    entropy = OsEntropy()
    array = np.array(scores, dtype=np.int64)
    observed = Counter(tuple(pick_top(array, k=k, eta=eta, entropy=entropy)) for _ in range(draws))
    check_frequencies(observed, successive_picks(scores, k, eta), draws)


def test_picks_agree_with_gumbel_noise():
    """One-shot top-k of Gumbel-noised scores has the same distribution (two-sample chi-square)."""
    scores, k, eta, draws = np.array([3, 1, 0, 2]), 2, 0.3, 2_500
    generator = np.random.default_rng(0)
    noisy = eta * scores + generator.gumbel(size=(draws, 4))
    gumbel = Counter(map(tuple, np.argsort(-noisy, axis=1)[:, :k].tolist()))
    ours = Counter(tuple(pick_top(scores, k=k, eta=eta, entropy=OsEntropy())) for _ in range(draws))
    keys = sorted(gumbel | ours)
    table = [[gumbel[key] for key in keys], [ours[key] for key in keys]]
    # the rarest outcome is expected 90 times: fewer than 20 with a probability below 1e-17
    assert min(map(min, table)) >= 20
    assert stats.chi2_contingency(table).pvalue > ALARM


@pytest.mark.parametrize("spread", [3, 5_000_000])
def test_excluded_candidates_are_as_if_they_were_not_there(spread, monkeypatch):
    # counted in several parts, and with levels that lose all their candidates
    monkeypatch.setattr("dprap.privacy.selection._COUNTED_TOGETHER", 7)
    scores = np.random.default_rng(0).integers(-spread, spread, 40)
    kept_scores = scores.copy()
    excluded = [3, 3, *np.flatnonzero(scores == scores.max()).tolist(), 17]
    others = np.setdiff1d(np.arange(40), excluded)
    for seed in range(20):
        among_all = pick_top(
            scores, k=9, eta=0.1, entropy=InsecureSeededEntropy(seed), excluded=excluded
        )
        alone = pick_top(scores[others], k=9, eta=0.1, entropy=InsecureSeededEntropy(seed))
        assert among_all == others[alone].tolist()
        assert len(set(among_all)) == 9
    assert (scores == kept_scores).all()


def test_excluded_candidates_are_never_picked():
    scores = np.array([9, 9, 1, 0], dtype=np.int64)
    draws = 3_000
    observed = Counter(
        tuple(pick_top(scores, k=1, eta=0.8, entropy=OsEntropy(), excluded=[0, 1, 1]))
        for _ in range(draws)
    )
    expected = {(index + 2,): value for (index,), value in successive_picks([1, 0], 1, 0.8).items()}
    check_frequencies(observed, expected, draws)
    assert scores.tolist() == [9, 9, 1, 0], "scores are left as they were"


def test_all_candidates_can_be_picked():
    scores = np.array([0, 10**9, 0, 5, 10**9], dtype=np.int64)
    assert sorted(pick_top(scores, k=5, eta=3.0, entropy=OsEntropy())) == [0, 1, 2, 3, 4]


def test_far_lower_levels_are_reached_once_the_top_is_taken():
    """Levels whose weight underflows beside the top regain their precision: 2 before 0 with odds
    e^(2·0.5).
    """
    scores = np.array([0, 2, 10**7], dtype=np.int64)
    draws = 2_000
    second = Counter(
        (pick_top(scores, k=2, eta=0.5, entropy=OsEntropy())[1],) for _ in range(draws)
    )
    check_frequencies(second, {(1,): 1 / (1 + math.exp(-1)), (0,): 1 / (1 + math.e)}, draws)


def test_weights_are_exact():
    """Fixed-point weights against rational arithmetic: relative to the top they are off by less
    than 2^-300.
    """
    levels, eta = [100, 99, 97, 60, -400], 0.3
    with localcontext() as context:
        context.prec = 150
        for level, weight in zip(levels, _level_weights(levels, eta), strict=True):
            exact = (Decimal(eta) * (level - 100)).exp() * 2**320
            assert abs(exact - weight) < 2**20


def test_weights_of_far_levels_keep_the_stated_bound():
    """2^13 units of 2^-320 for any distance below 2^64, whose bytes are all in use here."""
    eta = 1e-17
    levels = [2**63 - 1, 2**63 - 1 - 0x0102030405060708, 2**63 - 1 - 0x7F00FF00FF00FFFF, -(2**63)]
    with localcontext() as context:
        context.prec = 150
        for level, weight in zip(levels, _level_weights(levels, eta), strict=True):
            exact = (Decimal(eta) * (level - levels[0])).exp() * 2**320
            assert abs(exact - weight) < 2**13


@pytest.mark.parametrize("eta", [3.7e-17, 1e-9, 1e-3, 0.3, 11.0])
def test_bounds_are_never_below_the_weights_and_hardly_above(eta):
    """The draw by bounds is exact only if 2^288 · bound ≥ weight; distances up to 2^64, many of
    them near the top.
    """
    generator = np.random.default_rng(3)
    near = [min(int(x / eta), 2**64 - 1) for x in generator.uniform(0, 240, 2_000)]
    distances = [
        0,
        1,
        2,
        2**64 - 1,
        2**63,
        *near,
        *(int(x) for x in 2.0 ** generator.uniform(0, 63, 500)),
    ]
    factors = _factors(eta)
    for distance, bound in zip(
        distances, _bounds(np.array(distances, np.uint64), eta).tolist(), strict=True
    ):
        weight = _weight(distance, factors)
        assert weight <= bound << 288 <= weight * (1 + 2**-19) + (1 << 289)


def test_bounds_hold_where_floats_fall_below_a_whole_number_that_the_weight_exceeds():
    """There adding 1 alone would give a bound below the weight: it is raised before, too. How often
    that happens among these depends on the processor's exponential function.
    """
    for whole in range(1 << 16, (1 << 16) + 80):
        for distance in (3, 1001, 100_003):
            eta = math.log(2**32 / whole) / distance
            for _ in range(6):
                eta = math.nextafter(eta, 0)
                weight = _weight(distance, _factors(eta))
                (bound,) = _bounds(np.array([distance], np.uint64), eta).tolist()
                assert weight <= bound << 288


def test_picks_in_turn_choose_among_what_is_open():
    """The second pick is never next to the first: an exponential mechanism over the rest, far below
    the top or not.
    """
    scores, eta, draws = np.array([2_000, 0, 3, 2_000], dtype=np.int64), 0.5, 2_500

    def open_after(picked):
        closed = {near for pick in picked for near in (pick - 1, pick, pick + 1)}
        return np.array([place for place in range(4) if place not in closed])

    observed = Counter(
        tuple(pick_in_turn(scores, k=2, eta=eta, entropy=OsEntropy(), open_after=open_after))
        for _ in range(draws)
    )
    # First 0 or 3 with equal odds; after 0 the 3 is all but certain; after 3 it is the 0 again.
    check_frequencies(observed, {(0, 3): 0.5, (3, 0): 0.5}, draws)
    second = Counter(
        tuple(
            pick_in_turn(
                scores[:3],
                k=2,
                eta=eta,
                entropy=OsEntropy(),
                open_after=lambda picked: np.array([1, 2] if picked else [0]),
            )
        )
        for _ in range(draws)
    )
    check_frequencies(
        second, {(0, 2): 1 / (1 + math.exp(-1.5)), (0, 1): 1 / (1 + math.exp(1.5))}, draws
    )


def test_candidates_that_are_open_again_count_in_full():
    """First only the lowest is open, far below the others; then all but it are."""
    scores, draws = np.array([10**7, 10**7 - 2, 0], dtype=np.int64), 2_000

    def open_after(picked):
        return np.array([0, 1] if picked else [2])

    observed = Counter(
        tuple(pick_in_turn(scores, k=2, eta=0.5, entropy=OsEntropy(), open_after=open_after))
        for _ in range(draws)
    )
    check_frequencies(observed, {(2, 0): 1 / (1 + math.exp(-1)), (2, 1): 1 / (1 + math.e)}, draws)


@pytest.mark.parametrize("sensitivity", [1, 3, 256 * 256 * 4096])
def test_inverse_temperature_is_rounded_down(sensitivity):
    generator = np.random.default_rng(5)
    for rho in [*(10.0 ** generator.uniform(-14, 3, 300)), Fraction(1, 3)]:
        eta = inverse_temperature(sensitivity, rho)
        assert (Fraction(eta) * sensitivity) ** 2 / 2 <= Fraction(rho)
        assert eta == pytest.approx(math.sqrt(2 * rho) / sensitivity, rel=1e-14)


def test_many_candidates_with_extreme_scores():
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 2**62, 50_000)
    scores[17] = 2**62
    assert pick_top(scores, k=1, eta=1.0, entropy=InsecureSeededEntropy(0)) == [17]


@pytest.mark.parametrize("k", [0, -1, 4])
def test_bad_k(k):
    with pytest.raises(SettingsError):
        pick_top(np.array([1, 2, 3]), k=k, eta=1.0, entropy=OsEntropy())


@pytest.mark.parametrize("rho", [0, -0.1, float("nan")])
def test_bad_rho(rho):
    with pytest.raises(BudgetError):
        inverse_temperature(1, rho)


def test_a_high_score_that_was_closed_may_be_picked_after_far_lower_ones():
    """While it is closed, weights are made anew from a lower score on, and must be made again."""
    scores = np.array([0, 10**12])

    def open_after(picked):
        return np.array([1]) if picked else np.array([0])

    assert pick_in_turn(
        scores, k=2, eta=1.0, entropy=InsecureSeededEntropy(0), open_after=open_after
    ) == [0, 1]


def test_a_proposal_is_kept_by_its_exact_weight_alone():
    """A far candidate has a bound of one unit and the weight nothing: proposed, it is never
    kept.
    """

    class Proposing:
        secure = False

        def __init__(self, *numbers):
            self.numbers = list(numbers)

        def below(self, bound):
            return min(self.numbers.pop(0), bound - 1)

    # the last candidate, the least draw for its weight; then the first one
    entropy = Proposing(1 << 62, 0, 0, 0)
    scores = np.array([0, -(10**9)])
    assert pick_in_turn(
        scores, k=1, eta=1.0, entropy=entropy, open_after=lambda _: np.arange(2)
    ) == [0]
    assert not entropy.numbers
