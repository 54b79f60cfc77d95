"""The distribution of a column behind its noisy counts.

Columns of many codes are smoothed, negative counts are projected away, and where noise hides every
code the shares are shrunk towards equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from dprap.array_types import Answers
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.smoothing import smooth
from dprap.relaxed.simplex import project_simplex

Shares = Float64[np.ndarray, " codes"]


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


def estimate_column(counts: Answers, stddev_counts: float, records: float, rules: Rules) -> ColumnEstimate:
    """Estimate a column's shares from counts with independent noise."""
    counts = np.asarray(counts, np.float64)
    if rules.smooth_from_codes is not None and len(counts) >= rules.smooth_from_codes:
        counts = smooth(counts, stddev_counts**2)
    noise = stddev_counts / records
    believed = 1 / (1 + (noise / rules.typical_share) ** 2)
    equal = (1 - believed) / len(counts)
    shares = believed * project_simplex(counts / records) + equal + rules.least_start * noise
    return ColumnEstimate(shares / shares.sum(), believed * counts / records + equal, noise)
