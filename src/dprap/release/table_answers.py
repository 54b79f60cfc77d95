"""Answers of a workload on a synthetic table: exact counts of public records, many families at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from dprap.array_types import Answers
from dprap.counting.passes import count_columns
from dprap.encoding import Codes
from dprap.queries import GRID, Custom, Family, Halfspace, Marginal

# Records whose contributions to a custom family stand in memory at once.
_BLOCK = 1 << 12

# Cells of the families that are counted together: 128 MB of counts.
_TOGETHER = 1 << 24


def table_answers(
    codes: Codes, families: Iterable[Family], *, watch: Callable[[int, int], None] | None = None
) -> Iterator[Answers]:
    """Yield the answers of each family as fractions of the table's records, flat, in C order of its
    cells.

    Families are counted together, several over the union of their columns, up to so many cells that
    their counts take 128 MB, or one by one where a single one takes more.

    Args:
        codes: The records of a synthetic table, at least one.
        families: Query families over the same domain.
        watch: Is told how many records have been counted, of how many, for the families that are
            counted together.

    Yields:
        One array of fractions for each family.

    >>> from dprap.domain import Domain
    >>> from dprap.queries import Marginal
    >>> codes = Codes.of(
    ...     Domain.of({"sex": 2, "region": 3}), {"sex": [0, 1, 1, 1], "region": [2, 0, 0, 1]}
    ... )
    >>> [shares.tolist() for shares in table_answers(codes, [Marginal(("sex", "region"))])]
    [[0.0, 0.0, 0.25, 0.5, 0.25, 0.0]]
    """
    for batch in _batches(codes, families):
        marginals = {Marginal(family.columns) for family in batch if _is_by_cells(codes, family)}
        wanted = sorted(marginals, key=lambda marginal: marginal.columns)
        counted = count_columns(codes.domain, codes.columns, wanted, watch=watch)
        for family in batch:
            if isinstance(family, Halfspace):
                yield (
                    family.counts(codes.domain, [codes.column(name) for name in family.columns])
                    / codes.rows
                )
            elif isinstance(family, Custom) and not family.is_table(codes.domain):
                yield _custom_sums(codes, family) / (GRID * codes.rows)
            else:
                cells = (
                    counted[Marginal(family.columns)]
                    .dense()
                    .reshape(codes.domain.shape_of(family.columns))
                )
                yield np.asarray(family.answers(cells)).ravel() / codes.rows


def _is_by_cells(codes: Codes, family: Family) -> bool:
    """Whether a family's answers are a linear map of the counts of all cells over its columns."""
    return not isinstance(family, Halfspace) and not (
        isinstance(family, Custom) and not family.is_table(codes.domain)
    )


def _batches(codes: Codes, families: Iterable[Family]) -> Iterator[list[Family]]:
    """Families in their order, as many at a time as may be counted together."""
    batch: list[Family] = []
    cells = 0
    for family in families:
        size = codes.domain.size_of(family.columns) if _is_by_cells(codes, family) else 0
        if batch and cells + size > _TOGETHER:
            yield batch
            batch, cells = [], 0
        batch.append(family)
        cells += size
    if batch:
        yield batch


def _custom_sums(codes: Codes, family: Custom) -> np.ndarray:
    """Contributions on the grid that the curator uses too, so that a table is compared like with
    like.
    """
    columns = [codes.column(name) for name in family.columns]
    total = np.zeros(family.size(codes.domain), dtype=np.int64)
    for start in range(0, codes.rows, _BLOCK):
        block = [column[start : start + _BLOCK] for column in columns]
        total += family.contributions(codes.domain, block).sum(axis=0)
    return total
