"""How far a mean may be off because of codes whose records are hidden in the noise.

A column of amounts often ends in wide bins that hold few records, or none. The noise of such a bin
is as large as that of any other, and one record of it moves a mean a hundred times as far. The
error table of a release pools the means of all columns and cannot know this, so it is added here.

A code c of a group is hidden if the release has fewer records there than twice the noise e of its
count. What is known of its count is then a normal distribution cut at zero. With its standard
deviation s(c), the mean of N records has the further error √(Σ s(c)²·(value(c) − mean)²)/N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Float64
from dprap.products import product
from dprap.release.release import Release

Codes = Float64[np.ndarray, " codes"]

# Up to so many times its noise a count is hidden: the truth may well be zero.
_HIDDEN_UP_TO = 2.0
# Codes that together make this share of the error are named.
_NAMED_SHARE = 0.9
_NORMAL = NormalDist()


@dataclass(frozen=True)
class HiddenCodes:
    """The error of a mean that hidden codes make, the first and last code that make most of it, and
    their share of the records.
    """

    error: float
    first: int
    last: int
    share: float


def hidden_codes(noise: float, counts: Codes, values: Codes) -> HiddenCodes | None:
    """What hidden codes do to the mean of a column within a group of records.

    Args:
        noise: The standard deviation of the noise in a code's count within the group.
        counts: Of each code, the records that the release gives the group.
        values: Of each code, the mean of its values.

    Returns:
        None where no code is hidden.

    >>> found = hidden_codes(
    ...     100.0, np.array([9_000.0, 900.0, 0.0]), np.array([10.0, 50.0, 1_000.0])
    ... )
    >>> round(found.error, 1), found.first
    (6.0, 2)
    """
    total = float(counts.sum())
    moved = _moved(np.array([noise]), counts[None], values)[0]
    if not moved.sum() > 0:
        return None
    order = np.argsort(-moved)
    enough = int(np.searchsorted(np.cumsum(moved[order]), _NAMED_SHARE * moved.sum())) + 1
    first, last = int(order[:enough].min()), int(order[:enough].max())
    return HiddenCodes(
        math.sqrt(moved.sum()), first, last, float(counts[first : last + 1].sum()) / total
    )


def hidden_errors(
    noise: Float64[np.ndarray, " groups"],
    counts: Float64[np.ndarray, "groups codes"],
    values: Codes,
) -> Float64[np.ndarray, " groups"]:
    """The errors that hidden codes make in the means of many groups; 0 where none is hidden.

    Args:
        noise: The standard deviation of the noise in a code's count, in each group.
        counts: Of each group and code, the records that the release gives.
        values: Of each code, the mean of its values.
    """
    return np.asarray(np.sqrt(_moved(noise, counts, values).sum(axis=1)))


def _moved(
    noise: Float64[np.ndarray, " groups"],
    counts: Float64[np.ndarray, "groups codes"],
    values: Codes,
) -> Float64[np.ndarray, "groups codes"]:
    """The variance that each code adds to the mean of each group, if it is hidden."""
    total = counts.sum(axis=1)
    at = counts / noise[:, None]
    spread = np.where(at < _HIDDEN_UP_TO, np.interp(at, _AT, _CUT) * noise[:, None], 0.0)
    departures = values - (product(counts, values) / total)[:, None]
    return np.asarray((spread * departures / total[:, None]) ** 2)


def noise_of_codes(
    release: Release, name: str, by: tuple[str, ...], conditions: tuple[str, ...]
) -> float | None:
    """The standard deviation of the noise in a count of one code of a column, in one group, under a
    condition.

    Args:
        release: The release.
        name: The column.
        by: The columns whose values tell the groups apart.
        conditions: Columns that a condition is about: all their codes are taken to be in it.

    Returns:
        None where no measured marginal has all these columns, code by code for the first two.
    """
    # Reciprocals, never squares: a stranger's file may state deviations that no float can square.
    inverse = 0.0
    for item in release.measurements:
        if not isinstance(item, Measurement) or not {name, *by, *conditions} <= set(
            item.marginal.columns
        ):
            continue
        columns = item.marginal.columns
        groups = item.marginal.groups or (None,) * len(columns)
        single = [each == name or each in by for each in columns]
        if any(alone and merged is not None for alone, merged in zip(single, groups, strict=True)):
            continue
        shape = item.marginal.shape(release.schema.domain)
        summed = math.prod(size for size, alone in zip(shape, single, strict=True) if not alone)
        inverse = math.hypot(inverse, 1 / (item.stddev_counts * math.sqrt(summed)))
    return 1 / inverse if inverse > 0 else None


def _cut_at_zero(at: float) -> float:
    """The standard deviation of a normal number of mean `at` and variance 1, given that it is not
    negative.

    >>> round(_cut_at_zero(0.0), 3), round(_cut_at_zero(5.0), 3)
    (0.603, 1.0)
    """
    ratio = _NORMAL.pdf(at) / _NORMAL.cdf(at)
    return math.sqrt(1 - ratio * (ratio + at))


# `_cut_at_zero` of counts that are hidden; between these it is a straight line to five digits.
_AT = np.linspace(0.0, _HIDDEN_UP_TO, 513)
_CUT = np.array([_cut_at_zero(at) for at in _AT])
