"""What was paid for the intervals of a column that was declared without bins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RefinedColumn:
    """How the intervals of a column without bins were found: noisy counts of `levels` levels of
    intervals, for `rho`.

    The schema of the release has the `intervals`, and the shape inside each; the grid had `points`.
    """

    points: int
    intervals: int
    levels: int
    stddev_counts: float
    rho: float
