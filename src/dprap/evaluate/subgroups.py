"""How much worse a published table serves part of the records than all of them. NOT PRIVATE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.evaluate.pair_differences import GroupedCodes
from dprap.evaluate.records_by_value import TableValues

# Smaller groups are not judged: what a table of this size can say of them is mostly chance.
_LEAST_SHARE = 0.01
# Columns with more codes do not make groups that people speak of.
_MOST_CODES = 12


@dataclass(frozen=True)
class SubgroupError:
    """Records with one value of one column. NOT PRIVATE.

    Args:
        column: The column.
        value: The value in words.
        share: The share of the private records in the group.
        tv: The total variation distance of a column among the group's records, mean over the other
            columns, long columns in groups.

    """

    column: str
    value: str
    share: float
    tv: float


def subgroup_errors(
    private: TableValues, groups: GroupedCodes
) -> tuple[float, list[SubgroupError]]:
    """The error among all records, and that of every group, the worst first."""
    schema = private.schema
    everywhere = (
        np.ones(groups.private.shape[1], dtype=bool),
        np.ones(groups.published.shape[1], dtype=bool),
    )
    found = []
    for at, (name, column) in enumerate(schema.columns.items()):
        if not 1 < column.size <= _MOST_CODES:
            continue
        for code in range(column.size):
            inside = groups.private[at] == code, groups.published[at] == code
            share = float(inside[0].mean())
            if share >= _LEAST_SHARE:
                tv = _mean_tv(groups, *inside, without=at)
                found.append(SubgroupError(name, schema.label(name, code), share, tv))
    return _mean_tv(groups, *everywhere, without=None), sorted(found, key=lambda group: -group.tv)


def _mean_tv(
    groups: GroupedCodes, private: np.ndarray, published: np.ndarray, *, without: int | None
) -> float:
    if not published.any():
        return 1.0
    distances = []
    for at, size in enumerate(groups.sizes):
        if at != without:
            one = np.bincount(groups.private[at, private], minlength=size) / private.sum()
            other = np.bincount(groups.published[at, published], minlength=size) / published.sum()
            distances.append(np.abs(one - other).sum() / 2)
    return float(np.mean(distances)) if distances else 0.0
