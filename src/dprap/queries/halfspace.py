r"""Halfspaces: random linear thresholds, or random prefixes, of numeric columns, crossed with the
values of other columns.

A query has a normal \(w\), an offset \(b\) and a value \(y\) of every column in `by`. It counts the
records with \(w \cdot x \ge b\) and the values y, where x has, for every numeric column, the point
of the record's code: its public representative value, scaled to [-1, 1]. With the shape `prefix` a
query is a box with a corner instead, \(x_i \le t_i\) in two columns that are drawn for it: two
halfspaces at once.

Normals are drawn evenly from all directions. An offset is that of the halfspace through the point
of random codes, one of each column: after a run has found intervals of about equal mass, halfspaces
then pass where records are. All of this follows from a public seed, by the one generator of NumPy
whose stream is promised to stay as it is.

**Exactness.** Points and normals are whole numbers, and a sum of products of them is below 2^53, so
that floating-point arithmetic makes no error, in whatever order it adds up. Whether a query counts
a record depends on that record alone.

**Sensitivity.** A query counts a record or not, so one record moves its count by at most 1. A
record with a missing value in a numeric column lies in no halfspace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from dprap.array_types import Bool, CodeColumn, Float64, Int64
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.limits import MAX_FAMILY_CELLS
from dprap.products import product

MAX_HALFSPACES = 1_000_000
"""Halfspaces that a family may have, before they are crossed with values."""

POINT_UNITS = 1 << 16
"""The number 1 on the grid of points."""

NORMAL_UNITS = 1 << 10
"""The length of a normal on its grid.

With 16 + 10 bits sums of a million columns are exact in float64.
"""

_PREFIX_COLUMNS = 2

# Records and halfspaces that are compared at once: the products of a block stay in the cache.
_RECORDS, _HALFSPACES = 256, 256

Points = tuple[int | None, ...]
"""The point of each code of a column on the grid; None for a code that is no number."""


class Planes(NamedTuple):
    """Normals and offsets of all halfspaces of a family, as whole numbers; a query is the
    conjunction of its planes.
    """

    normals: Float64[np.ndarray, "queries planes columns"]
    offsets: Float64[np.ndarray, "queries planes"]


@dataclass(frozen=True)
class Halfspace:
    """`count` halfspaces over the columns that are not in `by`, each crossed with all values of
    those that are.

    Queries are in C order: halfspaces first, then the values of `by`. Without `points` the codes of
    a column lie evenly on [-1, 1]; a run puts the representative values of its schema in.

    >>> family = Halfspace(("age", "hours", "sex"), by=("sex",), count=3)
    >>> domain = Domain.of({"age": 9, "hours": 5, "sex": 2})
    >>> (
    ...     family.size(domain),
    ...     family.counts(domain, [np.arange(9), np.arange(9) % 5, np.arange(9) % 2])
    ...     .reshape(3, 2)
    ...     .tolist(),
    ... )
    (6, [[2, 1], [1, 1], [1, 2]])
    """

    columns: tuple[str, ...]
    by: tuple[str, ...] = ()
    count: int = 1000
    seed: int = 0
    shape: Literal["linear", "prefix"] = "linear"
    points: tuple[Points, ...] | None = None

    def __post_init__(self) -> None:
        given: tuple[object, object] = (self.columns, self.by)
        if any(isinstance(names, str) for names in given):
            raise WorkloadError(
                "halfspaces take tuples of columns: Halfspace(('age', 'hours', 'sex'),"
                " by=('sex',))."
            )
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "by", tuple(self.by))
        if len(set(self.columns)) != len(self.columns):
            raise WorkloadError(
                f"halfspaces {'×'.join(map(str, self.columns))} name a column twice."
            )
        if unknown := [name for name in self.by if name not in self.columns]:
            raise WorkloadError(f"halfspaces by {unknown[0]!r}: the column is not among theirs.")
        if not self.numeric:
            raise WorkloadError("halfspaces need a numeric column beside those in `by`.")
        if self.shape not in ("linear", "prefix"):
            raise WorkloadError(
                f"the shape of halfspaces is 'linear' or 'prefix', not {self.shape!r}."
            )
        if type(self.count) is not int or not 1 <= self.count <= MAX_HALFSPACES:
            raise WorkloadError(
                f"halfspaces: count must be a whole number from 1 to {MAX_HALFSPACES:,}."
            )
        if type(self.seed) is not int or not 0 <= self.seed < 2**32:
            raise WorkloadError("halfspaces: seed must be a whole number from 0 to 2^32 - 1.")
        if self.points is not None:
            object.__setattr__(self, "points", tuple(tuple(each) for each in self.points))
            _check_points(self.numeric, self.points)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that have coordinates."""
        return tuple(name for name in self.columns if name not in self.by)

    def __str__(self) -> str:
        named = (
            f"{self.count:,} {'halfspaces' if self.shape == 'linear' else 'random prefixes'} of"
            f" {'×'.join(self.numeric)}"
        )
        return f"{named} by {'×'.join(self.by)}" if self.by else named

    def size(self, domain: Domain) -> int:
        """The number of queries: halfspaces times combinations of the values of `by`.

        Args:
            domain: The domain of the table.

        Returns:
            How many there are.

        Raises:
            WorkloadError: If the domain lacks a column, or there are more queries than a release
                can hold.

        >>> Halfspace(("age", "sex"), by=("sex",), count=3).size(Domain.of({"age": 9, "sex": 2}))
        6
        """
        queries = self.count * domain.size_of(self.by)
        if queries > MAX_FAMILY_CELLS:
            raise WorkloadError(
                f"{self} are {queries:,} queries; the limit is {MAX_FAMILY_CELLS:,}. Lower the"
                " count."
            )
        return queries

    def points_of(self, domain: Domain) -> dict[str, Points]:
        """The point of every code of each numeric column, on the grid of whole numbers.

        Args:
            domain: The domain of the table.

        Returns:
            For each numeric column one point for each code; None for a code that is no number.

        Raises:
            WorkloadError: If there are points for another number of codes.

        >>> Halfspace(("age",)).points_of(Domain.of({"age": 3}))
        {'age': (-65536, 0, 65536)}

        """
        sizes = {name: domain.size(name) for name in self.numeric}
        if self.points is None:
            return {name: _even_points(size) for name, size in sizes.items()}
        found = dict(zip(self.numeric, self.points, strict=True))
        for name, size in sizes.items():
            if len(found[name]) != size:
                raise WorkloadError(
                    f"{self}: column {name!r} has {size} codes, and points for {len(found[name])}."
                )
        return found

    def planes(self, domain: Domain) -> Planes:
        """Normals and offsets, on the grids of normals and of their products with points.

        Args:
            domain: The domain of the table.

        Returns:
            One normal and offset for each plane of each query.

        Raises:
            WorkloadError: If there are points for another number of codes.

        >>> Halfspace(("age", "hours"), count=4).planes(
        ...     Domain.of({"age": 9, "hours": 5})
        ... ).normals.shape
        (4, 1, 2)
        """
        return _planes(self.count, self.seed, self.shape, tuple(self.points_of(domain).values()))

    def counts(self, domain: Domain, codes: Sequence[CodeColumn]) -> Int64[np.ndarray, " queries"]:
        """How many of some records each query counts.

        Args:
            domain: The domain of the table.
            codes: The codes of the records, one array for each column of the family.

        Returns:
            One count for each query.

        Raises:
            WorkloadError: If there are points for another number of codes.

        >>> prefixes = Halfspace(("age",), count=2, shape="prefix", seed=1)
        >>> prefixes.counts(Domain.of({"age": 4}), [np.array([0, 1, 2, 3])]).tolist()
        [2, 4]

        """
        cells = domain.size_of(self.by)
        total = np.zeros((self.count, cells), dtype=np.int64)
        by = [np.asarray(codes[self.columns.index(name)], dtype=np.int64) for name in self.by]
        place = (
            np.ravel_multi_index(by, domain.shape_of(self.by))
            if by
            else np.zeros(len(codes[0]), dtype=np.int64)
        )
        located, known = self.located(
            domain, [codes[self.columns.index(name)] for name in self.numeric]
        )
        place = place[known]
        planes = self.planes(domain)
        for start in range(0, len(located), _RECORDS):
            present, at = np.unique(place[start : start + _RECORDS], return_inverse=True)
            values = (at == np.arange(len(present))[:, None]).astype(np.float32)
            for queries, inside in hits(located[start : start + _RECORDS], planes):
                # sums of at most `_RECORDS` ones, which float32 adds up exactly
                of_present = product(values, inside.astype(np.float32)).T.astype(np.int64)
                total[queries][:, present] += of_present
        return total.ravel()

    def located(
        self, domain: Domain, codes: Sequence[CodeColumn]
    ) -> tuple[Float64[np.ndarray, "known numeric"], Bool[np.ndarray, " records"]]:
        """Points of the records that have one in every numeric column, and which records these are.

        Args:
            domain: The domain of the table.
            codes: The codes of the records, one array for each numeric column.

        Returns:
            The points, one row for each such record, and a mask over all records.

        Raises:
            WorkloadError: If there are points for another number of codes.

        >>> points, known = Halfspace(("age",)).located(Domain.of({"age": 3}), [np.array([2, 0])])
        >>> points.ravel().tolist(), known.tolist()
        ([65536, -65536], [True, True])

        """
        known = np.ones(len(codes[0]), dtype=bool)
        columns = []
        for points, column in zip(self.points_of(domain).values(), codes, strict=True):
            grid = np.array([np.nan if point is None else point for point in points])
            columns.append(grid[np.asarray(column)])
            known &= ~np.isnan(columns[-1])
        return np.stack(columns, axis=1)[known], known


def hits(
    located: Float64[np.ndarray, "records numeric"], planes: Planes
) -> Iterator[tuple[slice, Bool[np.ndarray, "records queries"]]]:
    """Which records each query's planes hold, some queries at a time."""
    for start in range(0, len(planes.offsets), _HALFSPACES):
        queries = slice(start, start + _HALFSPACES)
        inside = product(located, planes.normals[queries, 0].T) >= planes.offsets[queries, 0]
        for plane in range(1, planes.offsets.shape[1]):
            inside &= (
                product(located, planes.normals[queries, plane].T) >= planes.offsets[queries, plane]
            )
        yield queries, inside


def _even_points(size: int) -> Points:
    return (
        tuple(np.rint(np.linspace(-POINT_UNITS, POINT_UNITS, size)).astype(np.int64).tolist())
        if size > 1
        else (0,)
    )


# Planes of 200,000 halfspaces over six columns are 10 MB.
@lru_cache(maxsize=8)
def _planes(count: int, seed: int, shape: str, points: tuple[Points, ...]) -> Planes:
    stream = np.random.RandomState(seed)
    numbers = [
        np.array([point for point in each if point is not None], dtype=np.float64)
        for each in points
    ]
    through = np.stack([each[stream.randint(len(each), size=count)] for each in numbers], axis=1)
    if shape == "linear":
        directions = stream.normal(size=(count, 1, len(points)))
        normals = np.rint(
            directions / np.linalg.norm(directions, axis=2, keepdims=True) * NORMAL_UNITS
        )
    else:
        chosen = np.argsort(stream.uniform(size=(count, len(points))), axis=1)[:, :_PREFIX_COLUMNS]
        normals = np.zeros((count, chosen.shape[1], len(points)))
        np.put_along_axis(normals, chosen[:, :, None], -NORMAL_UNITS, axis=2)
    return Planes(normals, np.einsum("qpc,qc->qp", normals, through))


def _check_points(numeric: Sequence[str], points: tuple[Points, ...]) -> None:
    if len(points) != len(numeric):
        raise WorkloadError(
            f"halfspaces: points are for {len(points)} columns, and {len(numeric)} are numeric."
        )
    for name, each in zip(numeric, points, strict=True):
        numbers = [point for point in each if point is not None]
        if not numbers or any(
            type(point) is not int or abs(point) > POINT_UNITS for point in numbers
        ):
            raise WorkloadError(
                f"halfspaces: the points of {name!r} are not whole numbers within ±{POINT_UNITS:,}."
            )


def scaled(values: Float64[np.ndarray, " codes"], *, missing: int = 0) -> Points:
    """Values of a column's codes scaled to the grid, the least to -1 and the largest to 1; then
    `missing` codes without one.

    >>> scaled(np.array([0.0, 5.0, 20.0]), missing=1)
    (-65536, -32768, 65536, None)
    """
    low, high = float(values.min()), float(values.max())
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    places = (
        np.zeros(len(values)) if half <= 0 or not math.isfinite(half) else (values - middle) / half
    )
    return (
        *np.rint(np.clip(places, -1, 1) * POINT_UNITS).astype(np.int64).tolist(),
        *(None,) * missing,
    )
