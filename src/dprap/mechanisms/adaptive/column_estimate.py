"""The distribution of a column behind its noisy counts.

Columns of many codes are smoothed, negative counts are projected away, and where noise hides every
code the shares are shrunk towards equal ones. A code that stands out, such as the zero of an amount
that most people do not have, is neither smoothed away nor shrunk: its neighbours say nothing of it.

Where the codes are known to have an order, two things more are known. The code of missing values
stands behind the last one and is no neighbour of it. And amounts thin out towards their ends. Of
codes that hold nothing but noise, a projection keeps the positive half, so that the largest incomes
would always be too many. So a run of codes at an end that holds no more than noise keeps what was
measured of it in total, and falls from the code beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from dprap.array_types import Answers, Bool, Float64
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.smoothing import smooth
from dprap.relaxed.simplex import project_simplex

Shares = Float64[np.ndarray, " codes"]
Codes = Bool[np.ndarray, " codes"]

# A tail of less, as a part of the code before it, has no ratio that floats can find.
_LEAST_TAIL = 1e-9


@dataclass(frozen=True)
class ColumnEstimate:
    """What is believed of a column.

    Args:
        shares: A distribution in which every code has a share, however small.
        wanted: What a fit should meet: shares that may be negative, since what a projection cuts
            off other marginals may yet correct.
        noise: The standard deviation of a measured share.

    """

    shares: Shares
    wanted: Shares
    noise: float


def estimate_column(
    counts: Answers,
    stddev_counts: float,
    records: float,
    rules: Rules,
    *,
    ordered: int | None = None,
) -> ColumnEstimate:
    """Estimate a column's shares from counts with independent noise.

    Args:
        counts: The noisy counts.
        stddev_counts: Their standard deviation.
        records: The number of records.
        rules: How columns are smoothed and shrunk.
        ordered: How many codes have an order, from the first on; the others follow them. None where
            that is not known: then all codes are smoothed as they stand, and no end is a tail.

    Returns:
        What is believed of the column.

    """
    noise = stddev_counts / records
    measured = np.asarray(counts, np.float64) / records
    outstanding = _outstanding(measured, noise, rules)
    along = slice(ordered)  # the codes that are neighbours
    raw = measured[along]
    if rules.smooth_columns and len(raw) >= rules.long_from_codes:
        measured, outstanding = measured.copy(), outstanding.copy()
        measured[along], outstanding[along] = _smoothed(raw, noise, outstanding[along], rules)
    if ordered is not None:
        measured = measured.copy()
        for ends_here in (slice(None), slice(None, None, -1)):
            _let_fall(measured[along][ends_here], raw[ends_here], noise, rules)
    believed = 1 / (1 + (noise / rules.typical_share) ** 2)
    shares = _shrunk(project_simplex(measured), outstanding, believed) + rules.least_start * noise
    return ColumnEstimate(shares / shares.sum(), _shrunk(measured, outstanding, believed), noise)


def _outstanding(measured: Shares, noise: float, rules: Rules) -> Codes:
    """Codes that are further above a typical one than noise takes any of them.

    Of two codes none stands out: each says what the other does. Nor does any where typical codes
    can be seen through the noise, for then smoothing sees what stands out as well.
    """
    codes = len(measured)
    least_smoothed = rules.long_from_codes if rules.smooth_columns else 0
    if codes == 2 or (codes >= least_smoothed and noise * codes < rules.hidden_code):
        return np.zeros(codes, dtype=bool)
    return np.asarray(measured - np.median(measured) > _least_surprise(codes, rules) * noise)


def _least_surprise(codes: int, rules: Rules) -> float:
    """The largest of so many standard normal numbers is hardly ever larger."""
    return math.sqrt(2 * math.log(codes)) + rules.outstanding


def _smoothed(
    measured: Shares, noise: float, outstanding: Codes, rules: Rules
) -> tuple[Shares, Codes]:
    """Shares smoothed but for codes that stand out, also from what smoothing makes of them."""
    limit = _least_surprise(len(measured), rules) * noise
    outstanding = outstanding | (measured - smooth(measured, noise**2) > limit)
    places, others = np.flatnonzero(outstanding), np.flatnonzero(~outstanding)
    if not others.size:
        return measured, outstanding
    between = measured.copy()
    between[places] = np.interp(places, others, measured[others])
    smoothed = smooth(between, noise**2)
    smoothed[places] = measured[places]
    return smoothed, outstanding


def _let_fall(shares: Shares, measured: Shares, noise: float, rules: Rules) -> None:
    """Replace the shares of the last codes, as far as they hold no more than noise, by a tail.

    Args:
        shares: The smoothed shares; changed in place.
        measured: The shares before smoothing, whose sums have independent noise.
        noise: The standard deviation of a measured share.
        rules: What counts as noise.

    """
    codes = np.arange(1, len(measured) + 1)
    backwards = measured[::-1]
    limit = rules.hidden_run * noise
    is_seen = (backwards > limit) | (np.cumsum(backwards) > limit * np.sqrt(codes))
    if not is_seen.any():
        return  # noise hides the whole column, which has no end then
    run = int(np.argmax(is_seen))
    if run:
        start = len(shares) - run
        shares[start:] = _falling(shares[start - 1], float(measured[start:].sum()), run)


def _falling(level: float, total: float, codes: int) -> Shares:
    """The geometric sequence below a level that adds up to a total; a flat one where none does, or
    where nothing is left to fall: counts of a tail may add up to 0 but for the rounding of floats.

    >>> _falling(0.4, 0.3, 2).round(3).tolist()
    [0.2, 0.1]
    >>> _falling(0.1, 0.6, 2).tolist(), _falling(0.1, -0.2, 2).tolist()
    ([0.3, 0.3], [-0.1, -0.1])
    """
    if not _LEAST_TAIL * level < total < level * codes:
        return np.full(codes, total / codes)
    steps = np.arange(1, codes + 1)
    ratio = brentq(lambda each: level * (each**steps).sum() - total, 0.0, 1.0)
    powers = ratio**steps
    tail: Shares = powers * (total / powers.sum())
    return tail


def _shrunk(shares: Shares, outstanding: Codes, believed: float) -> Shares:
    """Shares moved towards their mean, but for codes that stand out."""
    others = ~outstanding
    if not others.any():
        return shares
    mean = shares[others].mean()
    return np.where(others, believed * shares + (1 - believed) * mean, shares)
