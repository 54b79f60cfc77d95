"""What cannot occur: forbidden combinations and functional dependencies, declared on values, used on codes.

Constraints are public knowledge (law, code books), never findings from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
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

from dprap.schema.binned import BinnedColumn
from dprap.schema.bins import days_since_epoch
from dprap.schema.column import BaseColumn, Boolean, Categorical, Part
from dprap.schema.numeric import Integer, Number
from dprap.schema.temporal import Date, Datetime

Value = StrictBool | StrictInt | FiniteFloat | StrictStr | None
Bound = StrictInt | FiniteFloat | StrictStr
"""A bound of a range; dates and instants as ISO text (YAML's own dates are turned into it)."""
CodeMask = Bool[np.ndarray, "codes"]


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
    targets: Int64[np.ndarray, "source_codes"]
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
        at, code = code_of(source, constraint.source, key), code_of(target, constraint.target, value)
        if targets[at] not in (-1, code):
            raise ValueError(f"map gives one code of {constraint.source!r} two values of {constraint.target!r}")
        targets[at] = code
    return DeterminedCodes((constraint.source, constraint.target), targets, target.size)


def code_of(column: BaseColumn, name: str, value: Any) -> int:
    """Code of one value as written in a schema; raises ValueError when it has none."""
    if value is None:
        if column.null_code is None:
            raise ValueError(f"names null for column {name!r}, which is not nullable")
        return column.null_code
    if isinstance(column, Boolean):
        if type(value) is not bool:
            raise ValueError(f"needs true or false for column {name!r}")
        return int(value)
    if isinstance(column, Categorical):
        return _categorical_code(column, name, value)
    position = _in_bin_units(column, name, value)
    edges = column.bin_edges  # type: ignore[attr-defined]
    if not edges[0] <= position < edges[-1]:
        raise ValueError(f"names a value outside the bounds of column {name!r}")
    return int(np.searchsorted(edges, position, side="right")) - 1


def _categorical_code(column: Categorical, name: str, value: Any) -> int:
    if column.groups and value in column.groups:
        return list(column.groups).index(value)
    if column.other is not None and value == column.other:
        return column.regular
    for code, group in enumerate(column.member_groups):
        if value in group:
            if len(group) > 1:
                raise ValueError(f"names one value of a group of column {name!r}. Name the group")
            return code
    raise ValueError(f"names a value that column {name!r} does not list")


def _mask(column: BaseColumn, name: str, condition: tuple[Any, ...] | Range) -> CodeMask:
    mask = np.zeros(column.size, dtype=bool)
    if isinstance(condition, Range):
        if not isinstance(column, BinnedColumn):
            raise ValueError(f"gives a range for column {name!r}, which has no order. List its values")  # noqa: TRY004 - pydantic reports ValueError
        mask[: column.regular] = _bins_within(column, name, condition)
        return mask
    for value in condition:
        code = code_of(column, name, value)
        if isinstance(column, BinnedColumn) and code < column.regular and not _holds_one_value(column, code):
            raise ValueError(f"names one value of a bin of column {name!r}. Give a range of whole bins")
        mask[code] = True
    return mask


def _holds_one_value(column: BinnedColumn, code: int) -> bool:
    return column.steps is not None and bool(column.steps[0][code] == column.steps[1][code])


def _bins_within(column: BinnedColumn, name: str, condition: Range) -> CodeMask:
    edges = column.bin_edges
    low = edges[0] if condition.min is None else _in_bin_units(column, name, condition.min)
    high = edges[-1] if condition.max is None else _in_bin_units(column, name, condition.max)
    if condition.max is not None and not isinstance(column, Number):
        high += 1  # the first value after the range
    # a range of numbers ends at an edge, which belongs to the next bin; the declared maximum ends the last one
    if isinstance(column, Number) and high >= np.nextafter(edges[-1], -np.inf):
        high = edges[-1]
    starts, ends = edges[:-1], edges[1:]
    inside = (starts >= low) & (ends <= high)
    if ((ends > low) & (starts < high) & ~inside).any():
        raise ValueError(f"cuts through a bin of column {name!r}. Move the range or the bin edges")
    return np.asarray(inside)


def _in_bin_units(column: BaseColumn, name: str, value: Any) -> Any:
    """A value of an ordered column in the unit of its bins."""
    try:
        if isinstance(column, Date):
            return days_since_epoch(date.fromisoformat(value) if isinstance(value, str) else value)
        if isinstance(column, Datetime):
            return column.microseconds(datetime.fromisoformat(value) if isinstance(value, str) else value)
        if isinstance(column, Integer) and type(value) is int:
            return value
        if isinstance(column, Number) and type(value) in (int, float):
            return float(value)
    except (ValueError, TypeError, AttributeError):
        pass
    raise ValueError(f"has a value that is not of the type of column {name!r}")


def _named(columns: Mapping[str, BaseColumn], name: str) -> BaseColumn:
    if name not in columns:
        raise ValueError(f"names column {name!r}, which the schema does not have")
    return columns[name]
