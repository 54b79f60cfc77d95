"""Levels of nested intervals of a column's points, coarse to fine, along which a run refines it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dprap.array_types import Int64

Starts = Int64[np.ndarray, " intervals"]
"""The first code of each interval of neighbouring codes."""

TOP_INTERVALS = 256
"""Refinement starts with the finest round intervals of which there are at most so many: noise is
the same for all.
"""


def nested_starts(
    labels: Sequence[Int64[np.ndarray, " points"]], points: int
) -> tuple[Starts, ...]:
    """Levels of nested intervals of points, coarse to fine; neighbours with one label are in one
    interval.

    It begins with the finest level of at most `TOP_INTERVALS` intervals and ends with the points
    themselves.

    >>> [
    ...     len(starts)
    ...     for starts in nested_starts([np.arange(1000) // 100, np.arange(1000) // 10], 1000)
    ... ]
    [100, 1000]
    """
    cuts = np.zeros(points, dtype=bool)
    found: list[Starts] = []
    for label in labels:
        cuts[1:] |= label[1:] != label[:-1]
        found.append(np.append(0, np.flatnonzero(cuts)))
    return useful_levels(found, points)


def useful_levels(found: Iterable[Starts], points: int) -> tuple[Starts, ...]:
    """Levels of nested intervals, coarse to fine, without those that refinement has no use for."""
    levels: list[Starts] = []
    for starts in found:
        if levels and (len(starts) <= TOP_INTERVALS or len(starts) == len(levels[-1])):
            levels.pop()
        levels.append(starts)
    if levels and (points <= TOP_INTERVALS or len(levels[-1]) == points):
        levels.pop()
    return (*levels, np.arange(points))
