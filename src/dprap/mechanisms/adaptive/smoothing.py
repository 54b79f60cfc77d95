"""Noise taken out of long one-way marginals: ages, hours and amounts change slowly from one code to the next.

Haar wavelets at every shift: level j holds half the difference between the means of two neighbouring stretches of 2^j codes. Where codes have
an order these are small next to their noise, except at spikes. What their sizes are is learned for each level from the noisy
differences themselves: a mixture of normal distributions around zero, from exactly zero to far above the noise, fitted by expectation
maximisation; every difference is then replaced by its posterior mean. Where the order of codes means nothing, differences
are large on all levels and hardly anything is taken out. All of it is post-processing of noisy counts.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float64

from dprap.array_types import Answers

SHORTEST = 16
"""Columns with fewer codes are left as measured: they have little noise, and hardly ever a smooth shape."""

_VARIANCES = np.concatenate([[0.0], 2.0 ** np.arange(-2, 14)])  # of the mixture's parts, in units of the noise's
_EXPECTATION_MAXIMISATIONS = 60
_ZEROS_SEEN_BEFORE = 2.0  # differences that are taken to have been zero: without evidence, believe in smoothness


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
        # Every code but those at the start is in two pairs, once as the earlier and once as the later one.
        total, pairs = mean + difference, np.ones(size)
        np.add.at(total, later, mean - difference)
        np.add.at(pairs, later, 1.0)
        mean = total / pairs
    return mean


def _reliability(differences: Answers, variance: float) -> Float64[np.ndarray, "codes"]:
    """Posterior mean of each difference, as a share of the difference."""
    parts = variance * (1 + _VARIANCES)
    log_likelihood = -0.5 * (differences[:, None] ** 2 / parts + np.log(parts))
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    shares = np.ones(len(parts)) / len(parts)
    shares[0] += 1.0
    for _ in range(_EXPECTATION_MAXIMISATIONS):
        belongs = likelihood * shares
        belongs /= belongs.sum(axis=1, keepdims=True)
        shares = belongs.sum(axis=0)
        shares[0] += _ZEROS_SEEN_BEFORE
        shares /= shares.sum()
    belongs = likelihood * shares
    belongs /= belongs.sum(axis=1, keepdims=True)
    kept: Float64[np.ndarray, "codes"] = belongs @ (_VARIANCES / (1 + _VARIANCES))
    return kept
