"""Which codes of a column are alike: neighbours, as far as the column itself says so.

A row's departure from the product of the columns is the logarithm h of its probabilities over the
columns'. People of 41 and 42 are related to everything else in much the same way, so along ages h
changes slowly. A fit that moves every code by itself follows the noise of each. So a fit ties each
code to the next (`FitSettings.ties`).

Whether codes have such an order can be seen in the column, without further cost. With φ the
correlation of a code's share with that of the next, departures are taken for an autoregression of
the same φ. Neighbours at a distance of one then have precision φ/(1 − φ²), in units of what pulls
each code to the columns. On the ages of ADULT φ is .98, on the same ages in random order it is
about zero, as it is on countries or on hours, of which people name multiples of five.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Float32, Float64
from dprap.mechanisms.adaptive.rules import Rules
from dprap.relaxed.adam import Tie


def ties_of(
    columns: Sequence[tuple[Measurement, int | None]], records: float, rules: Rules
) -> tuple[Tie, ...]:
    """How strongly every code is tied to the next, in columns where neighbours are alike.

    Args:
        columns: All measured columns in the order of the domain, each with how many of its codes
            have an order, if that is known.
        records: The number of records.
        rules: From how many codes on a column is looked at, and what is not.

    Returns:
        Ties of the columns that have any.
    """
    found, start = [], 0
    for measured, ordered in columns:
        shares = measured.counts / records
        noise = measured.stddev_counts / records
        if rules.smooth_columns and len(shares) >= rules.long_from_codes:
            weights = _ties(shares[:ordered], noise, rules)
            if weights.any():
                found.append(Tie(start, weights))
        start += len(shares)
    return tuple(found)


def _ties(
    shares: Float64[np.ndarray, " codes"], noise: float, rules: Rules
) -> Float32[np.ndarray, " links"]:
    """The precision of each difference between neighbours; none beside a code of many records."""
    ordinary = shares < rules.lonely_code / len(shares)
    linked = ordinary[:-1] & ordinary[1:]
    if linked.sum() < 2:
        return np.zeros(len(linked), np.float32)
    alike = min(_correlation(shares, ordinary, linked, noise), rules.most_alike)
    return (linked * (alike / (1 - alike**2))).astype(np.float32)


def _correlation(
    shares: Float64[np.ndarray, " codes"],
    ordinary: Float64[np.ndarray, " codes"],
    linked: Float64[np.ndarray, " links"],
    noise: float,
) -> float:
    """The correlation of neighbouring shares behind the noise, at least 0.

    Noise is independent, so it adds nothing to the covariance of neighbours and σ² to the variance.
    What is left of the variance is known up to σ²√(2/codes). That much is added to it: where noise
    hides the shares, nothing is taken for alike.
    """
    centred = shares - shares[ordinary].mean()
    covariance = float((centred[:-1] * centred[1:])[linked].mean())
    variance = float((centred[ordinary] ** 2).mean()) - noise**2
    unsure = noise**2 * math.sqrt(2 / int(ordinary.sum()))
    total = max(variance, 0.0) + unsure
    return max(covariance, 0.0) / total if total > 0 else 0.0
