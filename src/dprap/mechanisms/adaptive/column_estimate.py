"""The distribution of a column behind its noisy counts.

Columns of many codes are smoothed, negative counts are projected away, and where noise hides every
code the shares are shrunk towards equal ones. A code that stands out, such as the zero of an amount
that most people do not have, is neither smoothed away nor shrunk: its neighbours say nothing of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Answers, Bool, Float64
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.smoothing import smooth
from dprap.relaxed.simplex import project_simplex

Shares = Float64[np.ndarray, " codes"]
Codes = Bool[np.ndarray, " codes"]


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
    counts: Answers, stddev_counts: float, records: float, rules: Rules
) -> ColumnEstimate:
    """Estimate a column's shares from counts with independent noise."""
    noise = stddev_counts / records
    measured = np.asarray(counts, np.float64) / records
    outstanding = _outstanding(measured, noise, rules)
    if rules.smooth_from_codes is not None and len(measured) >= rules.smooth_from_codes:
        measured, outstanding = _smoothed(measured, noise, outstanding, rules)
    believed = 1 / (1 + (noise / rules.typical_share) ** 2)
    shares = _shrunk(project_simplex(measured), outstanding, believed) + rules.least_start * noise
    return ColumnEstimate(shares / shares.sum(), _shrunk(measured, outstanding, believed), noise)


def _outstanding(measured: Shares, noise: float, rules: Rules) -> Codes:
    """Codes that are further above a typical one than noise takes any of them.

    Of two codes none stands out: each says what the other does. Nor does any where typical codes
    can be seen through the noise, for then smoothing sees what stands out as well.
    """
    codes = len(measured)
    if codes == 2 or (
        codes >= (rules.smooth_from_codes or 0) and noise * codes < rules.hidden_code
    ):
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


def _shrunk(shares: Shares, outstanding: Codes, believed: float) -> Shares:
    """Shares moved towards their mean, but for codes that stand out."""
    others = ~outstanding
    if not others.any():
        return shares
    mean = shares[others].mean()
    return np.where(others, believed * shares + (1 - believed) * mean, shares)
