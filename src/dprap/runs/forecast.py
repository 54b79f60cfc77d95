"""What a plan will cost and give, from public facts alone: no data are touched.

* **Noise**: the standard deviation of each measured number, by the method's own arithmetic (`outline`).
* **Memory** ≈ 300 MB for Python and its libraries + codes of the table, twice while they are encoded + exact counts of the
  workload (8 bytes a cell; 16 for each occupied one where cells outnumber records) + four float32 copies of the relaxed rows.
* **Time** on one core ≈ 5 s to start and compile + counting rows × marginals at 3·10^8 a second + noise at 5·10^4 cells a
  second (most marginals are small ones, which OpenDP draws) + the method's multiplications at 5·10^8 a second. Reading the
  table is not in it.

Counting and noise are from bench/README.md; the speed of multiplications is fitted to one run of the demo (96 s of one core
in all). Both figures show the order of magnitude and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dprap.accounting.stddev import stddev_for
from dprap.encoding import code_dtype
from dprap.mechanisms.outline import PlannedStep
from dprap.runs.plan import Plan

_BASE_MB = 300.0
_START_SECONDS = 5.0
_COUNTED_PER_SECOND = 3e8
_NOISE_PER_SECOND = 5e4
_MULTIPLICATIONS_PER_SECOND = 5e8


@dataclass(frozen=True)
class Forecast:
    """The steps of a plan, and roughly what it costs; None where that follows from an unknown number of records."""

    steps: tuple[PlannedStep, ...]
    memory_mb: float | None
    core_seconds: float | None


def forecast(plan: Plan, rows: int | None) -> Forecast:
    """Forecast a plan; `rows` is the number of records where it is known."""
    certificate_rho = plan.budget.rho * Fraction(plan.certificate_share)
    steps = plan.method.outline(
        plan.workload,
        plan.settings,
        budget_rho=plan.budget.rho - certificate_rho,
        neighbors=plan.neighbors,
        rows=rows,
        **({} if plan.public is None else {"public": plan.public}),
    )
    if certificate_rho:
        stddev = stddev_for(plan.neighbors.query**2, certificate_rho)
        steps = [*steps, PlannedStep("accuracy certificate", certificate_rho, stddev, 1)]
    if rows is None:
        return Forecast(tuple(steps), None, None)
    return Forecast(tuple(steps), _memory_mb(plan, rows), _core_seconds(plan, rows, steps))


def _memory_mb(plan: Plan, rows: int) -> float:
    domain = plan.workload.domain
    codes = 2 * rows * sum(code_dtype(size).itemsize for size in domain.sizes)
    cells = [domain.size_of(family.columns) for family in plan.workload]
    counts = sum(min(8 * size, 16 * rows) if size > rows else 8 * size for size in cells)
    relaxed = 16 * domain.onehot_size * getattr(plan.settings, "synthetic_rows", 1)
    return _BASE_MB + (codes + counts + relaxed) / 1e6


def _core_seconds(plan: Plan, rows: int, steps: list[PlannedStep]) -> float:
    return (
        _START_SECONDS
        + rows * len(plan.workload) / _COUNTED_PER_SECOND
        + sum(step.cells for step in steps) / _NOISE_PER_SECOND
        + sum(step.multiplications for step in steps) / _MULTIPLICATIONS_PER_SECOND
    )
