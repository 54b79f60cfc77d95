"""Refinement as a whole: from a schema with fine columns to one with intervals, and the curator
under it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.accounting import Measurement
from dprap.accounting.refined import RefinedColumn
from dprap.mechanisms.refinement.habits import class_marginal, raked
from dprap.mechanisms.refinement.intervals import Pieces, choose_intervals
from dprap.mechanisms.refinement.masses import masses
from dprap.mechanisms.refinement.planning import RefinementPlan, forced_starts, intervals_for
from dprap.mechanisms.refinement.search import Search, search, total
from dprap.privacy import Curator
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.shape import Habits, Histogram


@dataclass(frozen=True)
class Refinement:
    """The coarser schema, and what was paid for each column."""

    schema: Schema
    columns: dict[str, RefinedColumn]


def refine(curator: Curator, schema: Schema, plan: RefinementPlan) -> Refinement:
    """Spend the plan's ρ on intervals of the fine columns, and let the curator go on with them.

    Args:
        curator: Measures, for a charge; afterwards its domain is that of the returned schema.
        schema: The schema with fine columns.
        plan: What to spend.

    Returns:
        The schema with an interval for each code of the fine columns, and the shape inside each.

    """
    fine = schema.fine_columns
    found = search(curator, plan, fine)
    records = float(curator.n) if curator.neighbors.rows_are_public else total(found)
    rounded = _measure_habits(curator, plan, fine)
    changed, maps, facts = {}, {}, {}
    for column_plan in plan.columns:
        name, column = column_plan.name, fine[column_plan.name]
        levels = found[name].found
        last = levels[-1]
        mass = masses(levels, column.regular, records)[: len(last.starts)]
        pieces = Pieces(last.starts, mass, column.regular)
        rounding: Habits = ()
        if name in rounded:
            parents = levels[-2].starts if len(levels) > 1 else last.starts
            pieces, rounding = raked(rounded[name], column, pieces, parents)
        most = intervals_for(column_plan, curator.neighbors, records)
        forced = forced_starts(schema, name)
        starts = choose_intervals(pieces, most=most, stddev=last.stddev, forced=forced)
        changed[name] = column.refined(starts, _histogram(pieces, column), rounding)
        codes = np.searchsorted(starts, np.arange(column.regular), side="right") - 1
        maps[name] = np.append(
            codes, np.arange(len(starts), len(starts) + column.size - column.regular)
        )
        facts[name] = _facts(found[name], len(starts), float(column_plan.rho))
    refined = schema.with_columns(changed)  # type: ignore[arg-type]
    curator.recode(refined, maps)
    return Refinement(refined, facts)


def _measure_habits(
    curator: Curator, plan: RefinementPlan, fine: dict[str, BinnedColumn]
) -> dict[str, Measurement]:
    """Noisy counts of the classes of multiples, of each column that has them."""
    columns = [column for column in plan.columns if column.has_habits]
    if not columns:
        return {}
    shares = [column.habits_rho for column in columns]
    marginals = [class_marginal(column.name, fine[column.name]) for column in columns]
    measured = curator.measure(marginals, sum(shares), shares)
    return {column.name: each for column, each in zip(columns, measured, strict=True)}


def _facts(found: Search, intervals: int, rho: float) -> RefinedColumn:
    return RefinedColumn(
        found.column.regular, intervals, len(found.found), found.found[-1].stddev, rho
    )


def _histogram(pieces: Pieces, column: BinnedColumn) -> Histogram:
    """The pieces as a histogram; neighbours of equal density are one cell of it."""
    density = pieces.mass / pieces.widths
    new = np.append(True, ~np.isclose(density[1:], density[:-1], rtol=1e-6, atol=0))
    first = np.flatnonzero(new)
    weights = np.add.reduceat(pieces.mass, first)
    edges = np.append(column.bin_edges[pieces.starts[first]], column.bin_edges[-1])
    return Histogram(
        edges=tuple(float(each) for each in edges),
        weights=tuple(float(f"{weight:.4g}") for weight in weights),
    )
