"""What the games of FEM and DualQuery share: how they are planned, and the oracle for the queries
that were met.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dprap.accounting import Neighbors
from dprap.mechanisms.outline import PlannedStep, rho_of_records, total_of_records
from dprap.workload import Workload
from dprap_bench.mechanisms.oracle import Oracle
from dprap_bench.mechanisms.signed_selection import SignedQuery


class GameSettings(Protocol):
    """Settings that both games have."""

    @property
    def rounds(self) -> int:
        """Rounds of the game."""
        ...

    @property
    def records_share(self) -> float:
        """What the number of records costs where it is private, as a share of ρ."""
        ...

    @property
    def oracle_seconds(self) -> float:
        """How long one call of the solver may take."""
        ...


def outline_of_game(
    choices: str,
    workload: Workload,
    settings: GameSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
) -> list[PlannedStep]:
    """Pay for the number of records where it is private, and with the rest for choices; nothing is
    measured.
    """
    records_rho = rho_of_records(budget_rho, settings.records_share, neighbors)
    evaluate = float(settings.rounds * workload.queries)
    return [
        *total_of_records(records_rho, neighbors),
        PlannedStep(choices, budget_rho - records_rho, None, 0, evaluate),
    ]


def oracle_for(workload: Workload, met: Sequence[SignedQuery], settings: GameSettings) -> Oracle:
    """The oracle that looks for the record which answers these queries best."""
    rewards = [(pick.query, float(pick.sign)) for pick in met]
    return Oracle.of(workload.domain, rewards, seconds=settings.oracle_seconds)
