"""The public shape of an encoded table: column names and the number of codes of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from dprap.errors import WorkloadError


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
        """Make a domain from a mapping of column name to number of codes."""
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
        """Position of a column in the schema's order."""
        try:
            return self._positions[name]
        except KeyError:
            known = ", ".join(self.names[:8]) + (", …" if len(self.names) > 8 else "")
            raise WorkloadError(f"column {name!r} is not in the schema. Its columns are: {known}.") from None

    def size(self, name: str) -> int:
        """Number of codes of one column."""
        return self.sizes[self.position(name)]

    def offset(self, name: str) -> int:
        """Start of a column's block in the one-hot encoding."""
        return self.offsets[self.position(name)]

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))

    def shape_of(self, columns: Iterable[str]) -> tuple[int, ...]:
        """Sizes of the given columns, in the given order."""
        names = tuple(columns)
        try:
            return tuple(map(self._sizes.__getitem__, names))
        except KeyError:  # raises, and says which
            return tuple(map(self.size, names))

    def size_of(self, columns: Iterable[str]) -> int:
        """Number of cells of the marginal over the given columns (1 for none)."""
        return math.prod(self.shape_of(columns))
