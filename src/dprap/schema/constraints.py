"""What cannot occur: forbidden combinations and functional dependencies, declared on values, used on codes.

Constraints are public knowledge (law, code books), never findings from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Self

import numpy as np
from jaxtyping import Bool, Float64, Int64
from pydantic import (
    Field,
    FiniteFloat,
    StrictBool,
    StrictInt,
    StrictStr,
    field_serializer,
    field_validator,
    model_validator,
)

from dprap.schema.columns.base import BaseColumn, CodeMask, Part
from dprap.schema.columns.binned import BinnedColumn

Value = StrictBool | StrictInt | FiniteFloat | StrictStr | None
Bound = StrictInt | FiniteFloat | StrictStr
"""A bound of a range; dates and instants as ISO text (YAML's own dates are turned into it)."""


class Range(Part):
    """Values of an ordered column from `min` to `max`; it must not cut through a bin.

    `max` is included for integers, dates and instants; for numbers it is an upper edge.
    """

    min: Bound | None = None
    max: Bound | None = None

    @field_validator("min", "max", mode="before")
    @classmethod
    def _iso(cls, value: Any) -> Any:
        return value.isoformat() if isinstance(value, date) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("a range needs min, max or both")
        return self


class Forbid(Part):
    """A combination that cannot occur: no record has, in every named column, one of the named values."""

    type: Literal["forbid"]
    where: Annotated[dict[StrictStr, tuple[Value, ...] | Range], Field(min_length=1)]
    description: StrictStr | None = None


class Determines(Part):
    """A functional dependency: the value of `from` fixes the value of `to` by a public map. Values left out are free."""

    type: Literal["determines"]
    source: Annotated[StrictStr, Field(alias="from")]
    target: Annotated[StrictStr, Field(alias="to")]
    map: tuple[tuple[Value, Value], ...]
    description: StrictStr | None = None

    @field_validator("map", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        return tuple(value.items()) if isinstance(value, Mapping) else value

    @field_serializer("map")
    def _as_mapping(self, pairs: tuple[tuple[Any, Any], ...]) -> Any:
        # JSON has only text as keys: other maps are written as a list of pairs
        if all(isinstance(key, str) for key, _ in pairs):
            return dict(pairs)
        return [list(pair) for pair in pairs]


class Order(Part):
    """No value of `smaller` is above the value of `larger` in the same record; a missing value breaks nothing."""

    type: Literal["order"]
    smaller: StrictStr
    larger: StrictStr
    description: StrictStr | None = None


class NullWhen(Part):
    """A column that is missing in every record where all conditions hold; with `only`, nowhere else."""

    type: Literal["null_when"]
    column: StrictStr
    where: Annotated[dict[StrictStr, tuple[Value, ...] | Range], Field(min_length=1)]
    only: bool = False
    description: StrictStr | None = None


Constraint = Annotated[Forbid | Determines | Order | NullWhen, Field(discriminator="type")]


@dataclass(frozen=True, eq=False)
class ForbiddenCodes:
    """A combination of codes that cannot occur: a record breaks it if every column's code is in that column's mask."""

    columns: tuple[str, ...]
    masks: tuple[CodeMask, ...]

    def labels(self, name: str) -> list[Int64[np.ndarray, " codes"]]:
        """For a column, codes with the same label: the constraint does not tell them apart."""
        pairs = zip(self.columns, self.masks, strict=True)
        return [mask.astype(np.int64) for column, mask in pairs if column == name]

    def forbidden(self) -> Bool[np.ndarray, "..."]:
        """True at each cell of the marginal over `columns` that cannot occur."""
        table = np.ones((), dtype=bool)
        for mask in self.masks:
            table = np.logical_and.outer(table, mask)
        return table


@dataclass(frozen=True, eq=False)
class DeterminedCodes:
    """A functional dependency in codes: `targets[code]` is the only possible target code, -1 where any is possible."""

    columns: tuple[str, str]
    targets: Int64[np.ndarray, " source_codes"]
    target_size: int

    def labels(self, name: str) -> list[Int64[np.ndarray, " codes"]]:
        """For a column, codes with the same label: the constraint does not tell them apart."""
        found = [self.targets] if name == self.columns[0] else []
        if name == self.columns[1]:
            target = np.full(self.target_size, -1, dtype=np.int64)
            named = np.unique(self.targets[self.targets >= 0])
            target[named] = named
            found.append(target)
        return found

    def forbidden(self) -> Bool[np.ndarray, "source target"]:
        """True at each (source, target) cell that cannot occur."""
        allowed = self.targets[:, None] == np.arange(self.target_size)
        return np.asarray(~allowed & (self.targets >= 0)[:, None])


@dataclass(frozen=True, eq=False)
class OrderedCodes:
    """An order in codes: a code of the first column whose least value is above the largest of one of the second.

    Codes that overlap are possible, and decoding draws their values in order.
    """

    columns: tuple[str, str]
    least: Float64[np.ndarray, " smaller_codes"]
    largest: Float64[np.ndarray, " larger_codes"]

    def labels(self, name: str) -> list[Int64[np.ndarray, " codes"]]:  # noqa: ARG002 - any interval will do
        """No codes need to be told apart."""
        return []

    def forbidden(self) -> Bool[np.ndarray, "smaller larger"]:
        """True at each cell that cannot occur."""
        return np.asarray(self.least[:, None] > self.largest[None, :])


@dataclass(frozen=True, eq=False)
class ConditionalNullCodes:
    """A column, the last one, whose code is null where every other column's code is in its mask; with `only`, just there."""

    columns: tuple[str, ...]
    masks: tuple[CodeMask, ...]
    """Of the conditions, and at last of null."""
    only: bool

    def labels(self, name: str) -> list[Int64[np.ndarray, " codes"]]:
        """For a column, codes with the same label: the constraint does not tell them apart."""
        pairs = zip(self.columns, self.masks, strict=True)
        return [mask.astype(np.int64) for column, mask in pairs if column == name]

    def forbidden(self) -> Bool[np.ndarray, "..."]:
        """True at each cell of the marginal over `columns` that cannot occur."""
        *conditions, null = self.masks
        holds = ForbiddenCodes(self.columns[:-1], tuple(conditions)).forbidden()
        present = np.logical_and.outer(holds, ~null)
        return np.asarray(present | np.logical_and.outer(~holds, null) if self.only else present)


CodeConstraint = ForbiddenCodes | DeterminedCodes | OrderedCodes | ConditionalNullCodes


def to_codes(constraint: Forbid | Determines | Order | NullWhen, columns: Mapping[str, BaseColumn]) -> CodeConstraint:
    """A constraint on codes; raises ValueError where it does not fit the columns."""
    if isinstance(constraint, NullWhen):
        return _conditional_null(constraint, columns)
    if isinstance(constraint, Forbid):
        names = tuple(constraint.where)
        return ForbiddenCodes(
            names, tuple(_mask(_named(columns, name), name, constraint.where[name]) for name in names)
        )
    if isinstance(constraint, Order):
        return _ordered(constraint, columns)
    source, target = _named(columns, constraint.source), _named(columns, constraint.target)
    if constraint.source == constraint.target:
        raise ValueError("a column cannot determine itself. Name two columns")
    targets = np.full(source.size, -1, dtype=np.int64)
    for key, value in constraint.map:
        at, code = source.code_of(constraint.source, key), target.code_of(constraint.target, value)
        if targets[at] not in (-1, code):
            raise ValueError(f"map gives one code of {constraint.source!r} two values of {constraint.target!r}")
        targets[at] = code
    return DeterminedCodes((constraint.source, constraint.target), targets, target.size)


def _conditional_null(constraint: NullWhen, columns: Mapping[str, BaseColumn]) -> ConditionalNullCodes:
    names = (*constraint.where, constraint.column)
    if constraint.column in constraint.where:
        raise ValueError(f"makes column {constraint.column!r} depend on itself. Name other columns under where")
    conditions = [_mask(_named(columns, name), name, condition) for name, condition in constraint.where.items()]
    null = _named(columns, constraint.column).codes_of_values(constraint.column, [None])
    return ConditionalNullCodes(names, (*conditions, null), constraint.only)


def _ordered(constraint: Order, columns: Mapping[str, BaseColumn]) -> OrderedCodes:
    names = (constraint.smaller, constraint.larger)
    smaller, larger = (_named(columns, name) for name in names)
    if names[0] == names[1]:
        raise ValueError("a column is never above itself. Name two columns")
    if not (isinstance(smaller, BinnedColumn) and isinstance(larger, BinnedColumn)):
        without = names[isinstance(smaller, BinnedColumn)]
        problem = f"names column {without!r}, which has no order. Name columns of numbers, dates or times"
        raise ValueError(problem)  # noqa: TRY004 - every problem of a schema is one
    if smaller.order_kind != larger.order_kind:
        raise ValueError(f"compares columns {names[0]!r} and {names[1]!r}, which hold different kinds of values")
    least = np.full(smaller.size, -np.inf)
    least[: smaller.regular] = smaller.least_values
    largest = np.full(larger.size, np.inf)
    largest[: larger.regular] = larger.largest_values
    return OrderedCodes(names, least, largest)


def _mask(column: BaseColumn, name: str, condition: tuple[Any, ...] | Range) -> CodeMask:
    if isinstance(condition, Range):
        return column.codes_of_range(name, condition.min, condition.max)
    return column.codes_of_values(name, condition)


def _named(columns: Mapping[str, BaseColumn], name: str) -> BaseColumn:
    if name not in columns:
        raise ValueError(f"names column {name!r}, which the schema does not have")
    return columns[name]
