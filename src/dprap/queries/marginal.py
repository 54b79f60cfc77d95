"""k-way marginals: one count for every combination of values, or of groups of values, of k
columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dprap.arguments import as_columns
from dprap.array_types import Int, Int64
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.code_groups import (
    Groups,
    Starts,
    check_groups,
    is_sets,
    number_of_groups,
    whole_numbers,
)

CellTable = Int64[np.ndarray, "..."]


@dataclass(frozen=True, slots=True)
class Marginal:
    """All cells over some columns, in C order of the columns as given (the last column varies
    fastest).

    The marginal over no column is the total: one cell. `groups` merges codes, such as ages by
    decade: it has, for each column, the first code of every group of neighbouring codes, or the
    codes of every group, or None where codes stay as they are. Every code lies in exactly one
    group, so that a record lies in exactly one cell, with groups or without.

    >>> domain = Domain.of({"sex": 2, "region": 3})
    >>> marginal = Marginal(("sex", "region"))
    >>> (
    ...     marginal.size(domain),
    ...     marginal.cell(domain, (1, 2)),
    ...     marginal.codes(domain, np.array([5])).tolist(),
    ... )
    (6, 5, [[1, 2]])
    >>> Marginal(("sex", "age"), (None, (0, 2))).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[3, 3],
           [9, 6]])
    >>> Marginal(("sex", "age"), (None, ((1,), (0, 2)))).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[ 2,  4],
           [ 5, 10]])
    """

    columns: tuple[str, ...]
    groups: tuple[Groups, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_columns(self.columns, "a marginal"))
        if len(set(self.columns)) != len(self.columns):
            raise WorkloadError(
                f"marginal {'×'.join(map(str, self.columns))} names a column twice."
            )
        if self.groups is not None:
            self._check_groups(self.groups)

    def _check_groups(self, given: tuple[Groups, ...]) -> None:
        # The claim that a record lies in one cell rests on whole numbers: 0.5 would be cut to 0 and
        # count a group twice.
        try:
            groups = tuple(whole_numbers(each) for each in given)
        except TypeError:
            raise WorkloadError(
                "the groups of a marginal are, for each column, a tuple of whole numbers or None."
            ) from None
        if len(groups) != len(self.columns):
            raise WorkloadError(
                f"marginal {'×'.join(self.columns)} needs one list of groups for each column, or"
                " None."
            )
        for name, each in zip(self.columns, groups, strict=True):
            check_groups(name, each)
        # Groups of no column are no groups: there is one way to write each marginal.
        object.__setattr__(self, "groups", None if all(each is None for each in groups) else groups)

    def __str__(self) -> str:
        named = (
            name if groups is None else f"{name} ({len(groups)} groups)"
            for name, groups in self.groups_by_column()
        )
        return "×".join(named) or "total"

    def groups_by_column(self) -> tuple[tuple[str, Groups], ...]:
        """Each column with its groups, or with None where its codes stay as they are.

        Returns:
            A pair for each column, in order.

        >>> Marginal(("sex", "age"), (None, (0, 2))).groups_by_column()
        (('sex', None), ('age', (0, 2)))

        """
        return tuple(zip(self.columns, self.groups or (None,) * len(self.columns), strict=True))

    def starts_by_column(self) -> tuple[tuple[str, Starts], ...]:
        """Each column with the first codes of its groups, or with None.

        Returns:
            A pair for each column, in order.

        Raises:
            WorkloadError: If a group has codes that are not neighbours.

        >>> Marginal(("age",), ((0, 2),)).starts_by_column()
        (('age', (0, 2)),)

        """
        return tuple((name, _starts(name, groups)) for name, groups in self.groups_by_column())

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The number of codes, or of groups, of each column.

        Args:
            domain: The domain of the table.

        Returns:
            One number for each column; their product is the number of cells.

        Raises:
            WorkloadError: If groups are not of the domain's codes.

        >>> Marginal(("sex", "age"), (None, (0, 2))).shape(Domain.of({"sex": 2, "age": 3}))
        (2, 2)

        """
        sizes = domain.shape_of(self.columns)
        if self.groups is None:
            return sizes
        return tuple(
            number_of_groups(name, groups, size)
            for (name, groups), size in zip(self.groups_by_column(), sizes, strict=True)
        )

    def size(self, domain: Domain) -> int:
        """The number of queries: one for each cell.

        Args:
            domain: The domain of the table.

        Returns:
            How many there are.

        Raises:
            WorkloadError: If groups are not of the domain's codes.

        >>> Marginal(("sex", "age")).size(Domain.of({"sex": 2, "age": 3}))
        6

        """
        return math.prod(self.shape(domain))

    def answers(self, table: CellTable) -> CellTable:
        """Answers of this family's queries from cell counts: the cells, or their groups.

        Args:
            table: Counts or shares of all cells by code, with one axis for each column.

        Returns:
            An array with one axis for each column, by code or by group.
        """
        for axis, groups in enumerate(self.groups or ()):
            if is_sets(groups):
                # Codes of a group are brought together; then its first place is where it starts.
                firsts = np.cumsum([0, *map(len, groups[:-1])])
                table = np.add.reduceat(
                    table.take(np.concatenate(groups), axis=axis), firsts, axis=axis
                )
            elif groups is not None:
                table = np.add.reduceat(table, groups, axis=axis)
        return table

    def cell(self, domain: Domain, codes: Iterable[int]) -> int:
        """The index of the cell with the given codes.

        Args:
            domain: The domain of the table.
            codes: One code for each column; of a grouped column, the place of the group.

        Returns:
            The place of the cell in the family's order.

        Raises:
            WorkloadError: If groups are not of the domain's codes.
            ValueError: If a code is not in the domain.

        >>> Marginal(("sex", "age")).cell(Domain.of({"sex": 2, "age": 3}), (1, 0))
        3

        """
        return int(np.ravel_multi_index(tuple(codes), self.shape(domain))) if self.columns else 0

    def codes(
        self, domain: Domain, cells: Int[np.ndarray, " cells"]
    ) -> Int[np.ndarray, "cells columns"]:
        """The codes of the given cells.

        Args:
            domain: The domain of the table.
            cells: Places of cells in the family's order.

        Returns:
            One row for each cell, with the code of each column; of a grouped column, the place of
            the group.

        Raises:
            WorkloadError: If groups are not of the domain's codes.
            ValueError: If there is no such cell.

        >>> Marginal(("sex", "age")).codes(Domain.of({"sex": 2, "age": 3}), np.array([3])).tolist()
        [[1, 0]]
        """
        if not self.columns:
            return np.zeros((len(cells), 0), dtype=np.int64)
        return np.stack(np.unravel_index(cells, self.shape(domain)), axis=1)

    def subsets(self, *, smallest: int = 1, largest: int | None = None) -> Iterable[Marginal]:
        """All marginals over some of these columns, smaller ones first; groups stay.

        Args:
            smallest: The least number of columns.
            largest: The largest number of columns; all of them, unless given.

        Returns:
            The marginals, each with its columns in the order of this one.

        >>> [str(subset) for subset in Marginal(("a", "b")).subsets()]
        ['a', 'b', 'a×b']

        """
        for size in range(smallest, (len(self.columns) if largest is None else largest) + 1):
            for chosen in combinations(self.groups_by_column(), size):
                yield Marginal(
                    tuple(name for name, _ in chosen), tuple(groups for _, groups in chosen)
                )


def _starts(name: str, groups: Groups) -> Starts:
    if is_sets(groups):
        raise WorkloadError(f"column {name!r}: this step takes groups of neighbouring codes alone.")
    return groups
