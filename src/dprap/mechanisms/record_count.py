"""The number of records as far as it is known: one estimate, used by everything that needs it.

Under replacement n is public. Under add-remove it is private, and whatever a mechanism has measured
says something about it: every marginal adds up to n, each of its cells with its own noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Measurement
from dprap.errors import SettingsError
from dprap.privacy import Curator
from dprap.queries import Marginal


@dataclass(frozen=True)
class Records:
    """The number of records, with the measurements it took (none where it is public)."""

    count: float
    measurements: tuple[Measurement, ...] = ()


def count_records(curator: Curator, share: float | Fraction) -> Records:
    """The public n under replacement; otherwise a noisy total, for a share of what is left.

    Args:
        curator: Who knows n, or measures it.
        share: The share of the remaining budget that the total may cost, where it is private.

    Raises:
        SettingsError: if the total must be bought and the share is not between 0 and 1.

    """
    if curator.neighbors.rows_are_public:
        return Records(float(curator.n))
    if not 0 < share < 1:
        raise SettingsError(
            "the share of the budget for the number of records must be between 0 and 1, not"
            f" {share}."
        )
    totals = curator.measure([Marginal(())], curator.remaining * Fraction(share))
    return Records(estimate_records(totals), tuple(totals))


def estimate_records(measured: Sequence[Measurement]) -> float:
    """The inverse-variance mean of what each measured marginal adds up to, and at least one.

    A marginal of c cells with noise σ adds up to n with variance c·σ², and marginals have
    independent noise. This is post-processing: it costs nothing.

    >>> total = Measurement(Marginal(()), np.array([104]), stddev_counts=2.0, rho=0.1)
    >>> column = Measurement(Marginal(("sex",)), np.array([60, 34]), stddev_counts=2.0, rho=0.1)
    >>> round(estimate_records([total, column]), 1)
    100.7
    """
    sums = np.array([float(item.counts.sum()) for item in measured])
    variances = np.array([len(item.counts) * item.stddev_counts**2 for item in measured])
    # A mean of one number by weight may differ from it in its last bit.
    mean = sums[0] if len(sums) == 1 else np.average(sums, weights=1 / variances)
    return max(float(mean), 1.0)
