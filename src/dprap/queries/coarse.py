"""Coarse marginals: one count for every combination of groups of codes, such as ages by decade and income."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import CellTable

Starts = tuple[int, ...] | None
"""The first code of every group of neighbouring codes; None where each code stands alone."""


@dataclass(frozen=True)
class Coarse:
    """All cells over some columns, in C order, after neighbouring codes of some of them were merged into groups.

    `starts` has, for each column, the first code of every group, or None where codes stay as they are.

    >>> Coarse(("sex", "age"), (None, (0, 2))).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[3, 3],
           [9, 6]])
    """

    columns: tuple[str, ...]
    starts: tuple[Starts, ...]

    def __post_init__(self) -> None:
        # The claim that a record lies in one cell rests on whole numbers: 0.5 would be cut to 0 and count a group twice.
        try:
            whole = tuple(
                None if starts is None else tuple(int(operator.index(start)) for start in starts)
                for starts in self.starts
            )
        except TypeError:
            raise WorkloadError("a coarse marginal takes, for each column, a tuple of whole numbers or None.") from None
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "starts", whole)
        if len(self.starts) != len(self.columns) or len(set(self.columns)) != len(self.columns):
            raise WorkloadError(
                f"a coarse marginal of {self.columns} needs distinct columns and one list of groups for each."
            )
        for name, starts in zip(self.columns, self.starts, strict=True):
            if starts is not None and (
                starts[:1] != (0,) or any(later <= earlier for earlier, later in pairwise(starts))
            ):
                raise WorkloadError(f"column {name!r}: groups start at code 0 and then at ever larger ones.")

    def __str__(self) -> str:
        return "×".join(
            name if starts is None else f"{name} ({len(starts)} groups)"
            for name, starts in zip(self.columns, self.starts, strict=True)
        )

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """Number of groups, or of codes, of each column."""
        for name, starts in zip(self.columns, self.starts, strict=True):
            if starts is not None and starts[-1] >= domain.size(name):
                raise WorkloadError(
                    f"column {name!r} has {domain.size(name)} codes, so no group starts at {starts[-1]}."
                )
        sizes = zip(self.starts, domain.shape_of(self.columns), strict=True)
        return tuple(size if starts is None else len(starts) for starts, size in sizes)

    def size(self, domain: Domain) -> int:
        """Number of queries, one a cell."""
        return math.prod(self.shape(domain))

    def answers(self, table: CellTable) -> CellTable:
        """Counts of all groups from the table of cell counts over the columns."""
        for axis, starts in enumerate(self.starts):
            if starts is not None:
                table = np.add.reduceat(table, starts, axis=axis)
        return table
