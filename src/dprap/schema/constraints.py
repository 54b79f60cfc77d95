"""What cannot occur: forbidden combinations and functional dependencies, declared on values, used on codes.

Constraints are public knowledge (law, code books), never findings from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Self

import numpy as np
from jaxtyping import Bool, Int64
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


Constraint = Annotated[Forbid | Determines, Field(discriminator="type")]


@dataclass(frozen=True, eq=False)
class ForbiddenCodes:
    """A combination of codes that cannot occur: a record breaks it if every column's code is in that column's mask."""

    columns: tuple[str, ...]
    masks: tuple[CodeMask, ...]

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

    def forbidden(self) -> Bool[np.ndarray, "source target"]:
        """True at each (source, target) cell that cannot occur."""
        allowed = self.targets[:, None] == np.arange(self.target_size)
        return np.asarray(~allowed & (self.targets >= 0)[:, None])


CodeConstraint = ForbiddenCodes | DeterminedCodes


def to_codes(constraint: Forbid | Determines, columns: Mapping[str, BaseColumn]) -> CodeConstraint:
    """A constraint on codes; raises ValueError where it does not fit the columns."""
    if isinstance(constraint, Forbid):
        names = tuple(constraint.where)
        return ForbiddenCodes(
            names, tuple(_mask(_named(columns, name), name, constraint.where[name]) for name in names)
        )
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


def _mask(column: BaseColumn, name: str, condition: tuple[Any, ...] | Range) -> CodeMask:
    if isinstance(condition, Range):
        return column.codes_of_range(name, condition.min, condition.max)
    return column.codes_of_values(name, condition)


def _named(columns: Mapping[str, BaseColumn], name: str) -> BaseColumn:
    if name not in columns:
        raise ValueError(f"names column {name!r}, which the schema does not have")
    return columns[name]
