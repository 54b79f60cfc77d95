"""Which marginals take part after the columns, and how much each counts: public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from dprap.domain import Domain
from dprap.mechanisms.adaptive.rules import Rules
from dprap.queries import Marginal
from dprap.workload import Workload


def has_pairs(workload: Workload, rules: Rules) -> bool:
    """Whether the workload asks about a pair of columns that is small enough to be measured.

    If so, that pair is a candidate. If not, no larger marginal is small enough either, and the
    columns get all of ρ.
    """

    def smallest_pair(columns: tuple[str, ...]) -> int:
        return math.prod(sorted(map(workload.domain.size, columns))[:2])

    several = [family.columns for family in workload if len(family.columns) > 1]
    return any(smallest_pair(columns) <= rules.most_cells for columns in several)


def candidates_in(
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


def own_marginals(workload: Workload, rules: Rules) -> tuple[Marginal, ...]:
    """Those of the workload itself, each once, without what is too large to be fitted."""
    position = workload.domain.position
    own = dict.fromkeys(tuple(sorted(family.columns, key=position)) for family in workload)
    return tuple(
        Marginal(columns)
        for columns in own
        if len(columns) > 1 and workload.domain.size_of(columns) <= rules.most_cells
    )


def importance_in(workload: Workload) -> Callable[[tuple[str, ...]], float]:
    """How much columns matter together, from 0 to 1: the largest weight of a family with them, over
    that of all.
    """
    largest, least = max(workload.weights), min(workload.weights)
    with_column: dict[str, set[int]] = {name: set() for name in workload.domain}
    for place, family in enumerate(workload if least < largest else ()):
        for name in family.columns:
            with_column[name].add(place)

    def importance(columns: tuple[str, ...]) -> float:
        if least == largest:
            return 1.0
        having_all = set.intersection(*(with_column[name] for name in columns))
        return max((workload.weights[place] for place in having_all), default=least) / largest

    return importance


def towards_targets(columns: tuple[str, ...], targets: tuple[str, ...], rules: Rules) -> float:
    """How much columns count in choosing: what contains no target counts less, if there are
    targets.
    """
    beside = bool(targets) and not set(columns) & set(targets)
    return rules.beside_target if beside else 1.0


def related_to_targets(domain: Domain, targets: tuple[str, ...]) -> tuple[Marginal, ...]:
    """Every target with one other column, and with two."""
    position = domain.position
    found = {
        Marginal(tuple(sorted((target, *others), key=position))): None
        for target in targets
        for size in (1, 2)
        for others in combinations([name for name in domain if name != target], size)
    }
    return tuple(found)
