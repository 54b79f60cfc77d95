"""k-way marginals: one count for every combination of values of k columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Int, Int64

from dprap.domain import Domain
from dprap.errors import WorkloadError

CellTable = Int64[np.ndarray, "..."]


@dataclass(frozen=True, order=True)
class Marginal:
    """All cells over some columns, in C order of the columns as given (the last column varies fastest).

    The marginal over no column is the total: one cell.

    >>> domain = Domain.of({"sex": 2, "region": 3})
    >>> marginal = Marginal(("sex", "region"))
    >>> marginal.size(domain), marginal.cell(domain, (1, 2)), marginal.codes(domain, np.array([5])).tolist()
    (6, 5, [[1, 2]])
    """

    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        given: object = self.columns
        if isinstance(given, str):
            raise WorkloadError(f"a marginal takes a tuple of columns: Marginal(({self.columns!r},)).")
        object.__setattr__(self, "columns", tuple(self.columns))
        if len(set(self.columns)) != len(self.columns):
            raise WorkloadError(f"marginal {self} names a column twice.")

    def __str__(self) -> str:
        return "×".join(self.columns) or "total"

    def size(self, domain: Domain) -> int:
        """Number of queries, one a cell."""
        return domain.size_of(self.columns)

    def answers(self, table: CellTable) -> CellTable:
        """Answers of this family's queries from the table of cell counts over its columns: the cells themselves."""
        return table

    def cell(self, domain: Domain, codes: Iterable[int]) -> int:
        """Index of the cell with the given codes, one a column."""
        return int(np.ravel_multi_index(tuple(codes), domain.shape_of(self.columns))) if self.columns else 0

    def codes(self, domain: Domain, cells: Int[np.ndarray, " cells"]) -> Int[np.ndarray, "cells columns"]:
        """Codes of the given cells, one row a cell."""
        if not self.columns:
            return np.zeros((len(cells), 0), dtype=np.int64)
        return np.stack(np.unravel_index(cells, domain.shape_of(self.columns)), axis=1)

    def subsets(self, *, smallest: int = 1) -> Iterable[Marginal]:
        """All marginals over at least `smallest` of these columns, in their order, smaller ones first."""
        for size in range(smallest, len(self.columns) + 1):
            for columns in combinations(self.columns, size):
                yield Marginal(columns)
