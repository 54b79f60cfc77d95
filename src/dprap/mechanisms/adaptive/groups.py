"""Candidates over groups of codes, where single cells drown in noise.

Ages by income have 170 cells at ADULT's size, most of them below the noise of a pick at small ε; nine age groups by income have 18, well above it. Both
are candidates: groups show what is broad, codes what is sharp (an amount and its double). The groups follow from the noisy columns, which
are paid for: neighbouring codes are merged until a group has √(σ_J/n) of the records, so that a cell of two such columns has about as many records as
noise. A code that has as many by itself stays alone, such as the zero of an amount that most people do not have, and ends the group before it.

The workload's own marginals of k ≥ 4 columns take part as well, with all columns, short ones too, merged until a group has (σ_J/2n)^(1/k) of the records: at
small ε two to four groups a column. Such a broad marginal of five columns costs as much as a pair and shows ten pairs at once, roughly. That suits the cells with the largest
errors, which are of common codes as a rule, but hides what two rare codes have to do with each other (both missing), so the second half of a round's picks does without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dprap.domain import Domain
from dprap.mechanisms.adaptive.schedule import CELLS_PER_RESOLUTION, MOST_CELLS, Schedule, own_marginals
from dprap.mechanisms.adaptive.smoothing import SHORTEST
from dprap.queries import Coarse, Partition
from dprap.queries.coarse import Starts
from dprap.workload import Workload

_SEVERAL = 4
_CELLS_OF_SEVERAL = 2
# The workload's own marginals take part in few groups a column from four columns on, with at most so many cells for each unit of n/σ_J.
# Those of three columns gained nothing over their pairs, nor did other sets of four: they only make selection noisier.


def with_groups(schedule: Schedule, workload: Workload, one_way_shares: Sequence[np.ndarray]) -> tuple[Partition, ...]:
    """The candidates and, of the workload's downward closure, what groups make coarse enough to be one."""
    shares_of = dict(zip(workload.domain, one_way_shares, strict=True))
    coarse = (
        *_long_columns_merged(schedule, workload.domain, shares_of),
        *_all_columns_merged(schedule, workload, shares_of),
    )
    return tuple(dict.fromkeys((*schedule.candidates, *coarse)))


def _long_columns_merged(schedule: Schedule, domain: Domain, shares_of: Mapping[str, np.ndarray]) -> Iterator[Coarse]:
    """Pairs and larger sets, with groups for columns of many codes."""
    least = math.sqrt(1 / schedule.pick_resolution)
    groups = {name: group_starts(shares, least) for name, shares in shares_of.items() if len(shares) >= SHORTEST}
    for marginal in schedule.closure:
        coarse = Coarse(marginal.columns, tuple(groups.get(name) for name in marginal.columns))
        most = MOST_CELLS if len(marginal.columns) == 2 else CELLS_PER_RESOLUTION * schedule.pick_resolution
        if _is_worth_it(coarse, domain, most):
            yield coarse


def _all_columns_merged(
    schedule: Schedule, workload: Workload, shares_of: Mapping[str, np.ndarray]
) -> Iterator[Coarse]:
    """The workload's own marginals of several columns, with few groups for each."""
    most = _CELLS_OF_SEVERAL * schedule.pick_resolution
    for columns in (marginal.columns for marginal in own_marginals(workload)):
        if len(columns) >= _SEVERAL:
            least = math.pow(most, -1 / len(columns))
            coarse = Coarse(columns, tuple(group_starts(shares_of[name], least) for name in columns))
            if _is_worth_it(coarse, workload.domain, most):
                yield coarse


def is_broad(candidate: Partition) -> bool:
    """Whether it shows what several columns have to do with each other, but only in groups of codes."""
    return isinstance(candidate, Coarse) and len(candidate.columns) >= _SEVERAL


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


def _is_worth_it(marginal: Coarse, domain: Domain, most_cells: float) -> bool:
    """Whether it has groups, more than one a column, and few enough cells; exact counts go over single codes first, so also of these."""
    grouped = [starts for starts in marginal.starts if starts is not None]
    if not grouped or min(map(len, grouped)) < 2 or domain.size_of(marginal.columns) > MOST_CELLS:
        return False
    return marginal.size(domain) <= most_cells
