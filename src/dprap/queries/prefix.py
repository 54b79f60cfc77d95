"""Prefix counts: cumulative along ordered columns, one value at a time along the others."""

from __future__ import annotations

from dataclasses import dataclass

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import CellTable


@dataclass(frozen=True, order=True)
class Prefix:
    """For every cell y over the columns: records with x_c <= y_c in the cumulative columns, x_c = y_c in the others.

    >>> import numpy as np
    >>> Prefix(("sex", "age"), cumulative=("age",)).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[ 1,  3,  6],
           [ 4,  9, 15]])
    """

    columns: tuple[str, ...]
    cumulative: tuple[str, ...]

    def __post_init__(self) -> None:
        given: tuple[object, object] = (self.columns, self.cumulative)
        if any(isinstance(names, str) for names in given):
            raise WorkloadError("a prefix family takes tuples of columns: Prefix(('sex', 'age'), cumulative=('age',)).")
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "cumulative", tuple(self.cumulative))
        if len(set(self.columns)) != len(self.columns):
            raise WorkloadError(f"prefix family {self} names a column twice.")
        if unknown := [name for name in self.cumulative if name not in self.columns]:
            raise WorkloadError(f"prefix family {self}: cumulative column {unknown[0]!r} is not among its columns.")

    def __str__(self) -> str:
        return "×".join(f"≤{name}" if name in self.cumulative else name for name in self.columns) or "total"

    def size(self, domain: Domain) -> int:
        """Number of queries, one a cell."""
        return domain.size_of(self.columns)

    def answers(self, table: CellTable) -> CellTable:
        """Answers at every cell from the table of cell counts: cumulative sums along the cumulative columns."""
        for axis, name in enumerate(self.columns):
            if name in self.cumulative:
                table = table.cumsum(axis=axis)
        return table
