"""What a report shows of pairs of columns, as numbers: associations, and the cells of a few
pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Float
from dprap.products import product
from dprap.queries import Marginal
from dprap.relaxed import RelaxedDataset
from dprap.release import Release
from dprap.report.column_views import Shares, bin_ends

# Groups to which the codes of long columns are drawn together before they are compared.
ASSOCIATION_GROUPS = 16

# Pairs that get a picture.
PAIR_PLOTS = 6


def association(relaxed: RelaxedDataset) -> Float[np.ndarray, "columns columns"]:
    """Cramér's V of every pair of columns, from the relaxed rows; long columns are first drawn
    together to a few groups.

    V is 0 for unrelated columns and 1 where one determines the other.
    """
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    blocks = [
        coarse(np.asarray(relaxed.block(name), dtype=np.float64), weights)
        for name in relaxed.domain.names
    ]
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    stacked = np.concatenate(blocks)
    joint = product(stacked * weights, stacked.T)
    size = len(blocks)
    found = np.eye(size)
    for a in range(size):
        for b in range(a):
            cells = joint[starts[a] : starts[a + 1], starts[b] : starts[b + 1]]
            found[a, b] = found[b, a] = cramers_v(cells)
    return found


def coarse(
    table: Float[np.ndarray, "codes rows"], weights: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "groups rows"]:
    """Neighbouring codes drawn together to groups of about equal share."""
    if len(table) <= ASSOCIATION_GROUPS:
        return table
    return np.add.reduceat(table, _starts(product(table, weights)), axis=0)


def coarse_cells(cells: Float[np.ndarray, "a b"]) -> Float[np.ndarray, "groups more_groups"]:
    """A table of two columns with both drawn together as `coarse` does."""
    if len(cells) > ASSOCIATION_GROUPS:
        cells = np.add.reduceat(cells, _starts(cells.sum(axis=1)), axis=0)
    if cells.shape[1] > ASSOCIATION_GROUPS:
        cells = np.add.reduceat(cells, _starts(cells.sum(axis=0)), axis=1)
    return cells


def _starts(shares: Shares) -> np.ndarray:
    cumulative = np.cumsum(shares) - shares / 2
    groups = np.minimum(
        (cumulative / max(shares.sum(), 1e-30) * ASSOCIATION_GROUPS).astype(int),
        ASSOCIATION_GROUPS - 1,
    )
    return np.flatnonzero(np.diff(groups, prepend=-1))


def cramers_v(cells: Float[np.ndarray, "a b"]) -> float:
    """Cramér's V of a table of shares.

    >>> (
    ...     round(cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]])), 6),
    ...     round(cramers_v(np.array([[0.25, 0.25], [0.25, 0.25]])), 6),
    ... )
    (1.0, 0.0)
    """
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    expected = np.outer(rows, columns)
    there = expected > 1e-12
    chi2 = float((((cells - expected)[there]) ** 2 / expected[there]).sum())
    freedom = min(np.count_nonzero(rows > 1e-9), np.count_nonzero(columns > 1e-9)) - 1
    return math.sqrt(min(chi2 / freedom, 1.0)) if freedom > 0 else 0.0


def pair_marginals(release: Release, max_cells: int) -> list[Marginal]:
    """All pairs of columns whose table is not too large, in the order of the lower triangle."""
    domain = release.schema.domain
    pairs = (Marginal((a, b)) for i, a in enumerate(domain.names) for b in domain.names[:i])
    return [pair for pair in pairs if pair.size(domain) <= max_cells]


@dataclass(frozen=True)
class PairView:
    """The joint distribution of two columns, long ones in groups."""

    columns: tuple[str, str]
    association: float
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Float[np.ndarray, "first second"]


def pair_views(release: Release, found: Float[np.ndarray, "columns columns"]) -> list[PairView]:
    """The pairs with the strongest association, from the relaxed rows."""
    relaxed = release.relaxed
    names = release.schema.domain.names
    if relaxed is None:
        return []
    pairs = sorted(
        ((found[a, b], b, a) for a in range(len(names)) for b in range(a)), reverse=True
    )[:PAIR_PLOTS]
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    views = []
    for value, a, b in pairs:
        sides = [_grouped_block(release, name, weights) for name in (names[a], names[b])]
        shares = product(sides[0][1] * weights, sides[1][1].T)
        views.append(
            PairView((names[a], names[b]), float(value), (sides[0][0], sides[1][0]), shares)
        )
    return views


def _grouped_block(
    release: Release, name: str, weights: Float[np.ndarray, " rows"]
) -> tuple[tuple[str, ...], Float[np.ndarray, "groups rows"]]:
    """Labels and probabilities of a column's codes; neighbouring codes of a long column
    together.
    """
    assert release.relaxed is not None  # noqa: S101 - callers have rows
    block = np.asarray(release.relaxed.block(name), dtype=np.float64)
    label = release.schema.label
    if len(block) <= ASSOCIATION_GROUPS:
        return tuple(label(name, code) for code in range(len(block))), block
    starts = [int(start) for start in _starts(product(block, weights))]
    ends = [*(start - 1 for start in starts[1:]), len(block) - 1]
    labels = tuple(
        (
            label(name, first)
            if first == last
            else f"{bin_ends(label(name, first))[0]} … {bin_ends(label(name, last))[1]}"
        )
        for first, last in zip(starts, ends, strict=True)
    )
    return labels, np.add.reduceat(block, starts, axis=0)
