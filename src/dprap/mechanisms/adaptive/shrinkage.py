"""Empirical Bayes: how much of a noisy number to believe, learned from many such numbers.

Model: a true difference is normal around zero with one of a few variances, noise adds its own, and
which variances occur how often is learned by expectation maximisation. `smoothing` shrinks
differences between neighbouring codes of one column, `evidence` departures of a marginal from the
model before it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64

Likelihoods = Float64[np.ndarray, "numbers variances"]
"""How likely each number is under each variance, up to a factor for each number."""

Shares = Float64[np.ndarray, "... variances"]
"""How often each variance occurs, in one mixture or in several."""


def posterior(likelihoods: Likelihoods, shares: Shares) -> Likelihoods:
    """The probability of each variance for each number, by one mixture or one for each."""
    belongs: Likelihoods = likelihoods * shares
    belongs /= belongs.sum(axis=1, keepdims=True)
    return belongs


def fit_shares(
    likelihoods: Likelihoods,
    start: Shares,
    *,
    of_numbers: Callable[[Shares], Shares],
    add_up: Callable[[Likelihoods], Shares],
    imagined: Float64[np.ndarray, " variances"],
    rounds: int,
) -> Shares:
    """Shares of the variances by expectation maximisation.

    Args:
        likelihoods: Of every number under every variance.
        start: Shares to begin with.
        of_numbers: Gives the mixture of each number from all mixtures.
        add_up: Adds the posteriors of all numbers up, for each mixture.
        imagined: Numbers of each variance that are taken to have been seen before, in each mixture.
        rounds: How many expectations and maximisations.

    Returns:
        Shares of the form of `start`, which sum to one for each mixture.

    """
    shares = start
    for _ in range(rounds):
        shares = add_up(posterior(likelihoods, of_numbers(shares))) + imagined
        shares /= shares.sum(axis=-1, keepdims=True)
    return shares
