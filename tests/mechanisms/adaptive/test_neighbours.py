"""Codes that are tied to their neighbours: where the column says that these are alike, only."""

import math

import numpy as np
import pytest

from dprap.accounting import Measurement
from dprap.domain import Domain
from dprap.mechanisms.adaptive.neighbours import ties_of
from dprap.mechanisms.adaptive.rules import Rules
from dprap.queries import Marginal
from dprap.relaxed import FitSettings, RelaxedDataset, Target, fit
from dprap.relaxed.adam import Adam, Tie

RECORDS = 10_000
CODES = 64
HILL = np.exp(-0.5 * ((np.arange(CODES) - 30) / 12) ** 2)
HILL *= RECORDS / HILL.sum()


def measured(counts: np.ndarray, stddev: float, name: str = "a") -> Measurement:
    noise = np.random.default_rng(0).normal(0, stddev, len(counts))
    return Measurement(Marginal((name,)), np.rint(counts + noise).astype(np.int64), stddev, 0.1)


def weights_of(counts: np.ndarray, stddev: float, ordered: int | None = None) -> np.ndarray:
    """Weights of a column's links; none if it has no ties."""
    ties = ties_of([(measured(counts, stddev), ordered)], RECORDS, Rules())
    return ties[0].weights if ties else np.zeros(len(counts) - 1)


def test_smooth_columns_are_tied_and_shuffled_ones_hardly():
    shuffled = np.random.default_rng(1).permutation(HILL)
    assert weights_of(HILL, 5.0).min() > 5
    assert weights_of(shuffled, 5.0).max() < 0.5


def test_noise_that_hides_the_column_ties_nothing_much():
    assert weights_of(HILL, 2_000.0).max() < 1


def test_most_alike_limits_the_weight():
    limit = Rules().most_alike
    assert weights_of(HILL, 0.1).max() == pytest.approx(limit / (1 - limit**2))


def test_a_lonely_code_and_codes_without_order_are_not_tied():
    spiked = HILL.copy()
    spiked[10] += RECORDS
    weights = weights_of(spiked, 1.0, ordered=60)
    assert len(weights) == 59  # the codes behind the order are beyond the last link
    assert weights[9] == weights[10] == 0
    assert weights[11] > 1


def test_short_columns_are_not_looked_at_but_counted():
    short = measured(np.full(4, RECORDS / 4), 1.0, "b")
    ties = ties_of([(short, None), (measured(HILL, 5.0), None)], RECORDS, Rules())
    assert [tie.start for tie in ties] == [4]


def beside(full: float, weight: float) -> float:
    """The share of b = 0 in a = 2, where a fit is sure that this share of a = 3 has it, and knows
    of no other pair of codes.
    """
    domain = Domain.of({"a": 8, "b": 2})
    prior = np.log(np.concatenate([np.full((8, 1), 1 / 8), np.full((2, 1), 1 / 2)])).astype(
        np.float32
    )
    jitter = 0.3 * np.random.default_rng(0).gumbel(size=(10, 50)).astype(np.float32)
    wanted, weights = np.full(16, 1 / 16, np.float32), np.zeros(16, np.float32)
    wanted[[6, 7]] = [full / 8, (1 - full) / 8]
    weights[[6, 7]] = 1e6
    columns = [
        Target(
            Marginal((name,)), np.full(size, 1 / size, np.float32), np.full(size, 1e6, np.float32)
        )
        for name, size in (("a", 8), ("b", 2))
    ]
    ties = (Tie(0, np.full(7, weight, np.float32)),) if weight else ()
    settings = FitSettings(
        prior=prior, kl_weight=50.0, steps=300, learning_rate=0.1, cool_down=0.5, ties=ties
    )
    start = RelaxedDataset.from_logits(domain, prior + jitter)
    rows = fit(start, [Target(Marginal(("a", "b")), wanted, weights), *columns], settings).rows
    cells = (rows.probabilities[:8] @ rows.probabilities[8:].T / 50)[2]
    return float(cells[0] / cells.sum())


def test_tied_codes_share_what_a_fit_learns_of_one_of_them():
    assert beside(0.6, weight=0) < 0.5  # column b has room for no more
    assert beside(0.6, weight=100) > 0.51


def test_the_pull_of_a_tie_stops_growing_at_a_tenth():
    apart = np.array([0.001, 0.1, 3.0], np.float32)
    domain, weight = Domain.of({"a": 4}), 7.0
    prior = np.zeros((4, 1), np.float32)
    logits = np.concatenate([[0.0], np.cumsum(apart)]).astype(np.float32)[:, None]
    gradient = np.empty_like(logits)
    ties = (Tie(0, np.full(3, weight, np.float32)),)
    settings = FitSettings(prior=prior, kl_weight=2.0, steps=1, learning_rate=0.1, ties=ties)
    Adam(domain, logits, np.exp(logits), gradient, settings).begin()
    # what a link takes from one code it gives to the next
    of_links = np.cumsum(2.0 * logits[:, 0] - gradient[:, 0])[:3]
    np.testing.assert_allclose(
        of_links, 2.0 * weight * np.array([0.001, 0.1 / math.sqrt(2), 0.1]), rtol=2e-3
    )
