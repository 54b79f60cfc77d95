"""Empirical Bayes: how much of a noisy number to believe, learned from many such numbers.

Model: a true difference is normal around zero with one of a few variances, noise adds its own, and
which variances occur how often is learned by expectation maximisation. `smoothing` shrinks
differences between neighbouring codes of one column, `evidence` departures of a marginal from the
model before it.
"""

from __future__ import annotations

import numpy as np

from dprap.array_types import Float64
from dprap.products import checked_once, unchecked_product

Likelihoods = Float64[np.ndarray, "numbers variances"]
"""How likely each number is under each variance, up to a factor for each number."""

Shares = Float64[np.ndarray, "... variances"]
"""How often each variance occurs, in one mixture or in several."""

Mixture = Float64[np.ndarray, " variances"]
"""How often each variance occurs in one mixture."""

Mixtures = Float64[np.ndarray, "mixtures variances"]
"""How often each variance occurs in each of several mixtures."""


def posterior(likelihoods: Likelihoods, shares: Shares) -> Likelihoods:
    """The probability of each variance for each number, by one mixture or one for each."""
    belongs: Likelihoods = likelihoods * shares
    belongs /= belongs.sum(axis=1, keepdims=True)
    return belongs


def fit_shares(
    likelihoods: Likelihoods,
    occurrences: Float64[np.ndarray, " numbers"],
    start: Mixture,
    *,
    imagined: Mixture,
    rounds: int,
) -> Mixture:
    """Shares of the variances by expectation maximisation.

    With L the likelihoods, w the occurrences and m the imagined numbers, a round takes the shares s
    to s · Lᵀ(w / Ls) + m, scaled to a sum of one. That is the sum of all posteriors, by two
    products with L.

    Args:
        likelihoods: Of every number under every variance.
        occurrences: How often each number was seen.
        start: Shares to begin with.
        imagined: Numbers of each variance that are taken to have been seen before.
        rounds: How many expectations and maximisations.

    Returns:
        Shares that sum to one.
    """
    return np.asarray(
        fit_mixtures(likelihoods, occurrences[None], start, imagined=imagined, rounds=rounds)[0]
    )


def fit_mixtures(
    likelihoods: Likelihoods,
    occurrences: Float64[np.ndarray, "mixtures numbers"],
    start: Mixture,
    *,
    imagined: Mixture,
    rounds: int,
) -> Mixtures:
    """`fit_shares` for the same numbers, seen differently often, once for each row of
    `occurrences`.
    """
    shares = np.repeat(start[None], len(occurrences), axis=0)
    expected, factors = np.empty_like(occurrences), np.empty_like(shares)
    with checked_once(shares):
        for _ in range(rounds):
            unchecked_product(shares, likelihoods.T, expected)
            np.divide(occurrences, expected, out=expected)
            unchecked_product(expected, likelihoods, factors)
            shares *= factors
            shares += imagined
            shares /= np.add.reduce(shares, axis=1, keepdims=True)
    return shares
