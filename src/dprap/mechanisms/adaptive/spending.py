"""What is spent on what: one list of steps, which the run carries out and the plan adds up.

Everything here follows from public facts and from an estimate of n: ρ, the domain and the workload.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dprap.accounting import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.mechanisms.adaptive.eligible import (
    candidates_in,
    has_pairs,
    importance_in,
    own_marginals,
    related_to_targets,
    towards_targets,
)
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.adaptive.spending_steps import (
    Choose,
    CountRecords,
    MeasureChosen,
    MeasureColumns,
    MeasureOne,
    MeasureWorkload,
    Pool,
    Spending,
    StartRows,
    Step,
    has_sweep,
)
from dprap.queries import Marginal
from dprap.workload import Workload


def spending(
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    rho: Fraction,
    neighbors: Neighbors,
    public: bool,
) -> Spending:
    """Yield the steps that spend exactly ρ.

    `walk` answers every step with the best estimate of n so far, on which the following steps
    depend. Where n is public, a first step without cost asks for it.
    """
    records_rho = Fraction(0) if neighbors.rows_are_public else rho * Fraction(settings.total_share)
    records = yield CountRecords(records_rho)
    one = None if public else the_one_marginal(workload, settings)
    if one is not None:
        share = _columns_beside(one, workload, settings, _resolution(rho, records, neighbors))
        columns_rho = (rho - records_rho) * Fraction(share)
        if columns_rho:
            yield MeasureColumns(columns_rho, shares_of_columns(workload, settings.rules))
        yield MeasureOne(one, rho - records_rho - columns_rho)
        return
    columns_rho = rho - records_rho
    if has_pairs(workload, settings.rules) and not _columns_alone(
        workload, settings, _resolution(rho, records, neighbors), public=public
    ):
        columns_rho = rho_of_columns(
            workload, settings, rho=rho, records=records, neighbors=neighbors
        )
    records = yield MeasureColumns(columns_rho, shares_of_columns(workload, settings.rules))
    left = rho - records_rho - columns_rho
    following = after_columns(
        workload, settings, rho=rho, left=left, records=records, neighbors=neighbors
    )
    afresh = _afresh(workload, settings.rules, following)
    yield StartRows(
        afresh=afresh,
        rows_stay=not (afresh or has_sweep(following)),
        public=public,
        fitted=public or bool(following),
    )
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


def rho_of_columns(
    workload: Workload,
    settings: AdaptiveSettings,
    *,
    rho: Fraction,
    records: float,
    neighbors: Neighbors,
) -> Fraction:
    """What the one-way marginals get in all."""
    if settings.one_way_share is not None:
        return rho * Fraction(settings.one_way_share)
    per_code = _resolution(rho, records, neighbors) / workload.domain.onehot_size
    share = settings.rules.most_for_columns * min(1.0, 1 / math.sqrt(per_code))
    return rho * Fraction(max(share, settings.rules.least_for_columns))


def the_one_marginal(workload: Workload, settings: AdaptiveSettings) -> Marginal | None:
    """The marginal that answers all of the workload, if there is one whose cells can be rows."""
    if settings.picks is not None or settings.sweep_share is not None or settings.targets:
        return None
    domain = workload.domain
    columns = {name for family in workload for name in family.columns}
    one = Marginal(tuple(name for name in domain if name in columns))
    if len(columns) < 2 or not any(set(family.columns) == columns for family in workload):
        return None
    return (
        one
        if one.size(domain) * domain.onehot_size <= settings.rules.most_numbers_in_rows
        else None
    )


def _columns_beside(
    one: Marginal, workload: Workload, settings: AdaptiveSettings, resolution: float
) -> float:
    """The columns' share of ρ beside the one marginal.

    With x the expected error of the marginal, measured with everything, over that of independent
    columns, measured with everything: x⁴/(1 + x⁴). Where x is small the marginal says it all, and
    where it is large its cells drown.
    """
    if settings.one_way_share is not None:
        return settings.one_way_share
    rules = settings.rules
    columns = _noise_of_columns(one.columns, workload, resolution, rules)
    marginal = _noise(one.size(workload.domain), resolution, rules)
    ratio = marginal / (columns + rules.typical_dependence)
    share = ratio**4 / (1 + ratio**4)
    says_columns = len(one.columns) == len(workload.domain)
    if says_columns and (share < rules.least_beside_one or marginal < columns):
        return 0.0
    return max(share, rules.least_beside_one)


def _columns_alone(
    workload: Workload, settings: AdaptiveSettings, resolution: float, *, public: bool
) -> bool:
    """Whether nothing but columns pays, because both hold of a typical family of the workload.

    - Giving the columns the usual share, and not everything, adds more noise to it than half of
      what independent columns typically get wrong.
    - Measured with its equal share, a marginal of only ten cells would have as much noise as pairs
      of columns are typically away from independent. Shares are of all families, or of the
      pairs of their columns where these are fewer: pairs say most of what independence does not.
    """
    if public or (settings.picks, settings.sweep_share, settings.one_way_share) != (
        None,
        None,
        None,
    ):
        return False
    rules = settings.rules
    several = [family.columns for family in workload if len(family.columns) > 1]
    noise = sum(
        _noise_of_columns(columns, workload, resolution, rules) for columns in several
    ) / len(several)
    added = (1 / math.sqrt(rules.most_for_columns) - 1) * noise
    wrong = rules.typical_dependence * (sum(map(len, several)) / len(several) - 1)
    pairs = math.comb(len({name for columns in several for name in columns}), 2)
    coarse = _noise(10, resolution / math.sqrt(min(len(several), pairs)), rules)
    return added > wrong / 2 and coarse > rules.typical_dependence


def _noise_of_columns(
    columns: tuple[str, ...], workload: Workload, resolution: float, rules: Rules
) -> float:
    """Expected error of independent columns that get all of ρ: the sum of theirs."""
    each = resolution / math.sqrt(len(workload.domain))
    return sum(_noise(workload.domain.size(name), each, rules) for name in columns)


def _noise(cells: int, resolution: float, rules: Rules) -> float:
    """Expected total variation distance of a noisy marginal: ½ · E|N(0, σ²)| for each of its cells.

    Not all cells count: many are empty, and projecting onto distributions removes their noise.
    """
    return math.sqrt(1 / (2 * math.pi)) * math.pow(cells, rules.cells_with_noise) / resolution


def shares_of_columns(workload: Workload, rules: Rules) -> tuple[float, ...]:
    """A part equally, the rest ∝ (use · size)^(2/3), which minimises Σ use · size · σ.

    That sum is the L1 noise of the columns, added up over the workload by its weights. A column
    that no query asks about is there to complete the table. It gets what a column of its size
    would get by the second part if half a family of mean weight asked about it.
    """
    mean = sum(workload.weights) / len(workload)
    asked_for = dict.fromkeys(workload.domain, 0.0)
    for family, weight in zip(workload, workload.weights, strict=True):
        for name in set(family.columns):
            asked_for[name] += weight
    uses = [weight / mean for weight in asked_for.values()]
    by_size = [
        (max(use, 0.5) * size) ** (2 / 3)
        for use, size in zip(uses, workload.domain.sizes, strict=True)
    ]
    asked = sum(use > 0 for use in uses)
    equally = rules.columns_spread_equally
    return tuple(
        (equally / asked if use else 0.0) + (1 - equally) * share / sum(by_size)
        for use, share in zip(uses, by_size, strict=True)
    )


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
    targets = settings.targets
    if _says_all(swept, workload, sweep_rho, records, neighbors):
        said = {name for marginal in swept for name in marginal.columns}
        targets = tuple(name for name in targets if name not in said)
    closure = workload.closure(smallest=2)
    closure = tuple(dict.fromkeys((*closure, *related_to_targets(workload.domain, targets))))
    candidates = candidates_in(closure, workload.domain, rules, pick_resolution)
    per_round, rounds = _rounds(settings, picks=picks, candidates=len(candidates), sweeps=sweeps)
    rho_each = (left - sweep_rho) / (rounds * per_round)
    choose_each = rho_each * Fraction(settings.selection_share)
    measure_each = rho_each - choose_each
    importance = importance_in(workload)
    counts = {
        each.columns: importance(each.columns) * towards_targets(each.columns, targets, rules)
        for each in closure
    }
    pool = Pool(candidates, closure, pick_resolution, counts)
    fits = rounds + sweeps
    steps: list[Choose | MeasureChosen | MeasureWorkload] = []
    for number in range(1, rounds + 1):
        steps += [
            Choose(pool, per_round, choose_each, measure_each),
            MeasureChosen(per_round, measure_each, number, fits),
        ]
    if not sweeps:
        return tuple(steps)
    # ∝ w^(2/3) minimises Σ w · σ over marginals of one size.
    shares = tuple(importance(marginal.columns) ** (2 / 3) for marginal in swept)
    return (*steps, MeasureWorkload(swept, sweep_rho, fits, fits, shares))


def _says_all(
    swept: tuple[Marginal, ...],
    workload: Workload,
    sweep_rho: Fraction,
    records: float,
    neighbors: Neighbors,
) -> bool:
    """Whether a typical cell of the sweep, n/cells, stands above its noise.

    Then the sweep measures what a model needs of a target that the workload asks about. Picks for
    the target alone would come at the cost of the other columns' relations, which a model needs as
    well.
    """
    if not sweep_rho:
        return False
    cells_each = sum(marginal.size(workload.domain) for marginal in swept) / len(swept)
    return _resolution(sweep_rho / len(swept), records, neighbors) >= cells_each


def _resolution(rho: Fraction, records: float, neighbors: Neighbors) -> float:
    """The number of records over the noise of one marginal that would get all of ρ."""
    return records / stddev_for(neighbors.marginal_l2_squared, rho)


def _sweep_share(
    settings: AdaptiveSettings, workload: Workload, swept: tuple[Marginal, ...], resolution: float
) -> float:
    """Of what the columns left, the share that measures the whole workload."""
    rules = settings.rules
    if (
        not swept
        or sum(marginal.size(workload.domain) for marginal in swept) > rules.most_swept_cells
    ):
        return 0.0
    if settings.sweep_share is not None:
        return settings.sweep_share
    each = resolution / math.sqrt(len(swept))
    if each >= rules.sweep_from_resolution:
        return max(rules.least_sweep, 1 - rules.sweep_rest / each)
    nothing_to_choose = _worth_choosing(workload, rules, resolution) >= len(swept)
    return rules.sweep_of_all if nothing_to_choose and each >= rules.sweep_rest else 0.0


def _picks(workload: Workload, rules: Rules, resolution: float, *, sweeps: bool) -> int:
    """How many marginals are chosen, at least one for each column."""
    sizes = workload.domain.sizes
    wanted = _worth_choosing(workload, rules, resolution)
    if not sweeps:
        wanted *= len(sizes) / rules.usual_columns
    most = max(rules.most_picks // 2, 1) if sweeps else rules.most_picks
    return min(max(round(wanted), len(sizes)), most)


def _worth_choosing(workload: Workload, rules: Rules, resolution: float) -> float:
    """How many marginals of a typical pair's size are worth their share of the budget."""
    sizes = workload.domain.sizes
    typical_pair = math.exp(2 * sum(map(math.log, sizes)) / len(sizes))
    return rules.pick_factor * math.pow(resolution / math.sqrt(typical_pair), 2 / 3)


def _rounds(
    settings: AdaptiveSettings, *, picks: int, candidates: int, sweeps: bool
) -> tuple[int, int]:
    """Picks of each round, and the number of rounds; half as many where a sweep follows."""
    usual = settings.rules.most_rounds
    most = settings.rounds or (max(usual // 2, 1) if sweeps else usual)
    per_round = min(max(2, math.ceil(picks / most)), candidates)
    return per_round, min(max(1, round(picks / per_round)), most)


def _afresh(workload: Workload, rules: Rules, steps: tuple[Step, ...]) -> bool:
    """Whether the last fit forgets the ones before it."""
    long = workload.domain.onehot_size >= rules.afresh_from_codes * len(workload.domain)
    picks = sum(step.picks for step in steps if isinstance(step, Choose))
    return long and not has_sweep(steps) and picks <= rules.afresh_up_to_picks
