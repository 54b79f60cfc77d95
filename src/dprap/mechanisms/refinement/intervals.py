"""Which codes the mechanism gets: spikes as points of their own, and intervals of about equal mass
between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dprap.array_types import Bool, Float64
from dprap.mechanisms.refinement.masses import Masses
from dprap.mechanisms.refinement.planning import CLEAR, TAIL_CUTS
from dprap.schema.columns.interval_levels import Starts

# A point is a spike where it holds so many times the mean of the other points around it.
_SPIKE_RATIO = 4.0
_AROUND = 10

# Where there are too many intervals, each is to hold so many times as much.
_MORE_MASS = 1.25

# In a tail each interval may be so many times as wide as the one before it.
_TAIL_GROWTH = 4


@dataclass(frozen=True)
class Pieces:
    """The finest intervals found: where they start among the points of the grid, and the records in
    each.
    """

    starts: Starts
    mass: Masses
    points: int

    @property
    def widths(self) -> Float64[np.ndarray, " pieces"]:
        """Points in each piece."""
        return np.diff(np.append(self.starts, self.points)).astype(np.float64)

    def spikes(self, stddev: float) -> Bool[np.ndarray, " pieces"]:
        """Which pieces are single points that stand out of the noise and of their surroundings."""
        single = (self.widths == 1) & (self.mass > CLEAR * stddev)
        found = np.zeros(len(self.mass), dtype=bool)
        for at in np.flatnonzero(single):
            around = slice(max(at - _AROUND, 0), at + _AROUND + 1)
            widths = self.widths[around].sum() - 1
            others = self.mass[around].sum() - self.mass[at]
            found[at] = widths <= 0 or self.mass[at] > _SPIKE_RATIO * others / widths
        return found


def choose_intervals(
    pieces: Pieces, *, most: int, stddev: float, forced: Sequence[int] = ()
) -> Starts:
    """The starts of at most 2·`most` + TAIL_CUTS + 2 intervals, and of those that are forced.

    Args:
        pieces: The finest intervals.
        most: Intervals of equal mass.
        stddev: The noise of a piece's count.
        forced: Points at which an interval must begin.

    """
    is_spike = pieces.spikes(stddev)
    if is_spike.sum() > most // 2:
        largest = np.argsort(-np.where(is_spike, pieces.mass, -1), kind="stable")[: most // 2]
        is_spike = np.isin(np.arange(len(is_spike)), largest)
    ends = np.isin(pieces.starts, np.array(forced, dtype=np.int64)) | is_spike
    ends[1:] |= is_spike[:-1]
    room = 2 * most + TAIL_CUTS + 2 + len(forced)
    # without the spikes: what most records have leaves few for the rest, which still is to be told
    # apart
    target = max(float(pieces.mass[~is_spike].sum()) / most, CLEAR * stddev)
    while True:
        chosen = _filled(pieces, ends, target)
        cuts = _tail_cuts(pieces, chosen, is_spike, CLEAR * stddev)
        found = np.unique(np.concatenate([chosen, cuts, np.array(forced)]).astype(np.int64))
        if len(found) <= room:
            return found
        target *= _MORE_MASS


def _filled(pieces: Pieces, ends: Bool[np.ndarray, " pieces"], target: float) -> Starts:
    """Starts of intervals that each take pieces up to the target mass, or to the next forced
    end.
    """
    chosen: list[int] = []
    room = 0.0  # what the present interval may still take
    for at, (start, mass) in enumerate(
        zip(pieces.starts.tolist(), pieces.mass.tolist(), strict=True)
    ):
        if at == 0 or ends[at] or room < mass / 2:
            chosen.append(start)
            room = target
        room -= mass
    return np.array(chosen, dtype=np.int64)


def _tail_cuts(
    pieces: Pieces, starts: Starts, is_spike: Bool[np.ndarray, " pieces"], clear: float
) -> list[int]:
    """At most TAIL_CUTS cuts of intervals far wider than a neighbour with a clear count: ever wider
    away from it.

    The mechanism measures a count for each, so that a long tail is not spread evenly to its end.
    """
    spikes = set(pieces.starts[is_spike].tolist())
    stops = np.append(starts[1:], pieces.points).tolist()
    mass = np.add.reduceat(pieces.mass, np.searchsorted(pieces.starts, starts)).tolist()
    every = zip(starts.tolist(), stops, mass, strict=True)
    plain = [
        (start, stop, held)
        for start, stop, held in every
        if start not in spikes or stop - start > 1
    ]
    cuts: list[int] = []
    for (left, mid, before), (after, right, behind) in pairwise(plain):
        first, second = mid - left, right - after
        if before >= clear and second > _TAIL_GROWTH**2 * first:
            cuts += _growing(after, right, first)
        elif behind >= clear and first > _TAIL_GROWTH**2 * second:
            cuts += [left + mid - cut for cut in _growing(left, mid, second)]
    cuts = sorted(set(cuts))
    while len(cuts) > TAIL_CUTS:
        cuts.pop(int(np.argmin(np.diff(cuts))))
    return cuts


def _growing(start: int, stop: int, width: int) -> list[int]:
    """Cuts at ever larger distances from the start, none too near to the end."""
    found, distance = [], max(width, 1) * _TAIL_GROWTH
    while start + distance * 2 < stop:
        found.append(start + distance)
        distance *= _TAIL_GROWTH
    return found[-TAIL_CUTS // 2 :]
