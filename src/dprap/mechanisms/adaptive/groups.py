"""Candidate marginals over groups of codes: coarsen until a cell stands above the noise.

At small ε most cells of age × income hold fewer records than the noise, so measuring them teaches
nothing. Merging neighbouring codes until every cell holds about as many records as noise makes the
marginal worth measuring. The groups follow from the noisy columns, which are paid for. A code that
is common by itself stays alone, such as the zero of an amount that most people do not have, and
ends the group before it. The marginals by code remain candidates: groups show what is broad, codes
what is sharp (an amount and its double).

With σ the noise of a pick, n/σ cells stand above the noise, and k merged columns make so many if a
group of each has (σ/n)^(1/k) of the records. Two kinds are made:

kind    of which marginals            which columns are merged  k
long    all of the downward closure   those of many codes       2
broad   the workload's own, of k ≥ 4  all                       the number of columns

A cell of two long columns then has about as many records as noise. A broad marginal has two to four
groups for each column at small ε. One of five columns costs as much as a pair and shows ten pairs
at once, roughly. That suits the cells with the largest errors, which are of common codes as a rule,
but hides what two rare codes have to do with each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dprap.domain import Domain
from dprap.mechanisms.adaptive.eligible import own_marginals
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.spending_steps import Pool
from dprap.queries import Marginal
from dprap.queries.code_groups import Starts
from dprap.workload import Workload


def with_groups(
    pool: Pool, workload: Workload, rules: Rules, one_way_shares: Sequence[np.ndarray]
) -> tuple[Marginal, ...]:
    """The candidates of a pool, and what groups make coarse enough to be one."""
    coarse = _coarsened(
        pool, workload, rules, dict(zip(workload.domain, one_way_shares, strict=True))
    )
    return tuple(dict.fromkeys((*pool.candidates, *coarse)))


def _coarsened(
    pool: Pool, workload: Workload, rules: Rules, shares_of: dict[str, np.ndarray]
) -> Iterator[Marginal]:
    """Candidates of both kinds that have few enough cells, the long ones first."""
    domain = workload.domain
    most = rules.cells_per_resolution * pool.pick_resolution
    if rules.group_codes:
        least = math.pow(most, -1 / 2)
        grouped = {
            name: group_starts(shares, least)
            for name, shares in shares_of.items()
            if len(shares) >= rules.long_from_codes
        }
        starts = {name: each for name, each in grouped.items() if each is not None}
        for columns in (marginal.columns for marginal in pool.closure):
            if starts.keys().isdisjoint(columns):
                continue
            coarse = Marginal(columns, tuple(starts.get(name) for name in columns))
            if _is_worth_it(coarse, domain, rules, rules.most_cells if len(columns) == 2 else most):
                yield coarse
    if rules.broad_from_columns is not None:
        for columns in (marginal.columns for marginal in own_marginals(workload, rules)):
            if len(columns) >= rules.broad_from_columns:
                least = math.pow(most, -1 / len(columns))
                coarse = Marginal(
                    columns, tuple(group_starts(shares_of[name], least) for name in columns)
                )
                if _is_worth_it(coarse, domain, rules, most):
                    yield coarse


def is_broad(candidate: Marginal, rules: Rules) -> bool:
    """Whether it shows how several columns are related, but only in groups of codes."""
    several = rules.broad_from_columns
    return (
        several is not None and candidate.groups is not None and len(candidate.columns) >= several
    )


def group_starts(shares: np.ndarray, least: float) -> Starts:
    """The first code of every group, or None if no two codes are merged.

    >>> group_starts(np.array([0.9, 0.02, 0.03, 0.05]), 0.1)
    (0, 1)
    """
    starts = []
    mass = math.inf
    for code, share in enumerate(shares.tolist()):
        if mass >= least or share >= least:
            starts.append(code)
            mass = 0.0
        mass += share
    return tuple(starts) if len(starts) < len(shares) else None


def _is_worth_it(marginal: Marginal, domain: Domain, rules: Rules, most_cells: float) -> bool:
    """Whether it has groups, more than one for each grouped column, and few enough cells.

    Exact counts go over single codes first, so there must not be too many of these either.
    """
    grouped = [starts for _, starts in marginal.starts_by_column() if starts is not None]
    if (
        not grouped
        or min(map(len, grouped)) < 2
        or domain.size_of(marginal.columns) > rules.most_cells
    ):
        return False
    return marginal.size(domain) <= most_cells
