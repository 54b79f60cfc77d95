"""What cannot occur, as a schema declares it: combinations, dependencies, orders, sums, conditional
nulls.

Constraints are public knowledge (law, code books), never findings from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self, TypeAlias

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

from dprap.schema.columns.base import Part

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
    """A combination that cannot occur: no record has, in every named column, one of the named
    values.
    """

    type: Literal["forbid"]
    where: Annotated[dict[StrictStr, tuple[Value, ...] | Range], Field(min_length=1)]
    description: StrictStr | None = None


class Determines(Part):
    """A functional dependency: the value of `from` fixes the value of `to` by a public map.

    Values left out are free.
    """

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
    """No value of `smaller` is above the value of `larger` in the same record; a missing value
    breaks nothing.
    """

    type: Literal["order"]
    smaller: StrictStr
    larger: StrictStr
    description: StrictStr | None = None


class NullWhen(Part):
    """A column that is missing in every record where all conditions hold; with `only`, nowhere
    else.
    """

    type: Literal["null_when"]
    column: StrictStr
    where: Annotated[dict[StrictStr, tuple[Value, ...] | Range], Field(min_length=1)]
    only: bool = False
    description: StrictStr | None = None


class Sum(Part):
    """The `parts` of a record add up to its `total`, or to at most that; a missing value breaks
    nothing.
    """

    type: Literal["sum"]
    parts: Annotated[tuple[StrictStr, ...], Field(min_length=1)]
    total: StrictStr
    relation: Literal["=", "<="] = "="
    description: StrictStr | None = None


AnyConstraint: TypeAlias = Forbid | Determines | Order | NullWhen | Sum
Constraint = Annotated[AnyConstraint, Field(discriminator="type")]
