"""Answers of a workload on a synthetic table: exact counts of public records, some families at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np

from dprap.array_types import Answers
from dprap.counting import CellCounts, Tally
from dprap.counting.passes import plan_passes
from dprap.counting.tally import counting_threads
from dprap.encoding import Codes
from dprap.queries import GRID, Custom, Family, Marginal

# Records whose contributions to a custom family stand in memory at once.
_BLOCK = 1 << 12
# Cells of families that are counted together: 32 MB of counts.
_CELLS_TOGETHER = 1 << 22


def table_answers(codes: Codes, families: Iterable[Family]) -> Iterator[Answers]:
    """Yield the answers of each family as fractions of the table's records, flat, in C order of its cells.

    Families that follow each other are counted together, up to a few million cells.

    Args:
        codes: The records of a synthetic table, at least one.
        families: Query families over the same domain.

    Yields:
        One array of fractions for each family.

    >>> from dprap.domain import Domain
    >>> from dprap.queries import Marginal
    >>> codes = Codes.of(Domain.of({"sex": 2, "region": 3}), {"sex": [0, 1, 1, 1], "region": [2, 0, 0, 1]})
    >>> [shares.tolist() for shares in table_answers(codes, [Marginal(("sex", "region"))])]
    [[0.0, 0.0, 0.25, 0.5, 0.25, 0.0]]

    """
    for together in _groups(codes, families):
        counted = _counted(codes, [family for family in together if _is_of_cells(codes, family)])
        for family in together:
            if not _is_of_cells(codes, family):
                yield _custom_sums(codes, cast("Custom", family)) / (GRID * codes.rows)
                continue
            # The family's linear map of the counts of all cells; of a custom function, sums of values.
            counts = counted[family.columns].dense().reshape(codes.domain.shape_of(family.columns))
            yield np.asarray(family.answers(counts)).ravel() / codes.rows


def _is_of_cells(codes: Codes, family: Family) -> bool:
    return not isinstance(family, Custom) or family.is_table(codes.domain)


def _groups(codes: Codes, families: Iterable[Family]) -> Iterator[list[Family]]:
    """Families that follow each other and are counted together."""
    together: list[Family] = []
    cells = 0
    for family in families:
        size = codes.domain.size_of(family.columns) if _is_of_cells(codes, family) else 0
        if together and cells + size > _CELLS_TOGETHER:
            yield together
            together, cells = [], 0
        together.append(family)
        cells += size
    if together:
        yield together


def _counted(codes: Codes, families: Iterable[Family]) -> dict[tuple[str, ...], CellCounts]:
    """Counts of the cells over the columns of each family."""
    marginals = list(dict.fromkeys(Marginal(family.columns) for family in families))
    found = {}
    for plan in plan_passes(codes.domain, marginals, rows=codes.rows):
        tally = Tally(codes.domain, plan, threads=counting_threads())
        tally.add(codes.columns)
        found.update({marginal.columns: counts for marginal, counts in tally.results()})
    return found


def _custom_sums(codes: Codes, family: Custom) -> np.ndarray:
    """Contributions on the grid that the curator uses too, so that a table is compared like with like."""
    columns = [codes.column(name) for name in family.columns]
    total = np.zeros(family.size(codes.domain), dtype=np.int64)
    for start in range(0, codes.rows, _BLOCK):
        block = [column[start : start + _BLOCK] for column in columns]
        total += family.contributions(codes.domain, block).sum(axis=0)
    return total
