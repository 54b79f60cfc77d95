"""Discrete Gaussian noise on integer counts.

**Claim.** For a vector of integers with L2 sensitivity Δ, adding independent discrete Gaussian
noise N_Z(0, σ²) to each entry is ρ-zCDP with ρ = Δ²/(2σ²) (Canonne, Kamath and Steinke 2020,
Theorem 14). Noise and data are integers, so there is no floating-point rounding to attack.

Two samplers draw the same distribution. Which one is used depends on σ and on the number of
entries, which is public but for discovery, where it is the number of values that are present: it
makes no difference beyond the 2^-150 below.

* OpenDP's exact sampler, for short vectors and for huge σ: 16 to 22 µs a cell;
* inversion of a table of cumulative probabilities with 256 bits, for long vectors: about 0.1 µs a
  cell. The table cuts the tails at 16σ (probability below 2^-180, since P(|X| > 16σ) ≤ 2·exp(−128))
  and its entries are off by less than 2^-220 in all, so a vector of 10^8 cells is within total
  variation 2^-150 of the exact noise: a δ of 10^-45, far below any δ in use. OpenDP is its oracle
  in the tests.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TypeAlias

import numpy as np

# Not opendp.prelude: it loads polars and scikit-learn, half a second that every command would pay.
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import Measurement, enable_features

from dprap.array_types import Counts, UInt64
from dprap.errors import BudgetError
from dprap.privacy.entropy import Entropy

OPENDP_CELLS = 4_096
"""Vectors up to this length go through OpenDP (at most 0.1 s)."""

_TABLE_STDDEV = 60_000
# Above this σ the table would have more than a million 256-bit entries.

_SMALL_STDDEV = 1_000
_SMALL_TABLES = 32
# Tables up to this σ have 1.3 MB at most. A run has one for each of its steps, and its repetitions
# need the same ones again.

_BITS = 256

_CHUNK = 1 << 18
# Draws are made this many at a time: the words stay in cache, and long vectors need little extra
# memory.

_Table: TypeAlias = tuple[list[int], UInt64[np.ndarray, " support"]]


def add_discrete_gaussian(counts: Counts, stddev_counts: float, entropy: Entropy) -> Counts:
    """Counts plus independent discrete Gaussian noise of the given scale."""
    if not (math.isfinite(stddev_counts) and stddev_counts > 0):
        raise BudgetError("noise needs a positive, finite standard deviation.")
    counts = np.asarray(counts, dtype=np.int64)
    if stddev_counts > _TABLE_STDDEV or (entropy.secure and counts.size <= OPENDP_CELLS):
        return (
            _opendp_gaussian(counts, stddev_counts)
            if entropy.secure
            else _rough_gaussian(counts, stddev_counts, entropy)
        )
    noise: Counts = sample_by_table(counts.size, stddev_counts, entropy)
    noise += counts
    return noise


def _opendp_gaussian(counts: Counts, stddev_counts: float) -> Counts:
    return np.asarray(_opendp_measurement(stddev_counts)(counts.tolist()), dtype=np.int64)


@lru_cache(maxsize=16)
def _opendp_measurement(stddev_counts: float) -> Measurement:
    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64")), l2_distance(T=float)
    return make_gaussian(*space, scale=stddev_counts)


def _rough_gaussian(counts: Counts, stddev_counts: float, entropy: Entropy) -> Counts:
    """Rounded continuous noise: only ever drawn from a seed, where nothing is protected anyway."""
    generator = np.random.Generator(np.random.PCG64(entropy.words(4)))
    return counts + np.rint(generator.normal(0.0, stddev_counts, counts.size)).astype(np.int64)


def sample_by_table(count: int, stddev_counts: float, entropy: Entropy) -> Counts:
    """Discrete Gaussian draws by inversion: |X| is the number of cumulative probabilities at or
    below a uniform U.

    The first 64 bits of U settle nearly every draw; the other 192 are drawn only where they decide.
    """
    made = _cumulative_table if stddev_counts <= _SMALL_STDDEV else _large_table
    table = made(stddev_counts)
    noise = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        noise[start:stop] = _invert(table, stop - start, entropy)
    return noise


def _invert(table: _Table, count: int, entropy: Entropy) -> Counts:
    cumulative, leading = table
    words = entropy.words(count)
    magnitude = np.searchsorted(leading, words, side="right").astype(np.int64)
    undecided = np.flatnonzero((magnitude > 0) & (leading[np.maximum(magnitude - 1, 0)] == words))
    for position in undecided:
        uniform = (int(words[position]) << (_BITS - 64)) | entropy.below(1 << (_BITS - 64))
        while magnitude[position] > 0 and cumulative[magnitude[position] - 1] > uniform:
            magnitude[position] -= 1
    signs = np.unpackbits(entropy.words((count + 63) // 64).view(np.uint8))[:count]
    return np.where(signs == 1, magnitude, -magnitude)


@lru_cache(maxsize=_SMALL_TABLES)
def _cumulative_table(stddev_counts: float) -> _Table:
    """P(|X| ≤ x) for x = 0 … 16σ as 256-bit integers, and their leading 64 bits.

    w(x) = exp(−x²/2σ²) by the recurrence w(x+1) = w(x)·r(x), r(x+1) = r(x)·exp(−1/σ²), r(0) =
    exp(−1/2σ²), in fixed point with 320 bits: after x steps the error is below x²·2^-320.
    """
    working_bits = _BITS + 64
    with localcontext() as context:
        context.prec = 120
        variance = Decimal(stddev_counts) ** 2
        ratio = int((Decimal(-1) / (2 * variance)).exp() * (1 << working_bits))
        ratio_step = int((Decimal(-1) / variance).exp() * (1 << working_bits))
    weight = 1 << working_bits
    running = weight
    sums = [running]
    for _ in range(math.ceil(16 * stddev_counts)):
        weight = (weight * ratio) >> working_bits
        ratio = (ratio * ratio_step) >> working_bits
        running += 2 * weight  # both signs
        sums.append(running)
    # For tiny σ the weights beyond 0 vanish even in fixed point; capping keeps such an entry within
    # 256 bits.
    cumulative = [min((partial << _BITS) // running, (1 << _BITS) - 1) for partial in sums[:-1]]
    leading = np.array([value >> (_BITS - 64) for value in cumulative], dtype=np.uint64)
    return cumulative, leading


_large_table = lru_cache(maxsize=4)(_cumulative_table.__wrapped__)
