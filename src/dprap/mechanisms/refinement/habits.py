"""Rounding habits: how much likelier multiples of 5, 10, 50, 100, … are than other values.

Every value of the grid lies in one class: the largest number of the chain that divides it. The
noisy counts of the classes are one marginal over groups of codes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Float64, Int64
from dprap.mechanisms.refinement.intervals import Pieces
from dprap.queries import Marginal
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.shape import Habits

# People round to these and to their powers of ten; the chain ends where few multiples are left.
_FIRST = (5, 10)
_LEAST_MULTIPLES = 16

# A habit is believed where a class differs from what even spreading gives by so many standard
# deviations; a class that may be empty is taken to hold this part of a standard deviation.
_BELIEVED = 4.0
_AT_LEAST = 0.25


def chain(points: int) -> tuple[int, ...]:
    """The numbers whose multiples are counted, for a grid of so many points.

    >>> chain(2_000)
    (5, 10, 50, 100)
    """
    numbers = [number * 10**power for power in range(20) for number in _FIRST]
    return tuple(number for number in numbers if points // number >= _LEAST_MULTIPLES)


def classes(column: BinnedColumn) -> Int64[np.ndarray, " points"]:
    """The class of each point of the grid: how many numbers of the chain divide it."""
    steps = column.first_steps(column.bin_edges[:-1])
    assert steps is not None  # noqa: S101 - a grid has a lattice
    found = np.zeros(column.regular, dtype=np.int64)
    for number in chain(column.regular):
        found += steps % number == 0
    return found


def class_marginal(name: str, column: BinnedColumn) -> Marginal:
    """The marginal whose cells are the classes, and null where the column has nulls."""
    label = classes(column)
    groups = [tuple(np.flatnonzero(label == each).tolist()) for each in range(int(label.max()) + 1)]
    if column.null_code is not None:
        groups.append((column.null_code,))
    return Marginal((name,), (tuple(groups),))


def habits(measured: Measurement, column: BinnedColumn, pieces: Pieces) -> Habits:
    """Weights of the classes, after single points that were found by themselves are taken out.

    With r_i records of class i beyond those points, and e_i as many as an even spread inside the
    pieces would give, multiples of class i are (r_i/e_i)/(r_0/e_0) times as likely as other values.
    """
    label = classes(column)
    numbers = chain(column.regular)
    counts = measured.counts[: len(numbers) + 1].astype(np.float64)
    single = pieces.widths == 1
    points: Float64[np.ndarray, " classes"] = np.bincount(
        label[pieces.starts[single]], pieces.mass[single], minlength=len(counts)
    )
    density = np.repeat(
        np.where(single, 0.0, pieces.mass / pieces.widths), pieces.widths.astype(np.int64)
    )
    even = np.bincount(label, density, minlength=len(counts))
    rest = np.maximum(counts - points, _AT_LEAST * measured.stddev_counts)
    if even.min() <= 0 or not _believed(rest, even, measured.stddev_counts):
        return ()
    ratio = (rest / even) / (rest[0] / even[0])
    return tuple(
        (number, float(f"{value:.3g}")) for number, value in zip(numbers, ratio[1:], strict=True)
    )


def _believed(rest: Sequence[float] | np.ndarray, even: np.ndarray, stddev: float) -> bool:
    return bool((np.abs(np.asarray(rest) - even) > _BELIEVED * stddev).any())
