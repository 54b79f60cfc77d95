"""Answers of a workload on a synthetic table: exact counts of public records, one family at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dprap.array_types import Answers
from dprap.counting import cell_numbers
from dprap.encoding import Codes
from dprap.queries import GRID, CellFamily, Custom, Family, Halfspace

# Records whose contributions to a custom family stand in memory at once.
_BLOCK = 1 << 12


def table_answers(codes: Codes, families: Iterable[Family]) -> Iterator[Answers]:
    """Yield the answers of each family as fractions of the table's records, flat, in C order of its cells.

    The largest arrays are one number a record and one a cell of the present family.

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
    for family in families:
        if isinstance(family, Halfspace):
            yield family.counts(codes.domain, [codes.column(name) for name in family.columns]) / codes.rows
        elif isinstance(family, Custom) and not family.is_table(codes.domain):
            yield _custom_sums(codes, family) / (GRID * codes.rows)
        else:
            yield _cell_sums(codes, family) / codes.rows


def _cell_sums(codes: Codes, family: CellFamily | Custom) -> np.ndarray:
    """The family's linear map of the counts of all cells over its columns; of a custom function, sums of values."""
    shape = codes.domain.shape_of(family.columns)
    cells = cell_numbers([codes.column(name) for name in family.columns], shape, codes.rows)
    counts = np.bincount(cells, minlength=codes.domain.size_of(family.columns))
    return np.asarray(family.answers(counts.reshape(shape))).ravel()


def _custom_sums(codes: Codes, family: Custom) -> np.ndarray:
    """Contributions on the grid that the curator uses too, so that a table is compared like with like."""
    columns = [codes.column(name) for name in family.columns]
    total = np.zeros(family.size(codes.domain), dtype=np.int64)
    for start in range(0, codes.rows, _BLOCK):
        block = [column[start : start + _BLOCK] for column in columns]
        total += family.contributions(codes.domain, block).sum(axis=0)
    return total
