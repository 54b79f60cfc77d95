"""How the budget is spread, from public facts alone: ρ, the number of records, the domain and the workload."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.privacy import Neighbors
from dprap.privacy.gaussian import stddev_for
from dprap.queries import Marginal
from dprap.workload import Workload

_RESOLUTION = 60
# Picks are added while the noise they would have left, were all of ρ spent on one marginal, is below n/60 apiece.
_ROUNDS = 10


@dataclass(frozen=True)
class Round:
    """One round: how many marginals are chosen by the worst cell and by summed error, and what each pick may cost."""

    by_cell: int
    by_sum: int
    select_rho: Fraction
    measure_rho: Fraction

    @property
    def picks(self) -> int:
        """Marginals chosen in this round."""
        return self.by_cell + self.by_sum


@dataclass(frozen=True)
class Schedule:
    """Shares of the one-way marginals, and the rounds."""

    one_way_rho: Fraction
    one_way_shares: tuple[float, ...]
    rounds: tuple[Round, ...]


def one_way_shares(workload: Workload) -> tuple[float, ...]:
    """Shares ∝ (uses · size)^(2/3): they minimise Σ uses · size · σ, the summed L1 noise over the workload."""
    uses = [max(sum(name in family.columns for family in workload), 0.5) for name in workload.domain]
    return tuple((use * size) ** (2 / 3) for use, size in zip(uses, workload.domain.sizes, strict=True))


def plan_rounds(
    settings: AdaptiveSettings,
    *,
    rho: Fraction,
    left: Fraction,
    records: float,
    columns: int,
    candidates: int,
    neighbors: Neighbors,
) -> tuple[Round, ...]:
    """Rounds that spend exactly `left`: more picks the less the noise matters, at least one a column."""
    if not candidates:
        return ()
    resolved = records / stddev_for(neighbors.marginal_l2_squared, rho) / _RESOLUTION
    total = settings.picks or max(round(resolved), columns)
    rounds = settings.rounds or _ROUNDS
    per_round = max(2, math.ceil(total / rounds))
    per_round = min(per_round, candidates)
    count = max(1, round(total / per_round))
    per_pick = left / (count * per_round)
    select = per_pick * Fraction(settings.selection_share)
    by_sum = {"blend": 1, "max": 0, "mean": per_round}[settings.objective]
    each = Round(per_round - by_sum, by_sum, select, per_pick - select)
    return (each,) * count


def candidates_of(workload: Workload) -> tuple[Marginal, ...]:
    """What may be measured after the one-way marginals: everything in the downward closure over two columns or more."""
    return workload.closure(smallest=2)
