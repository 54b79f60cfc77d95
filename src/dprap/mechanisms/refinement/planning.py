"""What refinement may spend, and how many intervals it may make: from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.domain import Domain
from dprap.mechanisms.outline import PlannedStep
from dprap.schema import Schema

# Of ρ, what all columns together would get if all of them were refined; each refined one takes its
# equal part. Methods give a third of ρ or less to one-way marginals, and those of the intervals are
# still to be measured, which decides how many records each holds. Refinement decides where the
# intervals begin and what they look like inside, which needs less: an edge that is off by a
# quarter of an interval changes no count.
SHARE = Fraction(1, 4)

# The part of a column's ρ that buys its rounding habits, next to one part for each level: they are
# few counts of large classes, so that three times the noise does no harm.
HABITS_PART = Fraction(1, 8)

# An interval is refined, and a spike believed, where its noisy count is so many standard deviations
# above zero: one false alarm in 30,000 counts.
CLEAR = 4.0

# Intervals of equal mass beside spikes, at most: a pair of such columns has 4,096 cells.
MOST_INTERVALS = 64
_LEAST_INTERVALS = 4

# Cuts of the long tails, where intervals get ever wider.
TAIL_CUTS = 6


@dataclass(frozen=True)
class ColumnPlan:
    """What is measured of one column: so many levels of intervals, and its rounding habits or
    not.
    """

    name: str
    levels: int
    has_habits: bool
    rho: Fraction

    @property
    def level_rho(self) -> Fraction:
        """What each level costs."""
        return self.rho / (self.levels + (HABITS_PART if self.has_habits else 0))

    @property
    def habits_rho(self) -> Fraction:
        """What the rounding habits cost."""
        return self.rho - self.level_rho * self.levels


@dataclass(frozen=True)
class RefinementPlan:
    """What is spent on which columns, and the codes that each has afterwards at most."""

    columns: tuple[ColumnPlan, ...]
    domain: Domain
    points: int

    @property
    def rho(self) -> Fraction:
        """What refinement costs in all."""
        return sum((column.rho for column in self.columns), Fraction(0))

    def outline(self, neighbors: Neighbors) -> PlannedStep:
        """The step, for the plan."""
        names = [column.name for column in self.columns]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        least = min(column.level_rho for column in self.columns)
        cells = sum(column.levels * 10 * MOST_INTERVALS for column in self.columns)
        label = f"find intervals of {shown}"
        return PlannedStep(label, self.rho, stddev_for(neighbors.marginal_l2_squared, least), cells)


def plan_refinement(
    schema: Schema, *, rho: Fraction, neighbors: Neighbors, records: int | None
) -> RefinementPlan | None:
    """The plan for the fine columns of a schema; None where it has none.

    Args:
        schema: The schema.
        rho: The budget of the run without what is set aside.
        neighbors: The neighbour relation.
        records: The number of records where it is public.

    """
    fine = schema.fine_columns
    if not fine:
        return None
    each = rho * SHARE / len(schema.columns)
    columns = tuple(
        ColumnPlan(name, len(column.interval_levels()), column.is_number, each)
        for name, column in fine.items()
    )
    sizes = dict(zip(schema.domain.names, schema.domain.sizes, strict=True))
    for column in columns:
        most = intervals_for(column, neighbors, records)
        bound = (
            2 * most
            + TAIL_CUTS
            + 2
            + len(forced_starts(schema, column.name))
            + fine[column.name].nullable
        )
        sizes[column.name] = min(bound, sizes[column.name])
    return RefinementPlan(columns, Domain.of(sizes), sum(fine[name].regular for name in fine))


def intervals_for(column: ColumnPlan, neighbors: Neighbors, records: float | None) -> int:
    """How many intervals of equal mass a column gets: K = √(n/σ), with σ the noise of a level.

    A pair of such columns has K² cells, which then hold as many records as noise in the mean.
    Finer intervals would show less of how columns go together (a sharp linear relation of 20,000
    records at ε = 1 comes out with a correlation of .69 at K = 64 and of .84 at K = 16), and they
    are not needed for a column by itself, whose shape inside intervals is known.
    """
    if records is None:
        return MOST_INTERVALS
    resolution = records / stddev_for(neighbors.marginal_l2_squared, column.level_rho)
    return int(min(max(math.sqrt(resolution), _LEAST_INTERVALS), MOST_INTERVALS))


def forced_starts(schema: Schema, name: str) -> tuple[int, ...]:
    """Points at which an interval must begin because a constraint of the schema tells its values
    apart. Public.
    """
    column = schema.fine_columns[name]
    found: set[int] = set()
    for constraint in schema.code_constraints:
        for label in constraint.labels(name):
            found.update((1 + np.flatnonzero(np.diff(label[: column.regular]))).tolist())
    return tuple(sorted(found))
