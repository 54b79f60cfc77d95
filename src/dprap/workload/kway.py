"""Workloads of k-way marginals: all of them, or the paper's random choice."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import Marginal
from dprap.workload.workload import MAX_CELLS, Workload


def eligible(domain: Domain, k: int, *, max_cells: int) -> list[Marginal]:
    """All k-way marginals with at most `max_cells` cells, in `itertools.combinations` order of the
    columns.
    """
    if not isinstance(k, int):
        raise WorkloadError(f"k must be a whole number, not {type(k).__name__}.")
    if not 1 <= k <= len(domain):
        raise WorkloadError(
            f"k must be between 1 and the number of columns, {len(domain)}; it is {k}."
        )
    # Sizes beside the names: LOANS has 1.7 million sets of five columns to look at.
    found = [
        Marginal(columns)
        for columns, sizes in zip(
            combinations(domain.names, k), combinations(domain.sizes, k), strict=True
        )
        if math.prod(sizes) <= max_cells
    ]
    if not found:
        raise WorkloadError(
            f"no {k}-way marginal has at most {max_cells:,} cells: the smallest has"
            f" {fewest_cells(domain, k):,}. {_way_out(domain, k, max_cells)}"
        )
    return found


def fewest_cells(domain: Domain, k: int) -> int:
    """The number of cells of the smallest k-way marginal."""
    return math.prod(sorted(domain.sizes)[:k])


def widest_that_fits(domain: Domain, k: int, max_cells: int) -> int:
    """The largest number of columns, at most k, of which a marginal has at most `max_cells` cells;
    0 where not even a single column has.
    """
    return next((j for j in range(k, 0, -1) if fewest_cells(domain, j) <= max_cells), 0)


def _way_out(domain: Domain, k: int, max_cells: int) -> str:
    """What to write where no k-way marginal fits."""
    smaller = widest_that_fits(domain, k, max_cells)
    ways = [f"Ask for {smaller}-way marginals by --kway {smaller}"] if smaller else []
    raised = fewest_cells(domain, k)
    ways += [f"raise the limit by --max-cells {raised}"] if raised <= MAX_CELLS else []
    sentence = ", ".join(
        [*ways, "or give columns fewer codes" if ways else "give them fewer codes"]
    )
    return f"{sentence[0].upper()}{sentence[1:]}."


def all_kway(domain: Domain, k: int, *, max_cells: int = MAX_CELLS) -> Workload:
    """Every k-way marginal that fits.

    >>> all_kway(Domain.of({"a": 2, "b": 3, "c": 5}), 2).queries
    31
    """
    return Workload(domain, tuple(eligible(domain, k, max_cells=max_cells)), max_cells=max_cells)


def parts_of_none(workload: Workload, k: int, *, max_cells: int) -> list[Marginal]:
    """The k-way marginals with at most `max_cells` cells whose columns no family has together.

    In a small table of columns with many codes a pair may fit that no three columns with it do.
    Without it nothing would be asked about how the two go together.

    >>> domain = Domain.of({"a": 2, "b": 30, "c": 40})
    >>> parts_of_none(Workload(domain, (Marginal(("a", "b")),)), 2, max_cells=100)
    [Marginal(columns=('a', 'c'), groups=None)]
    """
    if k < 1:
        return []
    known = {part for family in workload for part in combinations(sorted(family.columns), k)}
    fitting = eligible(workload.domain, k, max_cells=max_cells)
    return [each for each in fitting if tuple(sorted(each.columns)) not in known]


def random_kway(domain: Domain, k: int, marginals: int, *, rows: int, seed: int = 0) -> Workload:
    """The paper's workload: `marginals` of the k-way marginals with at most `rows` cells, drawn
    without replacement.

    The legacy generator is deliberate: it makes the queries the same as in the literature's
    experiments.
    """
    candidates = eligible(domain, k, max_cells=rows)
    if not 1 <= marginals <= len(candidates):
        raise WorkloadError(
            f"{marginals} marginals asked for, but {len(candidates)} {k}-way marginals have at most"
            f" {rows:,} cells. Ask for 1 to {len(candidates)}."
        )
    chosen = np.random.RandomState(seed).choice(len(candidates), marginals, replace=False)
    return Workload(domain, tuple(candidates[index] for index in chosen), max_cells=max(rows, 1))
