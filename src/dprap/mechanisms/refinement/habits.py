"""Rounding habits: how much likelier multiples of 5, 10, 50, 100, … are than other values.

Every value of the grid lies in one class: the largest number of the chain that divides it. The
noisy counts of the classes are one marginal over groups of codes.
"""

from __future__ import annotations

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Float64, Int64
from dprap.mechanisms.refinement.intervals import Pieces
from dprap.products import product
from dprap.queries import Marginal
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.interval_levels import Starts
from dprap.schema.columns.shape import Habits

# People round to these and to their powers of ten; the chain ends where few multiples are left.
_FIRST = (5, 10)
_LEAST_MULTIPLES = 16

# A habit is believed where a class differs from what even spreading gives by so many standard
# deviations; a class that may be empty is taken to hold this part of a standard deviation.
_BELIEVED = 4.0
_AT_LEAST = 0.25

# Rounds of the fitting: each brings the classes nearer to their counts, and ends with the intervals
# exactly at theirs.
_ROUNDS = 100


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


def raked(
    measured: Measurement, column: BinnedColumn, pieces: Pieces, parents: Starts
) -> tuple[Pieces, Habits]:
    """Masses of the pieces, and weights of the classes, that agree with the counts of the classes.

    The class counts are few and precise; a spike among the pieces was shrunk towards its
    neighbours. A point of class i in a piece of the interval p gets the mass of an even spread
    inside its piece, times f_i·g_p. Iterative proportional fitting finds the factors with which the
    masses of classes and of intervals are as counted: of all masses that keep both, these are
    nearest to the given ones in relative entropy. So multiples of class i are f_i/f_0 times as
    likely as other values.

    Args:
        measured: The noisy counts of the classes.
        column: The column on its grid.
        pieces: The finest intervals, with the masses by their own counts.
        parents: Where the intervals start whose masses stay as they are; each holds whole pieces.

    Returns:
        The pieces with changed masses, and the habits; unchanged and none where the classes hold as
        many records as an even spread gives.

    """
    numbers = chain(column.regular)
    counts = measured.counts[: len(numbers) + 1].astype(np.float64)
    points = _points_by_class(column, pieces, len(counts))
    spread = points * (pieces.mass / pieces.widths)[:, None]
    if spread.sum(axis=0).min() <= 0 or not _differ(counts, spread, measured.stddev_counts):
        return pieces, ()
    wanted = np.maximum(counts, _AT_LEAST * measured.stddev_counts)
    wanted *= spread.sum() / wanted.sum()
    place = np.searchsorted(parents, pieces.starts, side="right") - 1
    table = np.zeros((len(parents), len(counts)))
    np.add.at(table, place, spread)
    kept = table.sum(axis=1)
    of_class, of_parent = np.ones(len(counts)), np.ones(len(parents))
    for _ in range(_ROUNDS):
        of_class = wanted / product(of_parent, table)
        held = product(table, of_class)
        of_parent = np.divide(kept, held, out=np.ones_like(kept), where=held > 0)
    mass = product(spread, of_class) * of_parent[place]
    ratio = of_class / of_class[0]
    found = tuple(
        (number, float(f"{value:.3g}")) for number, value in zip(numbers, ratio[1:], strict=True)
    )
    return Pieces(pieces.starts, mass, pieces.points), found


def _points_by_class(
    column: BinnedColumn, pieces: Pieces, number: int
) -> Float64[np.ndarray, "pieces classes"]:
    """How many points of each class lie in each piece."""
    piece = np.repeat(np.arange(len(pieces.starts)), pieces.widths.astype(np.int64))
    cells = np.bincount(piece * number + classes(column), minlength=len(pieces.starts) * number)
    return cells.reshape(-1, number).astype(np.float64)


def _differ(
    counts: Float64[np.ndarray, " classes"],
    spread: Float64[np.ndarray, "pieces classes"],
    stddev: float,
) -> bool:
    return bool((np.abs(counts - spread.sum(axis=0)) > _BELIEVED * stddev).any())
