"""What a plan will cost and give, from public facts alone: no data are touched.

* **Noise**: the standard deviation of each measured number, by the method's own arithmetic
  (`outline`).
* **Time** and **memory** are sums over the parts of a run, each a formula with a measured constant.
  `docs/scale.md` derives them.

part        processor seconds                              memory
start       libraries                                      libraries
read        records × columns                              codes of a short table, twice
count       records × marginals, and the cells             4 bytes a cell, 2,000 a marginal
measure     cells with noise                               –
choose, fit the method's multiplications (`PlannedStep`),  rows of the relaxed data set, eight
            and its overhead for each look at a marginal   times
draw        records × marginals that are matched, and      codes of the table, and values of a
            exchanges                                      few chunks
certify     records × marginals, and cells × relaxed rows  –
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dprap.accounting.stddev import stddev_for
from dprap.counting.passes import MEMORY_LIMIT, UNION_CELLS
from dprap.encoding import code_dtype
from dprap.mechanisms.outline import PlannedStep
from dprap.relaxed.exchange import DEFAULT as EXCHANGE
from dprap.release.draw_records import MOST_ROWS_HELD, WRITTEN_ROWS
from dprap.runs.plan import Plan

REPLICATES = 2
"""Repetitions of a run.

Each has fewer relaxed rows where these are many, and fewer steps, so that both together take about
as long as the run.
"""

# The constants below were measured on one core of a Xeon of 2023 at 2.3 GHz; see docs/scale.md. An
# EPYC of 2024 takes half of that at rest, and about as long with a load of 20. What lies
# between is within a factor of two of both.
_USUAL_SPEED = 1.5
_BASE_MB = 200.0
_START_SECONDS = 1.5
# A table is drawn in chunks, with an owner and a place for each record and two copies of each code,
# and decoded in smaller ones, of which the first two stay until the last is written.
_BYTES_A_RECORD = 32
_BYTES_A_VALUE = 9
_DECODED_CHUNKS = 3
# Records × marginals that are counted, of the private table and of the synthetic one.
_COUNTED_PER_SECOND = 1.2e8
# Pairs are counted several at a time, as unions of columns: records × unions, and the part of all
# pairs of its columns that a union serves, since others have served some.
_UNIONS_PER_SECOND = 2e8
_SERVED_BY_UNION = 0.7
# Values that are read from a file and encoded.
_VALUES_READ_PER_SECOND = 3e7
# Calls for each marginal that is counted, answered or certified.
_SECONDS_A_MARGINAL = 1e-4
# Python's objects for a marginal, its counts, its place in unions and among what is drawn.
_BYTES_A_MARGINAL = 2000
# A count is kept in four bytes. Of a marginal with more cells than records, those that occur are
# kept, with eight bytes for the number of a cell.
_BYTES_A_CELL = 4
_BYTES_A_SPARSE_CELL = 12
# Most marginals are small ones, whose noise OpenDP draws.
_NOISE_PER_SECOND = 1e6
# Of elementwise arithmetic, in which methods state their work; and of matrix products.
_MULTIPLICATIONS_PER_SECOND = 5e8
_PRODUCTS_PER_SECOND = 2e10
# Exchanges of codes: passes over the columns, pairs of records in each, looks at a marginal in
# each.
_EXCHANGED_PER_SECOND = 2e7
# Drawing a column: laying codes out, shuffling them, and putting records into random order.
_VALUES_DRAWN_PER_SECOND = 2e7


@dataclass(frozen=True)
class Forecast:
    """The steps of a plan, and roughly what it costs; None where that follows from an unknown
    number of records.
    """

    steps: tuple[PlannedStep, ...]
    memory_mb: float | None
    core_seconds: float | None


def forecast(plan: Plan, rows: int | None) -> Forecast:
    """Forecast a plan; `rows` is the number of records where it is known."""
    certificate_rho = plan.budget.rho * Fraction(plan.certificate_share)
    refinement_rho = Fraction(0) if plan.refinement is None else plan.refinement.rho
    steps = plan.method.outline(
        plan.workload,
        plan.settings,
        budget_rho=plan.budget.rho - certificate_rho - refinement_rho,
        neighbors=plan.neighbors,
        rows=rows,
        **({} if plan.public is None else {"public": plan.public}),
    )
    if plan.refinement is not None:
        steps = [plan.refinement.outline(plan.neighbors), *steps]
    if certificate_rho:
        stddev = stddev_for(plan.neighbors.query**2, certificate_rho)
        steps = [*steps, PlannedStep("accuracy certificate", certificate_rho, stddev, 1)]
    if rows is None:
        return Forecast(tuple(steps), None, None)
    memory_mb = _memory_mb(plan, rows) + max(step.memory_bytes for step in steps) / 1e6
    return Forecast(tuple(steps), memory_mb, _core_seconds(plan, rows, steps))


def _memory_mb(plan: Plan, rows: int) -> float:
    domain = plan.workload.domain
    width = sum(code_dtype(size).itemsize for size in domain.sizes)
    cells = [domain.size_of(family.columns) for family in plan.workload]
    counts = sum(
        _BYTES_A_MARGINAL
        + (
            min(_BYTES_A_CELL * size, _BYTES_A_SPARSE_CELL * rows)
            if size > rows
            else _BYTES_A_CELL * size
        )
        for size in cells
    )
    relaxed = 8 * 4 * domain.onehot_size * getattr(plan.settings, "synthetic_rows", 1)
    held = 2 * rows * width if 2 * rows * width <= MEMORY_LIMIT else 0
    drawn = (
        (rows * width if rows <= MOST_ROWS_HELD else 0)
        + min(rows, EXCHANGE.chunk_records) * (2 * width + _BYTES_A_RECORD)
        + min(rows, _DECODED_CHUNKS * WRITTEN_ROWS) * len(domain) * _BYTES_A_VALUE
    )
    matched = 8 * min(sum(cells), EXCHANGE.cells_per_record * min(rows, EXCHANGE.exchange_records))
    return _BASE_MB + (held + counts + relaxed + max(drawn, matched)) / 1e6


def _core_seconds(plan: Plan, rows: int, steps: list[PlannedStep]) -> float:
    families, columns = len(plan.workload), len(plan.workload.domain)
    queries = plan.workload.queries
    relaxed_rows = getattr(plan.settings, "synthetic_rows", 1)
    count = _count_seconds(plan, rows)
    is_repeated = plan.intervals and plan.method.predicts and rows <= MOST_ROWS_HELD
    repeated = REPLICATES if is_repeated else 0
    seconds = (
        _START_SECONDS
        + rows * columns / _VALUES_READ_PER_SECOND
        + count * (1 + repeated)
        + families * _SECONDS_A_MARGINAL
        + sum(step.cells for step in steps) / _NOISE_PER_SECOND
        # both repetitions together take about as long as the run
        + sum(step.multiplications for step in steps)
        * (2 if repeated else 1)
        / _MULTIPLICATIONS_PER_SECOND
    )
    if plan.certificate_share:
        looks = min(sum(len(family.columns) for family in plan.workload), EXCHANGE.most_looks)
        passes = min(
            EXCHANGE.passes,
            max(EXCHANGE.least_passes, EXCHANGE.passes * EXCHANGE.usual_looks // looks),
        )
        pairs = EXCHANGE.sample * min(rows, EXCHANGE.exchange_records) / 2
        seconds += (
            passes * looks * pairs / _EXCHANGED_PER_SECOND
            + rows * columns / _VALUES_DRAWN_PER_SECOND
            + count
            + queries * relaxed_rows / _PRODUCTS_PER_SECOND
        )
    return seconds / _USUAL_SPEED


def _count_seconds(plan: Plan, rows: int) -> float:
    """Counting the workload once: all pairs by unions of columns, anything else marginal by
    marginal.
    """
    domain, families = plan.workload.domain, len(plan.workload)
    one_by_one = rows * families / _COUNTED_PER_SECOND
    if families < math.comb(len(domain), 2) or any(
        len(family.columns) != 2 for family in plan.workload
    ):
        return one_by_one
    bits = sum(math.log2(size) for size in domain.sizes) / len(domain)
    together = min(math.log2(UNION_CELLS) / max(1.0, bits), len(domain))
    served = max(1.0, _SERVED_BY_UNION * together * (together - 1) / 2)
    return min(one_by_one, rows * families / served / _UNIONS_PER_SECOND)
