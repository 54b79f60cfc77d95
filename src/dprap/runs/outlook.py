"""What a plan means to whoever decides about it, from public facts alone: beliefs, cells, and which
questions matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from dprap.accounting.budget import largest_belief, percent_rounded_up
from dprap.errors import WorkloadError
from dprap.queries import Marginal
from dprap.runs.plan import Plan
from dprap.schema import Schema
from dprap.workload.files import workload_entries
from dprap.workload.workload import Workload, weighted

PRIORS = (0.01, 0.1, 0.5)
"""How sure somebody may have been before, in the tables that people are shown."""

# An average cell whose noise is below the first share of it can be read as it is, above the second
# it says nothing.
_READABLE, _NOISE = 0.1, 0.5

# Nobody gains by merging codes of a column that has so few.
_SHORT = 10

TARGET_WEIGHT = 4.0
"""How much more a marginal counts that has the target in it."""

Verdict = Literal["good", "rough", "noise", "unknown"]


@dataclass(frozen=True)
class CellOutlook:
    """What to expect of the cells of a marginal.

    Args:
        columns: The columns.
        cells: How many cells they have together.
        stddev_counts: The noise on one cell if it is measured, in records; None where the method
            says nothing.
        average_counts: Records in a cell, if all cells were equally full; None where the number of
            records is unknown.
        verdict: Whether an average cell stands out from the noise.
    """

    columns: tuple[str, ...]
    cells: int
    stddev_counts: float | None
    average_counts: float | None
    verdict: Verdict


def beliefs(epsilon: float) -> list[tuple[str, str]]:
    """How sure somebody was about one person, and can at most become, in percent."""
    return [
        (f"{prior:.0%}", f"{percent_rounded_up(largest_belief(prior, epsilon))}%")
        for prior in PRIORS
    ]


def cell_outlook(plan: Plan, columns: tuple[str, ...]) -> CellOutlook:
    """What to expect of a marginal.

    The noise is that of the plan's own steps: the first one that measures cells is about single
    columns, the last one about the rest. Under `independent` and the like there is one, which says
    nothing about several columns.
    """
    # of fine columns, the intervals that a run will find
    cells = plan.workload.domain.size_of(columns)
    measuring = [
        step.stddev_counts
        for step in plan.forecast.steps
        if step.stddev_counts is not None and step.cells > 1
    ]
    noise = None if not measuring else measuring[0] if len(columns) == 1 else measuring[-1]
    average = None if plan.records is None else plan.records / cells
    verdict: Verdict = "unknown"
    if noise is not None and average is not None:
        verdict = (
            "good"
            if noise <= _READABLE * average
            else "rough"
            if noise <= _NOISE * average
            else "noise"
        )
    return CellOutlook(columns, cells, noise, average, verdict)


def verdict(plan: Plan) -> str | None:
    """What the noise leaves of the workload, and what would leave more, in a sentence or two.

    None where the number of records or the noise of a cell is not known before the run.
    """
    several = [family for family in plan.workload.families if len(family.columns) > 1]
    outlooks = [cell_outlook(plan, family.columns) for family in several or plan.workload.families]
    if any(outlook.verdict == "unknown" for outlook in outlooks):
        return None
    noisy = [outlook for outlook in outlooks if outlook.verdict == "noise"]
    what = "marginals" if several else "columns"
    if not noisy:
        return f"an average cell of each of the {len(outlooks):,} {what} stands out from the noise"
    sizes = plan.schema.domain
    # Of a fine column the run itself finds intervals, as coarse as the noise wants them.
    long = {name for outlook in noisy for name in outlook.columns} - set(plan.schema.fine_columns)
    longest = sorted(
        (name for name in long if sizes.size(name) > _SHORT), key=sizes.size, reverse=True
    )[:3]
    named = ", ".join(f"{name} ({sizes.size(name):,} codes)" for name in longest)
    advice = [f"make {named} coarser"] if longest else []
    if max(len(each.columns) for each in noisy) > 2:
        advice.append("ask for fewer columns together")
    more = ", or ".join([", ".join(advice), "raise ε"] if advice else ["raise ε"])
    return (
        f"in {len(noisy):,} of {len(outlooks):,} {what} an average cell drowns in the noise: their"
        f" small cells come from the fit, not from measurements. To see more, {more}"
    )


def weighted_workload(plan: Plan, weights: Mapping[str, float], target: str | None) -> Workload:
    """A workload in which some columns matter more.

    A marginal counts as the product of its columns' weights, and `TARGET_WEIGHT` times that if the
    target is in it. A column of weight 0 stays in the table, and is asked for alone.

    Args:
        plan: Its workload says which marginals there are.
        weights: The weight of each column, 1 where it is not named.
        target: A column of which everything else is to be predicted, or None.

    Returns:
        The workload.
    """
    domain = plan.schema.domain
    entries = []
    for family in plan.workload.families:
        weight = math.prod(weights.get(name, 1.0) for name in family.columns)
        if weight > 0:
            entries.append((family, weight * (TARGET_WEIGHT if target in family.columns else 1.0)))
    covered = {name for family, _ in entries for name in family.columns}
    entries += [(Marginal((name,)), 1.0) for name in domain.names if name not in covered]
    return weighted(domain, entries, max_cells=plan.workload.max_cells)


def save_workload(workload: Workload, path: Path) -> None:
    """Write a workload file, whole or not at all.

    Raises:
        WorkloadError: If the file cannot be written.

    """
    part = path.with_name(f".{path.name}.part")
    try:
        text = yaml.safe_dump(
            workload_entries(workload), allow_unicode=True, default_flow_style=None, sort_keys=False
        )
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise WorkloadError(
            f"{path.name}: cannot be written ({error.strerror}). Check the folder."
        ) from None


def labels(schema: Schema, name: str, most: int) -> list[str]:
    """The first codes of a column as people read them."""
    return [schema.label(name, code) for code in range(min(schema.columns[name].size, most))]


def end_labels(schema: Schema, name: str) -> list[str]:
    """The first and the last value of an ordered column as people read them; missing values are not
    among them.
    """
    column = schema.fine_columns[name]
    return [schema.label(name, 0), schema.label(name, len(column.bin_edges) - 2)]


def bin_widths(schema: Schema, name: str, most: int) -> list[float]:
    """The width of each bin of an ordered column as a share of the whole; empty for others, and for
    more than `most`.
    """
    edges = getattr(schema.columns[name], "bin_edges", None)
    if edges is None or not 1 < len(edges) <= most + 1:
        return []
    whole = float(edges[-1]) - float(edges[0])
    return [(float(edges[at + 1]) - float(edges[at])) / whole for at in range(len(edges) - 1)]
