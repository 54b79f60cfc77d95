"""How the budget is spread, from public facts alone: ρ, the number of records, the domain and the workload."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dprap.domain import Domain
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.privacy import Neighbors
from dprap.privacy.gaussian import stddev_for
from dprap.queries import Marginal
from dprap.workload import Workload

_PICKS = 1.9
_COLUMNS = 14
_MOST_PICKS = 200
_MOST_BEFORE_SWEEP = 100
# Marginals chosen in all: 1.9 · (n/σ√c)^(2/3), with σ the noise of one marginal that got all of ρ and c the cells of a typical pair of columns.
# With J picks each has noise of norm σ√(Jc), so J grows as long as a further marginal removes more error than its share of the budget adds
# noise to the others: many pairs of short columns are worth as much as few of long ones. Tables of more than 14 columns have more
# to say, unless a sweep says it. Time must not grow with n without end.
CELLS_PER_RESOLUTION = 1
# A marginal over three columns or more is worth choosing only if a typical cell, n/cells, is not below its noise.
MOST_CELLS = 1 << 20
# Larger marginals are neither chosen nor swept: their cells would be empty, and the fit slow.
_MOST_FOR_COLUMNS = 1 / 3
_LEAST_FOR_COLUMNS = 1 / 20
# Of ρ, what the one-way marginals get. In between it falls with n/σ for each of their codes: at small ε their noise is most of the error, and
# more so the more codes there are; at large ε pairs of columns are.
_EQUALLY = 0.6
# Of what the columns get, this much is spread equally. The rest follows their sizes, which leaves a column of two codes noise that spoils the largest
# cells of every marginal with it.
_ROUNDS = 10
_SWEEP_FROM = 180
_SWEEP_LEAST = 0.8
_SWEEP_REST = 80
# With r = n/σ√m, the resolution if all m marginals of the workload were measured: below 180 there is no sweep, above it
# gets 1 − 80/r of what the columns left, and at least 80%: half a sweep is worse than none.
_MOST_SWEPT_CELLS = 30_000_000
# More cells than these take too long to fit; then marginals are chosen only.


@dataclass(frozen=True)
class Round:
    """One round: how many marginals are chosen, and what each may cost."""

    picks: int
    select_rho: Fraction
    measure_rho: Fraction


def one_way_rho(
    workload: Workload, settings: AdaptiveSettings, *, rho: Fraction, records: float, neighbors: Neighbors
) -> Fraction:
    """What the one-way marginals get in all: a third where noise rules, less as it fades and pairs of columns matter more."""
    if settings.one_way_share is not None:
        return rho * Fraction(settings.one_way_share)
    per_code = _resolution(rho, records, neighbors) / workload.domain.onehot_size
    share = _MOST_FOR_COLUMNS * min(1.0, 1 / math.sqrt(per_code))
    return rho * Fraction(max(share, _LEAST_FOR_COLUMNS))


def one_way_shares(workload: Workload) -> tuple[float, ...]:
    """Three fifths equally, the rest ∝ (uses · size)^(2/3), which minimises Σ uses · size · σ, the summed L1 noise over the workload."""
    uses = [max(sum(name in family.columns for family in workload), 0.5) for name in workload.domain]
    by_size = [(use * size) ** (2 / 3) for use, size in zip(uses, workload.domain.sizes, strict=True)]
    return tuple(_EQUALLY / len(by_size) + (1 - _EQUALLY) * share / sum(by_size) for share in by_size)


@dataclass(frozen=True)
class Schedule:
    """Which marginals may be chosen after the columns, in which rounds, and which are measured in any case at the end.

    `candidates` are of the workload's downward `closure`; `pick_resolution` is the number of records over the noise of one pick.
    """

    candidates: tuple[Marginal, ...] = ()
    rounds: tuple[Round, ...] = ()
    swept: tuple[Marginal, ...] = ()
    sweep_rho: Fraction = Fraction(0)
    closure: tuple[Marginal, ...] = ()
    pick_resolution: float = 0.0


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
    if left <= 0 or not has_pairs(workload):
        return Schedule()
    resolution = _resolution(rho, records, neighbors)
    swept = own_marginals(workload)
    share = _sweep_share(settings, workload, swept, resolution)
    sweep_rho = left * Fraction(share)
    picks = settings.picks or _picks(workload, resolution, sweeps=sweep_rho > 0)
    measure_rho = (left - sweep_rho) / picks * (1 - Fraction(settings.selection_share))
    pick_resolution = records / stddev_for(neighbors.marginal_l2_squared, measure_rho)
    closure = workload.closure(smallest=2)
    candidates = _candidates(closure, workload.domain, pick_resolution)
    rounds = _rounds(settings, picks=picks, left=left - sweep_rho, candidates=len(candidates), sweeps=sweep_rho > 0)
    return Schedule(candidates, rounds, swept if sweep_rho else (), sweep_rho, closure, pick_resolution)


def has_pairs(workload: Workload) -> bool:
    """Whether the workload asks about a pair of columns that is small enough to be measured.

    If so, that pair is a candidate. If not, no larger marginal is small enough either, and the
    columns get all of ρ.
    """

    def smallest_pair(columns: tuple[str, ...]) -> int:
        return math.prod(sorted(map(workload.domain.size, columns))[:2])

    return any(len(family.columns) > 1 and smallest_pair(family.columns) <= MOST_CELLS for family in workload)


def _resolution(rho: Fraction, records: float, neighbors: Neighbors) -> float:
    """The number of records over the noise of one marginal that would get all of ρ."""
    return records / stddev_for(neighbors.marginal_l2_squared, rho)


def own_marginals(workload: Workload) -> tuple[Marginal, ...]:
    """Those of the workload itself, each once, without what is too large to be fitted."""
    position = workload.domain.position
    own = {Marginal(tuple(sorted(family.columns, key=position))): None for family in workload}
    return tuple(m for m in own if len(m.columns) > 1 and m.size(workload.domain) <= MOST_CELLS)


def _sweep_share(
    settings: AdaptiveSettings, workload: Workload, swept: tuple[Marginal, ...], resolution: float
) -> float:
    """Of what the columns left, the share that measures the whole workload."""
    if not swept or sum(marginal.size(workload.domain) for marginal in swept) > _MOST_SWEPT_CELLS:
        return 0.0
    if settings.sweep_share is not None:
        return settings.sweep_share
    each = resolution / math.sqrt(len(swept))
    return max(_SWEEP_LEAST, 1 - _SWEEP_REST / each) if each >= _SWEEP_FROM else 0.0


def _picks(workload: Workload, resolution: float, *, sweeps: bool) -> int:
    """How many marginals are worth choosing, at least one for each column."""
    sizes = workload.domain.sizes
    typical_pair = math.exp(2 * sum(map(math.log, sizes)) / len(sizes))
    wanted = _PICKS * math.pow(resolution / math.sqrt(typical_pair), 2 / 3)
    if not sweeps:
        wanted *= len(sizes) / _COLUMNS
    return min(max(round(wanted), len(sizes)), _MOST_BEFORE_SWEEP if sweeps else _MOST_PICKS)


def _rounds(
    settings: AdaptiveSettings, *, picks: int, left: Fraction, candidates: int, sweeps: bool
) -> tuple[Round, ...]:
    """Rounds that spend exactly `left`; half as many where a sweep follows."""
    most = settings.rounds or (_ROUNDS // 2 if sweeps else _ROUNDS)
    per_round = min(max(2, math.ceil(picks / most)), candidates)
    count = min(max(1, round(picks / per_round)), most)
    per_pick = left / (count * per_round)
    select = per_pick * Fraction(settings.selection_share)
    return (Round(per_round, select, per_pick - select),) * count


def _candidates(closure: tuple[Marginal, ...], domain: Domain, pick_resolution: float) -> tuple[Marginal, ...]:
    """What may be chosen: of the downward closure, all pairs of columns, and larger marginals whose cells rise above the noise.

    Every candidate makes selection noisier (by the logarithm of their number), so hopeless ones must not take part.
    """
    limit = min(CELLS_PER_RESOLUTION * pick_resolution, MOST_CELLS)
    return tuple(
        marginal
        for marginal in closure
        if marginal.size(domain) <= (MOST_CELLS if len(marginal.columns) == 2 else limit)
    )
