"""Candidates over groups of codes, for columns with so many codes that single cells drown in noise.

Ages by income have 170 cells at ADULT's size, most of them below the noise of a pick at small ε; nine age groups by income have 18, well above it. Both
are candidates: groups show what is broad, codes what is sharp (an amount and its double). The groups follow from the noisy columns, which
are paid for: neighbouring codes are merged until a group has √(σ_J/n) of the records, so that a cell of two such columns has about as many records as
noise. A code that has as many by itself stays alone, such as the zero of an amount that most people do not have, and ends the group before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dprap.domain import Domain
from dprap.mechanisms.adaptive.schedule import CELLS_PER_RESOLUTION, MOST_CELLS, Schedule
from dprap.mechanisms.adaptive.smoothing import SHORTEST
from dprap.queries import Coarse, Marginal, Partition
from dprap.queries.coarse import Starts


def with_groups(schedule: Schedule, domain: Domain, one_way_shares: Sequence[np.ndarray]) -> tuple[Partition, ...]:
    """The candidates and, of the workload's downward closure, what groups make coarse enough to be one."""
    groups: dict[str, Starts] = {
        name: group_starts(shares, math.sqrt(1 / schedule.pick_resolution))
        for name, shares in zip(domain, one_way_shares, strict=True)
        if len(shares) >= SHORTEST
    }
    coarse = (_coarse(marginal, groups) for marginal in schedule.closure)
    return (*schedule.candidates, *(marginal for marginal in coarse if _is_worth_it(marginal, schedule, domain)))


def group_starts(shares: np.ndarray, least: float) -> Starts:
    """The first code of every group, or None if no two codes are merged."""
    starts = []
    mass = math.inf
    for code, share in enumerate(shares.tolist()):
        if mass >= least or share >= least:
            starts.append(code)
            mass = 0.0
        mass += share
    return tuple(starts) if len(starts) < len(shares) else None


def _is_worth_it(marginal: Coarse, schedule: Schedule, domain: Domain) -> bool:
    """Whether it has groups, more than one a column, and few enough cells; exact counts go over single codes first, so also of these."""
    grouped = [starts for starts in marginal.starts if starts is not None]
    if not grouped or min(map(len, grouped)) < 2 or domain.size_of(marginal.columns) > MOST_CELLS:
        return False
    return len(marginal.columns) == 2 or marginal.size(domain) <= CELLS_PER_RESOLUTION * schedule.pick_resolution


def _coarse(marginal: Marginal, groups: Mapping[str, Starts]) -> Coarse:
    return Coarse(marginal.columns, tuple(groups.get(name) for name in marginal.columns))
