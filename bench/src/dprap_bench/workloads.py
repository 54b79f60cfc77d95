"""Workloads of the experiments, by short names.

`3way:64` 64 random three-way marginals, the paper's choice; `3way:all` every eligible one;
`1of3:64` thresholds over the same columns; `hdmm15` the marginals of the paper's HDMM comparison,
`hdmm15:prefix` their prefixes along ordered columns and `hdmm15:range` all intervals along one of
these; `halfspaces` 100,000 random halfspaces of ADULT's numbers, by income; `2way` all pairs.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Halfspace, Marginal, Range, Threshold
from dprap.workload import Workload, all_kway, eligible, random_kway

ORDERED = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")
"""ADULT's ordered columns with many codes: prefix queries run along these."""

HDMM15 = (
    ("occupation", "race", "capital-loss"),
    ("occupation", "sex", "native-country"),
    ("marital-status", "relationship", "income>50K"),
    ("age", "education-num", "sex"),
    ("workclass", "education-num", "occupation"),
    ("marital-status", "occupation", "income>50K"),
    ("race", "native-country", "income>50K"),
    ("occupation", "capital-gain", "income>50K"),
    ("marital-status", "hours-per-week", "income>50K"),
    ("workclass", "race", "capital-gain"),
    ("marital-status", "relationship", "capital-gain"),
    ("workclass", "education-num", "capital-gain"),
    ("education-num", "relationship", "race"),
    ("fnlwgt", "hours-per-week", "income>50K"),
    ("workclass", "sex", "native-country"),
)
"""The 15 three-way marginals of ADULT, 62,876 cells, on which the paper compares with HDMM."""

NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
"""ADULT's numeric columns: halfspaces are drawn over all six, by income."""

_LABEL = "income>50K"

_RANDOM = re.compile(r"(?:(\d+)of)?(\d+)(?:way)?:(\d+|all)")


def named_workload(name: str, domain: Domain, *, rows: int) -> Workload:
    """The workload of that name, for a table of so many records."""
    if name == "hdmm15":
        return Workload(domain, tuple(Marginal(columns) for columns in HDMM15))
    if name == "hdmm15:prefix":
        return Workload(
            domain,
            tuple(
                Range.prefixes(columns, tuple(c for c in columns if c in ORDERED))
                for columns in HDMM15
            ),
        )
    if name == "hdmm15:range":
        return Workload(domain, tuple(_ranges(columns) for columns in HDMM15))
    if name == "halfspaces":
        return Workload(domain, (Halfspace((*NUMERIC, _LABEL), by=(_LABEL,), count=100_000),))
    if name == "2way":
        return all_kway(domain, 2)
    found = _RANDOM.fullmatch(name)
    if found is None:
        raise WorkloadError(f"there is no benchmark workload {name!r}.")
    at_least, k, count = found[1], int(found[2]), found[3]
    marginals = len(eligible(domain, k, max_cells=rows)) if count == "all" else int(count)
    drawn = random_kway(domain, k, marginals, rows=rows)
    if at_least is None:
        return drawn
    return Workload(
        domain, tuple(Threshold(family.columns, int(at_least)) for family in drawn.families)
    )


def _ranges(columns: tuple[str, ...]) -> Range:
    """All intervals along the last ordered column: along two of them there would be 25 million for
    each other value.
    """
    return Range(columns, dict.fromkeys([name for name in columns if name in ORDERED][-1:], "all"))


def pairs_below(workload: Workload) -> Workload:
    """All pairs of the columns that halfspaces speak of, for methods that take marginals alone."""
    columns = dict.fromkeys(name for family in workload.families for name in family.columns)
    return Workload(workload.domain, tuple(Marginal(pair) for pair in combinations(columns, 2)))


def unseen_marginals(workload: Workload, *, rows: int, marginals: int = 64) -> Workload:
    """Marginals as wide as the workload's that are not in it, drawn as the workload was but with
    another seed.
    """
    k = len(workload.families[0].columns)
    used = {frozenset(family.columns) for family in workload.families}
    others = [
        m for m in eligible(workload.domain, k, max_cells=rows) if frozenset(m.columns) not in used
    ]
    if not others:
        raise WorkloadError("the workload holds every marginal: none is left unseen.")
    chosen = np.random.RandomState(1).choice(
        len(others), min(marginals, len(others)), replace=False
    )
    return Workload(workload.domain, tuple(Marginal(others[place].columns) for place in chosen))
