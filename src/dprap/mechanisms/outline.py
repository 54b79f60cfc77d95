"""What a method will do with its budget, told before any data are touched.

Each method has a function `outline(workload, settings, *, budget_rho, neighbors, rows) ->
list[PlannedStep]` that plans with the same arithmetic as its `run`. `rows` is the number of
records, or None where it is private or unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dprap.accounting import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.domain import Domain
from dprap.queries import Marginal


@dataclass(frozen=True)
class PlannedStep:
    """A part of the budget and what it buys.

    `stddev_counts` is the noise of each measured number, None for a choice; `cells` the numbers
    measured, at most. `multiplications` is the public work that goes with the step: evaluating and
    fitting rows. `memory_bytes` is what it takes beside exact counts and rows.
    """

    label: str
    rho: Fraction
    stddev_counts: float | None
    cells: int
    multiplications: float = 0.0
    memory_bytes: float = 0.0


Outline: TypeAlias = Callable[..., list[PlannedStep]]


def total_of_records(rho: Fraction, neighbors: Neighbors) -> list[PlannedStep]:
    """The step that buys the number of records, where it is private."""
    if neighbors.rows_are_public:
        return []
    return [
        PlannedStep("number of records", rho, stddev_for(neighbors.marginal_l2_squared, rho), 1)
    ]


def measured_marginals(
    label: str,
    marginals: Sequence[Marginal],
    domain: Domain,
    *,
    rho: Fraction,
    neighbors: Neighbors,
) -> PlannedStep:
    """The step that measures marginals with equal shares of rho."""
    stddev = stddev_for(neighbors.marginal_l2_squared, rho / len(marginals))
    return PlannedStep(
        label, rho, stddev, sum(domain.size_of(marginal.columns) for marginal in marginals)
    )


def rho_of_records(rho: Fraction, share: float | Fraction, neighbors: Neighbors) -> Fraction:
    """What the number of records costs: a share of rho, or nothing where it is public."""
    return Fraction(0) if neighbors.rows_are_public else rho * Fraction(share)
