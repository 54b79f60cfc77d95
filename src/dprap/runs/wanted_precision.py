"""Planning backwards: the ε, or the number of records, that a wanted precision needs.

From public facts alone.

The error of a cell of a marginal is taken as 1.96 σ/n: half the width of a 95% interval of a cell
that the run measures, with σ the noise that the plan gives to it. The fit is usually better than
that, because other measurements help; where noise is so large that the run does not measure the
marginal at all, it is worse. So the answer is where to start, and the intervals of the release say
what was reached.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from dprap.errors import DprapError, SettingsError, WorkloadError
from dprap.queries import Marginal
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, make_plan
from dprap.schema import Schema
from dprap.workload import Workload

LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
# Budgets and tables outside of these are beyond use.
_EPSILONS = (1e-3, 100.0)
_RECORDS = (10, 10**12)
# The answer is within one percent.
_CLOSE = 1.01


@dataclass(frozen=True)
class Target:
    """What a wanted error needs: the ε for a number of records, or the records for an ε; None
    beyond reach.
    """

    marginal: Marginal
    cells: int
    error: float
    epsilon: float | None
    records: int | None
    reached_error: float | None

    def lines(self) -> list[str]:
        """The answer for people."""
        asked = (
            f"{self.marginal}: each of its {self.cells:,} cells within ± {self.error:g} of all"
            f" records ({LEVEL:.0%})"
        )
        if self.epsilon is None or self.records is None:
            return [
                asked,
                (
                    "needs more than any budget or table within reach. Ask for a larger error, or"
                    " merge codes."
                ),
            ]
        reached = (
            "" if self.reached_error is None else f"; the noise is then ± {self.reached_error:.2g}"
        )
        return [
            asked,
            f"needs about ε = {self.epsilon:.3g} with {self.records:,} records{reached}",
            (
                "from the noise of the plan alone: the intervals of the release will say what was"
                " reached"
            ),
        ]


def marginal_of(text: str, schema: Schema) -> Marginal:
    """The marginal that a text names: columns with × or * between them.

    >>> from dprap.datasets import example_schema
    >>> str(marginal_of("age × sex*region", example_schema()))
    'age×sex×region'
    """
    names = tuple(name.strip() for name in re.split(r"[×*]| x ", text))
    if not all(names):
        raise WorkloadError(
            "write the marginal as columns with × or * between them, such as age*sex."
        )
    schema.domain.shape_of(names)  # refuses unknown columns
    return Marginal(names)


def plan_for_error(
    schema: Schema, marginal: Marginal, error: float, options: RunOptions, records: int | None
) -> Target:
    """Find the ε that gives every cell of a marginal an error, or with `records` None the number of
    records.

    Args:
        schema: What is publicly known of the table.
        marginal: The marginal whose cells matter.
        error: Half the width of a 95% interval, as a share of all records.
        options: The options of the run. Their ε counts where the records are looked for. Without a
            workload of its own the plan is for the marginal alone.
        records: The number of records, where the ε is looked for.
    """
    if not 0 < error < 1:
        raise SettingsError(
            f"--target-error is a share of all records between 0 and 1, not {error:g}."
        )
    if options.workload is None and options.kway is None:
        limit = max(marginal.size(schema.domain), 1)
        options = options.but(workload=Workload(schema.domain, (marginal,)), max_cells=limit)

    def reached(epsilon: float, rows: int) -> float | None:
        try:
            plan = make_plan(schema, options.but(epsilon=epsilon), records=rows)
            return _error(plan, marginal, rows)
        except DprapError:
            return None  # a budget or table for which there is no plan

    cells = marginal.size(schema.domain)
    if records is not None:
        # whatever is wrong with the options themselves is said here
        make_plan(schema, options.but(epsilon=1.0), records=records)
        found = _least(lambda value: reached(value, records), error, *_EPSILONS)
        at = None if found is None else reached(found, records)
        return Target(marginal, cells, error, found, records, at)
    make_plan(schema, options, records=100_000)
    wanted = _least(lambda value: reached(options.epsilon, round(value)), error, *_RECORDS)
    rows = None if wanted is None else math.ceil(wanted)
    return Target(
        marginal,
        cells,
        error,
        options.epsilon,
        rows,
        None if rows is None else reached(options.epsilon, rows),
    )


def _error(plan: Plan, marginal: Marginal, rows: int) -> float:
    """1.96 σ/n of a cell of the marginal, by the last step of the plan that measures marginals of
    its kind.
    """
    steps = [
        step
        for step in plan.forecast.steps
        if step.stddev_counts is not None and step.label != "accuracy certificate"
    ]
    if not steps:
        raise WorkloadError(
            f"method {plan.method.name} does not say with which noise it measures {marginal}."
        )
    step = steps[0] if len(marginal.columns) == 1 else steps[-1]
    return _Z * float(step.stddev_counts or 0) / rows


def _least(
    reached: Callable[[float], float | None], error: float, low: float, high: float
) -> float | None:
    """The least value, to one percent, whose error is small enough; errors fall as values grow."""

    def enough(value: float) -> bool:
        found = reached(value)
        return found is not None and found <= error

    if not enough(high):
        return None
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
