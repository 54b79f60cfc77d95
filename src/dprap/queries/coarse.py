"""Coarse marginals: one count for every combination of groups of codes, such as ages by decade and income.

Every code of a column lies in exactly one group, so that a record lies in exactly one cell.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import CellTable

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Starts = tuple[int, ...] | None
"""The first code of every group of neighbouring codes; None where each code stands alone."""

Groups = Starts | tuple[tuple[int, ...], ...]
"""Groups of a column's codes: their first codes, or where they are not neighbours the codes of each group."""


@dataclass(frozen=True)
class Coarse:
    """All cells over some columns, in C order, after codes of some of them were merged into groups.

    `starts` has, for each column, the first code of every group of neighbouring codes, or the codes of every
    group, or None where codes stay as they are.

    >>> Coarse(("sex", "age"), (None, (0, 2))).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[3, 3],
           [9, 6]])
    >>> Coarse(("sex", "age"), (None, ((1,), (0, 2)))).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[ 2,  4],
           [ 5, 10]])
    """

    columns: tuple[str, ...]
    starts: tuple[Groups, ...]

    def __post_init__(self) -> None:
        # The claim that a record lies in one cell rests on whole numbers: 0.5 would be cut to 0 and count a group twice.
        try:
            whole = tuple(_whole(groups) for groups in self.starts)
        except TypeError:
            raise WorkloadError("a coarse marginal takes, for each column, a tuple of whole numbers or None.") from None
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "starts", whole)
        if len(self.starts) != len(self.columns) or len(set(self.columns)) != len(self.columns):
            raise WorkloadError(
                f"a coarse marginal of {self.columns} needs distinct columns and one list of groups for each."
            )
        for name, groups in zip(self.columns, self.starts, strict=True):
            if _is_sets(groups):
                codes = sorted(code for group in groups for code in group)
                if codes != list(range(len(codes))) or not all(groups):
                    raise WorkloadError(
                        f"column {name!r}: each code from 0 on lies in exactly one group, none is empty."
                    )
            elif groups is not None and (
                groups[:1] != (0,) or any(later <= earlier for earlier, later in pairwise(groups))
            ):
                raise WorkloadError(f"column {name!r}: groups start at code 0 and then at ever larger ones.")

    def __str__(self) -> str:
        return "×".join(
            name if groups is None else f"{name} ({len(groups)} groups)"
            for name, groups in zip(self.columns, self.starts, strict=True)
        )

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """Number of groups, or of codes, of each column; refuses groups that are not of the domain's codes."""
        for name, groups in zip(self.columns, self.starts, strict=True):
            if _is_sets(groups):
                if sum(map(len, groups)) != domain.size(name):
                    raise WorkloadError(
                        f"column {name!r} has {domain.size(name)} codes, but its groups {sum(map(len, groups))}."
                    )
            elif groups is not None and groups[-1] >= domain.size(name):
                raise WorkloadError(
                    f"column {name!r} has {domain.size(name)} codes, so no group starts at {groups[-1]}."
                )
        sizes = zip(self.starts, domain.shape_of(self.columns), strict=True)
        return tuple(size if groups is None else len(groups) for groups, size in sizes)

    def size(self, domain: Domain) -> int:
        """Number of queries, one a cell."""
        return math.prod(self.shape(domain))

    def answers(self, table: CellTable) -> CellTable:
        """Counts of all groups from the table of cell counts over the columns."""
        for axis, groups in enumerate(self.starts):
            if _is_sets(groups):
                # Codes of a group are brought together; then its first place is where it starts.
                firsts = np.cumsum([0, *map(len, groups[:-1])])
                table = np.add.reduceat(table.take(np.concatenate(groups), axis=axis), firsts, axis=axis)
            elif groups is not None:
                table = np.add.reduceat(table, groups, axis=axis)
        return table

    def neighbouring(self) -> tuple[Starts, ...]:
        """The first codes of the groups of each column; refuses groups of codes that are not neighbours."""
        return tuple(self._starts_of(name, groups) for name, groups in zip(self.columns, self.starts, strict=True))

    def _starts_of(self, name: str, groups: Groups) -> Starts:
        if _is_sets(groups):
            raise WorkloadError(f"column {name!r}: this step takes groups of neighbouring codes alone.")
        return groups


def _is_sets(groups: Groups) -> TypeIs[tuple[tuple[int, ...], ...]]:
    return groups is not None and len(groups) > 0 and isinstance(groups[0], tuple)


def _whole(groups: Any) -> Groups:
    """The groups as tuples of whole numbers; raises TypeError for anything else."""
    if groups is None:
        return None
    if any(isinstance(group, (tuple, list)) for group in groups):
        return tuple(tuple(int(operator.index(code)) for code in group) for group in groups)
    return tuple(int(operator.index(start)) for start in groups)
