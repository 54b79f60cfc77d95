"""The public shape of an encoded table: column names and the number of codes of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from dprap.errors import WorkloadError, meant


@dataclass(frozen=True)
class Domain:
    """Column names with their numbers of codes; codes of a column run from 0 to size - 1.

    >>> domain = Domain.of({"age": 85, "sex": 2, "income": 2})
    >>> domain.size_of(("age", "sex")), domain.onehot_size, domain.offset("sex")
    (170, 89, 85)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sizes) or len(set(self.names)) != len(self.names):
            raise WorkloadError("a domain needs one size per column and no column twice.")
        if any(size < 1 for size in self.sizes):
            raise WorkloadError("every column of a domain needs at least one code.")

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> Domain:
        """Make a domain from a mapping of column name to number of codes.

        Args:
            sizes: For each column, in order, how many codes it has.

        Returns:
            The domain.

        Raises:
            WorkloadError: If a column has no code.

        >>> Domain.of({"age": 85, "sex": 2}).names
        ('age', 'sex')

        """
        return cls(tuple(sizes), tuple(int(size) for size in sizes.values()))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each column's block starts in the one-hot encoding."""
        return tuple(sum(self.sizes[:position]) for position in range(len(self.sizes)))

    @cached_property
    def onehot_size(self) -> int:
        """Length of a one-hot row: the paper's d'."""
        return sum(self.sizes)

    def position(self, name: str) -> int:
        """The position of a column in the schema's order.

        Args:
            name: The column.

        Returns:
            Its position, from 0.

        Raises:
            WorkloadError: If there is no such column; the message names those there are.

        >>> Domain.of({"age": 85, "sex": 2}).position("sex")
        1

        """
        try:
            return self._positions[name]
        except KeyError:
            advice = meant(str(name), self.names, "Its columns are")
            raise WorkloadError(f"column {name!r} is not in the schema. {advice}") from None

    def size(self, name: str) -> int:
        """The number of codes of one column.

        Args:
            name: The column.

        Returns:
            How many codes it has.

        Raises:
            WorkloadError: If there is no such column.

        >>> Domain.of({"age": 85, "sex": 2}).size("sex")
        2

        """
        return self.sizes[self.position(name)]

    def offset(self, name: str) -> int:
        """Where a column's block starts in the one-hot encoding.

        Args:
            name: The column.

        Returns:
            The sum of the sizes of all columns before it.

        Raises:
            WorkloadError: If there is no such column.

        >>> Domain.of({"age": 85, "sex": 2}).offset("sex")
        85

        """
        return self.offsets[self.position(name)]

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))

    def shape_of(self, columns: Iterable[str]) -> tuple[int, ...]:
        """The sizes of the given columns, in the given order.

        Args:
            columns: The columns.

        Returns:
            One number for each.

        Raises:
            WorkloadError: If there is no such column.

        >>> Domain.of({"age": 85, "sex": 2}).shape_of(("sex", "age"))
        (2, 85)

        """
        names = tuple(columns)
        try:
            return tuple(map(self._sizes.__getitem__, names))
        except KeyError:  # raises, and says which
            return tuple(map(self.size, names))

    def size_of(self, columns: Iterable[str]) -> int:
        """The number of cells of the marginal over the given columns.

        Args:
            columns: The columns; no column has one cell, the total.

        Returns:
            The product of their sizes.

        Raises:
            WorkloadError: If there is no such column.

        >>> Domain.of({"age": 85, "sex": 2}).size_of(("sex", "age"))
        170

        """
        return math.prod(self.shape_of(columns))
