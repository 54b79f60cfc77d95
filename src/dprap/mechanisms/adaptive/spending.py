"""What is spent on what: one list of steps, which the run carries out and the plan adds up.

Everything here follows from public facts and from an estimate of n: ρ, the domain and the workload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dprap.accounting import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.domain import Domain
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.queries import Marginal
from dprap.workload import Workload


@dataclass(frozen=True)
class CountRecords:
    """Measure the number of records, where it is private."""

    rho: Fraction


@dataclass(frozen=True)
class MeasureColumns:
    """Measure every one-way marginal, with these shares of what they get in all."""

    rho: Fraction
    shares: tuple[float, ...]


@dataclass(frozen=True)
class StartRows:
    """Make the rows, far apart if the last fit is to be afresh; a public table moves them."""

    afresh: bool
    public: bool
    rho: Fraction = Fraction(0)


@dataclass(frozen=True)
class Pool:
    """Which marginals may be chosen after the columns.

    `candidates` are of the workload's downward `closure`. `pick_resolution` is the number of
    records over the noise of one pick.
    """

    candidates: tuple[Marginal, ...]
    closure: tuple[Marginal, ...]
    pick_resolution: float


@dataclass(frozen=True)
class Choose:
    """Choose the marginals of a round; each will be measured with `measure_rho_each`."""

    pool: Pool
    picks: int
    rho_each: Fraction
    measure_rho_each: Fraction

    @property
    def rho(self) -> Fraction:
        """What the round's choices cost together."""
        return self.rho_each * self.picks


@dataclass(frozen=True)
class MeasureChosen:
    """Measure what was chosen, and fit the rows; of all fits this is number `fit` of `fits`."""

    picks: int
    rho_each: Fraction
    fit: int
    fits: int

    @property
    def rho(self) -> Fraction:
        """What the round's measurements cost together."""
        return self.rho_each * self.picks


@dataclass(frozen=True)
class MeasureWorkload:
    """The sweep: measure the workload's own marginals, and fit the rows for the last time."""

    marginals: tuple[Marginal, ...]
    rho: Fraction
    fit: int
    fits: int


Step: TypeAlias = CountRecords | MeasureColumns | StartRows | Choose | MeasureChosen | MeasureWorkload
Spending: TypeAlias = Generator[Step, float, None]


def spending(
    workload: Workload, settings: AdaptiveSettings, *, rho: Fraction, neighbors: Neighbors, public: bool
) -> Spending:
    """Yield the steps that spend exactly ρ.

    `walk` answers every step with the best estimate of n so far, on which the following steps
    depend. Where n is public, a first step without cost asks for it.
    """
    records_rho = Fraction(0) if neighbors.rows_are_public else rho * Fraction(settings.total_share)
    records = yield CountRecords(records_rho)
    columns_rho = rho - records_rho
    if has_pairs(workload, settings.rules):
        columns_rho = rho_of_columns(workload, settings, rho=rho, records=records, neighbors=neighbors)
    records = yield MeasureColumns(columns_rho, shares_of_columns(workload, settings.rules))
    left = rho - records_rho - columns_rho
    following = after_columns(workload, settings, rho=rho, left=left, records=records, neighbors=neighbors)
    yield StartRows(_afresh(workload, settings.rules, following), public)
    for step in following:  # noqa: UP028 - each is answered, which a tuple does not take
        yield step


def walk(steps: Spending, take: Callable[[Step], float]) -> None:
    """Hand every step to `take`, which returns its best estimate of n for the steps that follow."""
    step: Step | None = next(steps)
    while step is not None:
        records = take(step)
        try:
            step = steps.send(records)
        except StopIteration:
            step = None


def has_pairs(workload: Workload, rules: Rules) -> bool:
    """Whether the workload asks about a pair of columns that is small enough to be measured.

    If so, that pair is a candidate. If not, no larger marginal is small enough either, and the
    columns get all of ρ.
    """

    def smallest_pair(columns: tuple[str, ...]) -> int:
        return math.prod(sorted(map(workload.domain.size, columns))[:2])

    several = [family.columns for family in workload if len(family.columns) > 1]
    return any(smallest_pair(columns) <= rules.most_cells for columns in several)


def rho_of_columns(
    workload: Workload, settings: AdaptiveSettings, *, rho: Fraction, records: float, neighbors: Neighbors
) -> Fraction:
    """What the one-way marginals get in all."""
    if settings.one_way_share is not None:
        return rho * Fraction(settings.one_way_share)
    per_code = _resolution(rho, records, neighbors) / workload.domain.onehot_size
    share = settings.rules.most_for_columns * min(1.0, 1 / math.sqrt(per_code))
    return rho * Fraction(max(share, settings.rules.least_for_columns))


def shares_of_columns(workload: Workload, rules: Rules) -> tuple[float, ...]:
    """A part equally, the rest ∝ (uses · size)^(2/3), which minimises Σ uses · size · σ.

    That sum is the L1 noise of the columns, added up over the workload.
    """
    uses = [max(sum(name in family.columns for family in workload), 0.5) for name in workload.domain]
    by_size = [(use * size) ** (2 / 3) for use, size in zip(uses, workload.domain.sizes, strict=True)]
    equally = rules.columns_spread_equally
    return tuple(equally / len(by_size) + (1 - equally) * share / sum(by_size) for share in by_size)


def after_columns(
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    rho: Fraction,
    left: Fraction,
    records: float,
    neighbors: Neighbors,
) -> tuple[Choose | MeasureChosen | MeasureWorkload, ...]:
    """Rounds of choosing and measuring, and the sweep where it pays: exactly `left` of ρ."""
    if left <= 0 or not has_pairs(workload, settings.rules):
        return ()
    rules = settings.rules
    resolution = _resolution(rho, records, neighbors)
    swept = own_marginals(workload, rules)
    sweep_rho = left * Fraction(_sweep_share(settings, workload, swept, resolution))
    sweeps = sweep_rho > 0
    picks = settings.picks or _picks(workload, rules, resolution, sweeps=sweeps)
    measure_rho = (left - sweep_rho) / picks * (1 - Fraction(settings.selection_share))
    pick_resolution = records / stddev_for(neighbors.marginal_l2_squared, measure_rho)
    closure = workload.closure(smallest=2)
    candidates = _candidates(closure, workload.domain, rules, pick_resolution)
    per_round, rounds = _rounds(settings, picks=picks, candidates=len(candidates), sweeps=sweeps)
    rho_each = (left - sweep_rho) / (rounds * per_round)
    choose_each = rho_each * Fraction(settings.selection_share)
    measure_each = rho_each - choose_each
    pool = Pool(candidates, closure, pick_resolution)
    fits = rounds + sweeps
    steps: list[Choose | MeasureChosen | MeasureWorkload] = []
    for number in range(1, rounds + 1):
        steps += [
            Choose(pool, per_round, choose_each, measure_each),
            MeasureChosen(per_round, measure_each, number, fits),
        ]
    return (*steps, MeasureWorkload(swept, sweep_rho, fits, fits)) if sweeps else tuple(steps)


def own_marginals(workload: Workload, rules: Rules) -> tuple[Marginal, ...]:
    """Those of the workload itself, each once, without what is too large to be fitted."""
    position = workload.domain.position
    own = {Marginal(tuple(sorted(family.columns, key=position))): None for family in workload}
    return tuple(m for m in own if len(m.columns) > 1 and m.size(workload.domain) <= rules.most_cells)


def _resolution(rho: Fraction, records: float, neighbors: Neighbors) -> float:
    """The number of records over the noise of one marginal that would get all of ρ."""
    return records / stddev_for(neighbors.marginal_l2_squared, rho)


def _sweep_share(
    settings: AdaptiveSettings, workload: Workload, swept: tuple[Marginal, ...], resolution: float
) -> float:
    """Of what the columns left, the share that measures the whole workload."""
    rules = settings.rules
    if not swept or sum(marginal.size(workload.domain) for marginal in swept) > rules.most_swept_cells:
        return 0.0
    if settings.sweep_share is not None:
        return settings.sweep_share
    each = resolution / math.sqrt(len(swept))
    return max(rules.least_sweep, 1 - rules.sweep_rest / each) if each >= rules.sweep_from_resolution else 0.0


def _picks(workload: Workload, rules: Rules, resolution: float, *, sweeps: bool) -> int:
    """How many marginals are worth choosing, at least one for each column."""
    sizes = workload.domain.sizes
    typical_pair = math.exp(2 * sum(map(math.log, sizes)) / len(sizes))
    wanted = rules.pick_factor * math.pow(resolution / math.sqrt(typical_pair), 2 / 3)
    if not sweeps:
        wanted *= len(sizes) / rules.usual_columns
    return min(max(round(wanted), len(sizes)), rules.most_picks_before_sweep if sweeps else rules.most_picks)


def _rounds(settings: AdaptiveSettings, *, picks: int, candidates: int, sweeps: bool) -> tuple[int, int]:
    """Picks of each round, and the number of rounds; half as many where a sweep follows."""
    usual = settings.rules.most_rounds
    most = settings.rounds or (max(usual // 2, 1) if sweeps else usual)
    per_round = min(max(2, math.ceil(picks / most)), candidates)
    return per_round, min(max(1, round(picks / per_round)), most)


def _candidates(
    closure: tuple[Marginal, ...], domain: Domain, rules: Rules, pick_resolution: float
) -> tuple[Marginal, ...]:
    """All pairs of columns, and larger marginals whose cells rise above the noise.

    Every candidate makes selection noisier (by the logarithm of their number), so hopeless ones
    must not take part.
    """
    limit = min(rules.cells_per_resolution * pick_resolution, rules.most_cells)
    return tuple(
        marginal
        for marginal in closure
        if marginal.size(domain) <= (rules.most_cells if len(marginal.columns) == 2 else limit)
    )


def _afresh(workload: Workload, rules: Rules, steps: tuple[Step, ...]) -> bool:
    """Whether the last fit forgets the ones before it."""
    long = workload.domain.onehot_size >= rules.afresh_from_codes * len(workload.domain)
    sweeps = any(isinstance(step, MeasureWorkload) for step in steps)
    picks = sum(step.picks for step in steps if isinstance(step, Choose))
    return long and not sweeps and picks <= rules.afresh_up_to_picks
