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

_PICKS = 0.27
# Marginals chosen in all: 0.27 · (n/σ)^(2/3), with σ the noise of one marginal that got all of ρ. With J picks each has noise σ√J,
# so J grows as long as a further marginal removes more error than its share of the budget adds noise to the others.
_CELLS_PER_RESOLUTION = 8
# A marginal over three columns or more is worth choosing only if a typical cell, n/cells, is not far below its noise.
_NOISY = 600
# The n/σ at and below which a third of ρ goes to the one-way marginals: about ε = 0.1 at 50,000 records.
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


def one_way_rho(settings: AdaptiveSettings, *, rho: Fraction, records: float, neighbors: Neighbors) -> Fraction:
    """What the one-way marginals get in all: a third where noise rules, less as it fades and pairs of columns matter more."""
    if settings.one_way_share is not None:
        return rho * Fraction(settings.one_way_share)
    resolution = records / stddev_for(neighbors.marginal_l2_squared, rho)
    return rho / 3 * Fraction(min(1.0, math.pow(_NOISY / resolution, 1 / 3)))


def one_way_shares(workload: Workload) -> tuple[float, ...]:
    """Shares ∝ (uses · size)^(2/3): they minimise Σ uses · size · σ, the summed L1 noise over the workload."""
    uses = [max(sum(name in family.columns for family in workload), 0.5) for name in workload.domain]
    return tuple((use * size) ** (2 / 3) for use, size in zip(uses, workload.domain.sizes, strict=True))


@dataclass(frozen=True)
class Schedule:
    """Which marginals may be chosen after the columns, and in which rounds."""

    candidates: tuple[Marginal, ...]
    rounds: tuple[Round, ...]


def plan_schedule(
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    rho: Fraction,
    left: Fraction,
    records: float,
    neighbors: Neighbors,
) -> Schedule:
    """Spend exactly `left`, what the columns left of `rho`."""
    if left <= 0:
        return Schedule((), ())
    columns = len(workload.domain)
    picks = _picks(settings, rho=rho, records=records, columns=columns, neighbors=neighbors)
    candidates = _candidates(workload, settings, picks=picks, left=left, records=records, neighbors=neighbors)
    return Schedule(candidates, _rounds(settings, picks=picks, left=left, candidates=len(candidates)))


def has_pairs(workload: Workload) -> bool:
    """Whether the workload asks about more than single columns."""
    return any(len(family.columns) > 1 for family in workload)


def _picks(settings: AdaptiveSettings, *, rho: Fraction, records: float, columns: int, neighbors: Neighbors) -> int:
    """How many marginals to choose in all: more the less the noise matters, at least one a column."""
    if settings.picks is not None:
        return settings.picks
    resolution = records / stddev_for(neighbors.marginal_l2_squared, rho)
    return max(round(_PICKS * math.pow(resolution, 2 / 3)), columns)


def _rounds(settings: AdaptiveSettings, *, picks: int, left: Fraction, candidates: int) -> tuple[Round, ...]:
    """Rounds that spend exactly `left`."""
    if not candidates:
        return ()
    per_round = min(max(2, math.ceil(picks / (settings.rounds or _ROUNDS))), candidates)
    count = max(1, round(picks / per_round))
    per_pick = left / (count * per_round)
    select = per_pick * Fraction(settings.selection_share)
    by_sum = {"blend": 1, "max": 0, "mean": per_round}[settings.objective]
    each = Round(per_round - by_sum, by_sum, select, per_pick - select)
    return (each,) * count


def _candidates(
    workload: Workload, settings: AdaptiveSettings, *, picks: int, left: Fraction, records: float, neighbors: Neighbors
) -> tuple[Marginal, ...]:
    """What may be chosen: of the downward closure, all pairs of columns, and larger marginals whose cells rise above the noise.

    Every candidate makes selection noisier (by the logarithm of their number), so hopeless ones must not take part.
    """
    measure_rho = left / picks * (1 - Fraction(settings.selection_share))
    limit = _CELLS_PER_RESOLUTION * records / stddev_for(neighbors.marginal_l2_squared, measure_rho)
    return tuple(
        marginal
        for marginal in workload.closure(smallest=2)
        if len(marginal.columns) == 2 or marginal.size(workload.domain) <= limit
    )
