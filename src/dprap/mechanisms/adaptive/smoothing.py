"""Noise taken out of long one-way marginals: ages and amounts change slowly by code.

Haar wavelets at every shift: level j holds half the difference between the means of two
neighbouring stretches of 2^j codes. Where codes have an order these are small next to their noise,
except at spikes. How large they are is learned for each level from the noisy differences
themselves, and every difference is replaced by its posterior mean (`shrinkage`). Where the order of
codes means nothing, differences are large on all levels and hardly anything is taken out. All of it
is post-processing of noisy counts.
"""

from __future__ import annotations

import math

import numpy as np

from dprap.array_types import Answers, Float64
from dprap.mechanisms.adaptive.shrinkage import fit_shares, posterior
from dprap.products import product

# Variances of true differences, in units of the noise's: exactly zero, and from a quarter to far
# above.
_VARIANCES = np.concatenate([[0.0], 2.0 ** np.arange(-2, 14)])
# An early stop: one round more would still move a share by about 0.004, and the mixture stays
# broad. All figures of the mechanism were made with this number.
_EXPECTATION_MAXIMISATIONS = 60
# Without evidence, believe in smoothness: two differences of zero are taken to have been seen.
_IMAGINED = np.concatenate([[2.0], np.zeros(len(_VARIANCES) - 1)])


def smooth(counts: Answers, variance: float) -> Answers:
    """Estimate the counts behind independent noise of the given variance."""
    size = len(counts)
    mean = np.asarray(counts, dtype=np.float64)
    levels = []
    for level in range(int(math.log2(size))):
        later = np.arange(size) + 2**level
        later = np.where(later < size, later, 2 * size - 1 - later)  # reflected at the end
        levels.append((later, (mean - mean[later]) / 2))
        mean = (mean + mean[later]) / 2
    for level, (later, difference) in reversed(list(enumerate(levels))):
        difference = difference * _reliability(difference, variance / 2 ** (level + 1))
        # Every code but those at the start is in two pairs, once as the earlier and once as the
        # later one.
        total, pairs = mean + difference, np.ones(size)
        np.add.at(total, later, mean - difference)
        np.add.at(pairs, later, 1.0)
        mean = total / pairs
    return mean


def _reliability(differences: Answers, variance: float) -> Float64[np.ndarray, " codes"]:
    """Posterior mean of each difference, as a share of the difference."""
    parts = variance * (1 + _VARIANCES)
    log_likelihood = -0.5 * (differences[:, None] ** 2 / parts + np.log(parts))
    likelihoods = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    start = np.ones(len(parts)) / len(parts)
    start[0] += 1.0
    once = np.ones(len(differences))
    shares = fit_shares(
        likelihoods, once, start, imagined=_IMAGINED, rounds=_EXPECTATION_MAXIMISATIONS
    )
    kept: Float64[np.ndarray, " codes"] = product(
        posterior(likelihoods, shares), _VARIANCES / (1 + _VARIANCES)
    )
    return kept
