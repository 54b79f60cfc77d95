"""Pairs of columns of a published table beside those of the private one. NOT PRIVATE."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dprap.array_types import Float64, Int64
from dprap.evaluate.records_by_value import TableValues

# Long columns are cut into this many groups of about equal share: pairs of all their codes would be
# mostly empty, and their distance the noise of sampling.
GROUPS = 12


@dataclass(frozen=True)
class PairComparison:
    """Two columns of both tables. NOT PRIVATE.

    Args:
        columns: Their names.
        similarity: 1 − the total variation distance of their joint distribution, long columns in
            groups.
        correlations: Pearson's correlation in the private and in the published table, where both
            columns have an order.

    """

    columns: tuple[str, str]
    similarity: float
    correlations: tuple[float, float] | None = None


@dataclass(frozen=True)
class GroupedCodes:
    """Codes of both tables in few groups, one row a column; a group means the same in both."""

    sizes: tuple[int, ...]
    private: Int64[np.ndarray, "columns records"]
    published: Int64[np.ndarray, "columns rows"]


def grouped(private: TableValues, published: TableValues) -> GroupedCodes:
    """Codes of both tables, long columns in groups of about equal share of the private table."""
    sizes, one, other = [], [], []
    for name, column in private.schema.columns.items():
        codes = private.codes.column(name)
        group_of = np.arange(column.size)
        if column.size > GROUPS:
            shares = np.bincount(codes, minlength=column.size) / len(codes)
            group_of = np.minimum((np.cumsum(shares) - shares / 2) * GROUPS, GROUPS - 1).astype(
                np.int64
            )
        sizes.append(int(group_of.max()) + 1)
        one.append(group_of[codes])
        other.append(group_of[published.codes.column(name)])
    return GroupedCodes(tuple(sizes), np.stack(one), np.stack(other))


def compare_pairs(
    private: TableValues, published: TableValues, groups: GroupedCodes
) -> list[PairComparison]:
    """Every pair of columns, the least alike first."""
    names = list(private.schema.columns)
    numbers = [name for name in names if name in private.numbers and name in published.numbers]
    correlations = [_correlations(table, numbers) for table in (private, published)]
    found = []
    for a, b in combinations(range(len(names)), 2):
        pair = names[a], names[b]
        both = None
        if pair[0] in numbers and pair[1] in numbers:
            at = numbers.index(pair[0]), numbers.index(pair[1])
            both = float(correlations[0][at]), float(correlations[1][at])
        found.append(PairComparison(pair, 1 - _distance(groups, a, b), both))
    return sorted(found, key=lambda pair: pair.similarity)


def _distance(groups: GroupedCodes, a: int, b: int) -> float:
    cells = groups.sizes[a] * groups.sizes[b]
    shares = [
        np.bincount(codes[a] * groups.sizes[b] + codes[b], minlength=cells) / codes.shape[1]
        for codes in (groups.private, groups.published)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _correlations(table: TableValues, names: list[str]) -> Float64[np.ndarray, "numbers numbers"]:
    """Pearson's correlations of records that have both values; 0 where a column is constant."""
    columns = [
        np.where(np.isfinite(table.numbers[name]), table.numbers[name], np.nan) for name in names
    ]
    found = np.eye(len(names))
    for a, b in combinations(range(len(names)), 2):
        there = ~(np.isnan(columns[a]) | np.isnan(columns[b]))
        x, y = columns[a][there], columns[b][there]
        if len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
            found[a, b] = found[b, a] = np.corrcoef(x, y)[0, 1]
    return found
