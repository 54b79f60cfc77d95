"""Answers that are made of others (shares of a group, quantiles, differences, ratios), with
intervals and exact values.

All come from the table of counts over two or three columns. The longest column is asked about, in
the groups that the others make: which share of a group lies in a range of it, its median and its
90% quantile, the difference of two groups' shares, and the ratio of two groups' counts. Intervals
are made by the functions that questions use.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dprap.release import Release
from dprap.release.intervals import Interval, Kind, compound
from dprap.release.intervals.interval import count_intervals

# Groups of a table that are looked at, and the fewest records of one: of fewer, nearly any share is
# possible.
_GROUPS = 12
_LEAST_GROUP = 20.0
_LEVELS = (0.5, 0.9)

DERIVED = ("share", "quantile", "difference", "ratio")

Derived = tuple[str, float, float, Interval]
"""A class, the size of the group, the exact value, and the interval."""


def derived_answers(
    release: Release,
    columns: tuple[str, ...],
    estimated: np.ndarray,
    true: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[Derived]:
    """Answers over these columns, of some groups with records."""
    axis = int(np.argmax(estimated.shape))
    length = estimated.shape[axis]
    of, exact = (np.moveaxis(table, axis, -1).reshape(-1, length) for table in (estimated, true))
    usable = np.flatnonzero((of.sum(axis=1) >= _LEAST_GROUP) & (exact.sum(axis=1) > 0))
    if length < 2 or not usable.size:
        return
    chosen = rng.permutation(usable)[:_GROUPS]
    low, high = np.sort(rng.choice(length + 1, 2, replace=False))
    others = tuple(name for place, name in enumerate(columns) if place != axis)
    shares = []
    for group in chosen:
        size, part = float(of[group].sum()), float(of[group, low:high].sum())
        if 0 < high - low < length:
            counts = count_intervals(
                release, columns, np.array([part, size - part]), kind=Kind.RANGE
            )
            shares.append(
                (
                    compound.share(*counts),
                    float(exact[group, low:high].sum() / exact[group].sum()),
                    size,
                )
            )
            yield "share", size, shares[-1][1], shares[-1][0]
        for level in _LEVELS:
            yield "quantile", size, *_quantile(release, columns, of[group], exact[group], level)
    for (first, exact_first, one), (second, exact_second, other) in pairwise(shares):
        yield (
            "difference",
            min(one, other),
            exact_first - exact_second,
            compound.difference(first, second),
        )
    sizes = of.sum(axis=1)
    kind = Kind.CELL if others else Kind.RANGE
    for one, other in pairwise(chosen):
        first, second = count_intervals(release, others, sizes[[one, other]], kind=kind)
        value = float(exact[one].sum() / exact[other].sum())
        correlation = compound.of_one_table(float(sizes[one]), float(sizes[other]), release.rows)
        found = compound.ratio(first, second, correlation=correlation)
        yield "ratio", float(min(sizes[one], sizes[other])), value, found


def _quantile(
    release: Release, columns: tuple[str, ...], counts: np.ndarray, exact: np.ndarray, level: float
) -> tuple[float, Interval]:
    """The quantile of codes, spread evenly over [code, code + 1), by both tables."""
    size = float(counts.sum())
    below = count_intervals(release, columns, np.array([level, 1 - level]) * size, kind=Kind.RANGE)
    return _value_at(exact, level), compound.quantile(
        lambda share: _value_at(counts, share), compound.share(*below)
    )


def _value_at(counts: np.ndarray, share: float) -> float:
    running = np.concatenate([[0.0], np.cumsum(counts)])
    return float(np.interp(share * running[-1], running, np.arange(len(running))))
