"""Range counts: intervals of codes along ordered columns, one value at a time along the others.

Along each column a family runs through single codes (None), through all prefixes (`"prefixes"`:
codes 0..c for every c), through all intervals (`"all"`: codes f..l for every f ≤ l), or through
intervals that are listed as pairs of their first and last code. There is one query for every
combination.

Sensitivity: a query counts the records whose codes all lie in its intervals. A record lies in them
or not, so one record moves the count by at most 1, whatever the intervals are and however they
overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from dprap.array_types import Int64
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.marginal import CellTable

Listed: TypeAlias = tuple[tuple[int, int], ...]
Intervals: TypeAlias = Literal["prefixes", "all"] | Listed | None
Bounds = Int64[np.ndarray, " intervals"]


@dataclass(frozen=True)
class Range:
    """For every combination of intervals, one of each column: the records whose codes lie in all of
    them.

    >>> by_age = Range(("sex", "age"), {"age": "all"})
    >>> by_age.answers(np.array([[1, 2, 3], [4, 5, 6]]))  # ages 0..0, 0..1, 0..2, 1..1, 1..2, 2..2
    array([[ 1,  3,  6,  2,  5,  3],
           [ 4,  9, 15,  5, 11,  6]])
    >>> Range(("sex", "age"), {"age": [(0, 1), (1, 2)]}).answers(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[ 3,  5],
           [ 9, 11]])
    """

    columns: tuple[str, ...]
    intervals: tuple[Intervals, ...]

    def __init__(self, columns: Iterable[str], along: Mapping[str, Any]) -> None:
        """Name the columns, and for those that intervals run along, which intervals.

        Raises:
            WorkloadError: A column is named twice or is not there, or the intervals are none.

        """
        if isinstance(columns, str) or not isinstance(along, Mapping):
            raise WorkloadError(
                "a range family takes columns and intervals: Range(('sex', 'age'), {'age': 'all'})."
            )
        object.__setattr__(self, "columns", tuple(columns))
        if len(set(self.columns)) != len(self.columns):
            raise WorkloadError(
                f"range family {'×'.join(map(str, self.columns))} names a column twice."
            )
        if unknown := [name for name in along if name not in self.columns]:
            raise WorkloadError(f"range family: column {unknown[0]!r} is not among its columns.")
        checked = tuple(_checked(name, along.get(name)) for name in self.columns)
        object.__setattr__(self, "intervals", checked)

    @classmethod
    def prefixes(cls, columns: Sequence[str], cumulative: Sequence[str]) -> Range:
        """All prefixes: records with x_c ≤ y_c in cumulative columns, and x_c = y_c elsewhere.

        Args:
            columns: The columns of the family.
            cumulative: Those among them that prefixes run along.

        Returns:
            The family.

        Raises:
            WorkloadError: If a column is named twice, or a cumulative one is not among the columns.

        >>> Range.prefixes(("sex", "age"), ("age",)).answers(np.array([[1, 2, 3], [4, 5, 6]]))
        array([[ 1,  3,  6],
               [ 4,  9, 15]])
        """
        if isinstance(cumulative, str):
            raise WorkloadError(
                "prefixes take tuples of columns: Range.prefixes(('sex', 'age'), ('age',))."
            )
        return cls(columns, dict.fromkeys(cumulative, "prefixes"))

    @property
    def along(self) -> dict[str, Intervals]:
        """The columns that intervals run along, and which intervals."""
        pairs = zip(self.columns, self.intervals, strict=True)
        return {name: intervals for name, intervals in pairs if intervals is not None}

    def __str__(self) -> str:
        words = {None: "", "prefixes": "≤", "all": "∈"}
        named = (
            (
                f"{name} ({len(intervals)} intervals)"
                if isinstance(intervals, tuple)
                else f"{words[intervals]}{name}"
            )
            for name, intervals in zip(self.columns, self.intervals, strict=True)
        )
        return "×".join(named) or "total"

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The number of codes or intervals of each column.

        Args:
            domain: The domain of the table.

        Returns:
            One number for each column; their product is the number of queries.

        Raises:
            WorkloadError: If intervals speak of codes that the domain does not have.

        >>> Range(("sex", "age"), {"age": "all"}).shape(Domain.of({"sex": 2, "age": 3}))
        (2, 6)

        """
        sizes = domain.shape_of(self.columns)
        for name, intervals, size in zip(self.columns, self.intervals, sizes, strict=True):
            if isinstance(intervals, tuple) and max(last for _, last in intervals) >= size:
                raise WorkloadError(
                    f"range family {self}: column {name!r} has {size} codes, 0 to {size - 1}."
                )
        return tuple(map(_number, self.intervals, sizes))

    def size(self, domain: Domain) -> int:
        """The number of queries: one for each combination of intervals.

        Args:
            domain: The domain of the table.

        Returns:
            How many there are.

        Raises:
            WorkloadError: If intervals speak of codes that the domain does not have.

        >>> Range(("sex", "age"), {"age": "all"}).size(Domain.of({"sex": 2, "age": 3}))
        12

        """
        return math.prod(self.shape(domain))

    def box(self, domain: Domain, index: int) -> tuple[tuple[int, int], ...]:
        """The first and the last code of each column that the query at an index counts.

        Args:
            domain: The domain of the table.
            index: The place of the query in the family's order.

        Returns:
            A pair of codes for each column.

        Raises:
            WorkloadError: If intervals speak of codes that the domain does not have.
            ValueError: If there is no query at the index.

        >>> Range(("sex", "age"), {"age": "all"}).box(Domain.of({"sex": 2, "age": 3}), 7)
        ((1, 1), (0, 1))

        """
        places = np.unravel_index(index, self.shape(domain)) if self.columns else ()
        sizes = domain.shape_of(self.columns)
        bounds = [
            bounds_of(intervals, size)
            for intervals, size in zip(self.intervals, sizes, strict=True)
        ]
        return tuple(
            (int(first[at]), int(last[at]))
            for (first, last), at in zip(bounds, places, strict=True)
        )

    def answers(self, table: CellTable) -> CellTable:
        """Answers from the table of cell counts: differences of cumulative sums, exact on integers.

        Only methods of the array are used, so JAX arrays pass too and can be differentiated.

        Args:
            table: Counts or shares of all cells, with one axis for each column.

        Returns:
            An array with one axis for each column, in the family's order of queries.

        """
        for axis, intervals in enumerate(self.intervals):
            if intervals is None:
                continue
            up_to = table.cumsum(axis=axis)
            if intervals == "prefixes":
                table = up_to
                continue
            first, last = bounds_of(intervals, table.shape[axis])
            before = up_to.take(first, axis=axis) - table.take(first, axis=axis)
            table = up_to.take(last, axis=axis) - before
        return table


# Index arrays of all intervals of some hundred codes are megabytes, so few are kept.
@lru_cache(maxsize=32)
def bounds_of(intervals: Intervals, size: int) -> tuple[Bounds, Bounds]:
    """The first and the last code of every interval along a column of so many codes."""
    codes = np.arange(size)
    if intervals is None:
        return codes, codes
    if intervals == "prefixes":
        return np.zeros_like(codes), codes
    if intervals == "all":
        first, last = np.triu_indices(size)
        return first, last
    listed = np.array(intervals, dtype=np.int64)
    return listed[:, 0], listed[:, 1]


def _number(intervals: Intervals, size: int) -> int:
    if isinstance(intervals, tuple):
        return len(intervals)
    return size * (size + 1) // 2 if intervals == "all" else size


def _checked(name: str, given: Any) -> Intervals:
    if given is None or given in ("prefixes", "all"):
        return given  # type: ignore[no-any-return]
    try:
        listed = tuple((first, last) for first, last in given)
    except (TypeError, ValueError):
        listed = ()
    whole = all(
        isinstance(code, int | np.integer) and not isinstance(code, bool)
        for pair in listed
        for code in pair
    )
    if (
        not listed
        or not whole
        or isinstance(given, str)
        or any(not 0 <= first <= last for first, last in listed)
    ):
        raise WorkloadError(
            f"range family: the intervals of {name!r} are 'all', 'prefixes', or a list of pairs"
            " [first code, last code]."
        )
    return tuple((int(first), int(last)) for first, last in listed)
