"""Records in each of the finest intervals, estimated from the noisy counts of all levels.

Generalised least squares on a tree (Hay et al., 2010): from the finest level up, an interval's
count is averaged with the sum of its parts, by inverse variance; then, from the top down, what is
left over is shared out among the parts. Before that, the parts of each interval are drawn towards
an even spread as far as noise alone explains their differences (positive-part James-Stein), and
made non-negative by projecting them on the simplex.
"""

from __future__ import annotations

import math

import numpy as np

from dprap.array_types import Float64, Int64
from dprap.mechanisms.adaptive.smoothing import smooth
from dprap.mechanisms.refinement.search import Level
from dprap.relaxed.simplex import project_simplex
from dprap.schema.columns.interval_levels import Starts

Masses = Float64[np.ndarray, " intervals"]

# Parts are taken as uneven where their chi-square, of k − 1 degrees of freedom, is so many standard
# deviations above its mean: noise alone would else be published as detail.
_CLEARLY_UNEVEN = 2.0

# Fewer top intervals are left as they are: there is nothing to learn about smoothness.
_LEAST_SMOOTHED = 8


def masses(levels: list[Level], points: int, records: float) -> Masses:
    """The records in each interval of the last level, and in null where it was counted: together
    `records`.

    Args:
        levels: All levels of one column, coarse to fine.
        points: Points of the column's grid.
        records: The number of records.
    """
    places = [_places(levels[depth].starts, levels[depth + 1]) for depth in range(len(levels) - 1)]
    upward, variances = _upward(levels, places)
    top = _adjusted(upward[0], variances[0], records)
    regular = len(levels[0].starts)
    if regular >= _LEAST_SMOOTHED:
        top = np.append(smooth(top[:regular], float(variances[0][:regular].mean())), top[regular:])
    mass = project_simplex(top, records)
    for depth, place in enumerate(places):
        mass = _share_out(
            mass, upward[depth + 1], variances[depth + 1], place, _widths(levels[depth + 1], points)
        )
    return mass


def _widths(level: Level, points: int) -> Float64[np.ndarray, " intervals"]:
    widths = np.diff(np.append(level.starts, points)).astype(np.float64)
    return np.append(widths, np.ones(len(level.counts) - len(level.starts)))


def _places(starts: Starts, finer: Level) -> Int64[np.ndarray, " finer"]:
    """For each interval of the finer level, null included, the interval that it is a part of."""
    inside = np.searchsorted(starts, finer.starts, side="right") - 1
    return np.append(
        inside, np.arange(len(starts), len(starts) + len(finer.counts) - len(finer.starts))
    )


def _upward(
    levels: list[Level], places: list[Int64[np.ndarray, " finer"]]
) -> tuple[list[Masses], list[Masses]]:
    """For each level the best estimates from it and all finer ones, and their variances."""
    estimates = [levels[-1].counts]
    variances = [np.full(len(levels[-1].counts), levels[-1].stddev ** 2)]
    for level, place in zip(reversed(levels[:-1]), reversed(places), strict=True):
        below = np.bincount(place, estimates[0])
        spread = np.bincount(place, variances[0])
        own = level.stddev**2
        estimates.insert(0, (level.counts * spread + below * own) / (spread + own))
        variances.insert(0, spread * own / (spread + own))
    return estimates, variances


def _adjusted(values: Masses, variances: Masses, total: float) -> Masses:
    return np.asarray(values + (total - values.sum()) * variances / variances.sum())


def _share_out(
    mass: Masses,
    values: Masses,
    variances: Masses,
    place: Int64[np.ndarray, " finer"],
    widths: Masses,
) -> Masses:
    """Share the mass of each interval out among its parts."""
    shared = np.zeros(len(values))
    firsts = np.flatnonzero(np.diff(place, prepend=-1))
    for first, stop in zip(firsts, np.append(firsts[1:], len(place)), strict=True):
        whole = mass[place[first]]
        part = slice(first, stop)
        if whole <= 0:
            continue
        even = whole * widths[part] / widths[part].sum()
        if stop - first == 1:
            shared[part] = whole
            continue
        apart = _adjusted(values[part], variances[part], whole) - even
        freedom = stop - first - 1
        chi_square = float((apart**2 / variances[part]).sum())
        if chi_square <= freedom + _CLEARLY_UNEVEN * math.sqrt(2 * freedom):
            shared[part] = even
            continue
        kept = 1 - max(freedom - 2, 1) / chi_square
        shared[part] = project_simplex(even + max(kept, 0.0) * apart, whole)
    return shared
