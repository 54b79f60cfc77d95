"""What cannot occur, in codes: for each constraint of a schema which records break it, and which
cells stay empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from dprap.array_types import Bool, CodeColumn, Float64, Int64
from dprap.schema.columns import Integer, Number
from dprap.schema.columns.base import BaseColumn, CodeMask
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.constraints import AnyConstraint, Determines, Forbid, NullWhen, Order, Range, Sum

Broken: TypeAlias = Bool[np.ndarray, " records"]

SLACK = 1e-12
"""Sums of decimals are a few units in the last place of a float off.

No step of a grid is as small a share of its value.
"""


@dataclass(frozen=True, eq=False)
class ForbiddenCodes:
    """A combination of codes that cannot occur: a record breaks it if every column's code is in
    that column's mask.
    """

    columns: tuple[str, ...]
    masks: tuple[CodeMask, ...]

    def broken(self, *codes: CodeColumn) -> Broken:
        """Which records break the constraint, by their codes in `columns`."""
        return np.asarray(
            np.logical_and.reduce(
                [mask[code] for mask, code in zip(self.masks, codes, strict=True)]
            )
        )

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
    """A functional dependency in codes: `targets[code]` is the only possible target code, -1 where
    any is possible.
    """

    columns: tuple[str, str]
    targets: Int64[np.ndarray, " source_codes"]
    target_size: int

    def broken(self, *codes: CodeColumn) -> Broken:
        """Which records break the constraint, by their codes in `columns`."""
        wanted = self.targets[codes[0]]
        return np.asarray((wanted >= 0) & (wanted != codes[1]))

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
class RelatedCodes:
    """Parts that add up to a total, or to at most that, in codes; an order is a sum of one part.

    A code stands for the values from its least to its largest one. Combinations that some values of
    the codes allow are possible, and decoding draws such values (`dprap.schema.relations`).
    """

    columns: tuple[str, ...]
    """The parts, and at last the total."""
    least: tuple[Float64[np.ndarray, " codes"], ...]
    largest: tuple[Float64[np.ndarray, " codes"], ...]
    """Of each column; those of null are endless both ways."""
    is_equal: bool
    slack: float
    """How far sums of floats may be off: they are compared with this share of themselves."""

    def broken(self, *codes: CodeColumn) -> Broken:
        """Which records break the constraint, by their codes in `columns`."""
        least = [each[code] for each, code in zip(self.least, codes, strict=True)]
        largest = [each[code] for each, code in zip(self.largest, codes, strict=True)]
        return self._apart(sum(least[:-1]), sum(largest[:-1]), least[-1], largest[-1])

    def labels(self, name: str) -> list[Int64[np.ndarray, " codes"]]:  # noqa: ARG002 - any interval will do
        """No codes need to be told apart."""
        return []

    def forbidden(self) -> Bool[np.ndarray, "..."]:
        """True at each cell of the marginal over `columns` that cannot occur."""
        low, high = np.zeros(()), np.zeros(())
        for least, largest in zip(self.least[:-1], self.largest[:-1], strict=True):
            low, high = np.add.outer(low, least), np.add.outer(high, largest)
        return self._apart(low[..., None], high[..., None], self.least[-1], self.largest[-1])

    def _apart(self, low: Any, high: Any, least: Any, largest: Any) -> Bool[np.ndarray, "..."]:
        """Whether sums from `low` to `high` never meet totals from `least` to `largest`."""
        with np.errstate(invalid="ignore"):  # nulls are endless, and no sum of them is compared
            above = low - largest > self.slack * (np.abs(low) + np.abs(largest))
            below = least - high > self.slack * (np.abs(high) + np.abs(least))
        return np.asarray(above | below if self.is_equal else above)


@dataclass(frozen=True, eq=False)
class ConditionalNullCodes:
    """A column, the last one, whose code is null where every other column's code is in its mask;
    with `only`, just there.
    """

    columns: tuple[str, ...]
    masks: tuple[CodeMask, ...]
    """Of the conditions, and at last of null."""
    only: bool

    def broken(self, *codes: CodeColumn) -> Broken:
        """Which records break the constraint, by their codes in `columns`."""
        *conditions, null = (mask[code] for mask, code in zip(self.masks, codes, strict=True))
        holds = np.logical_and.reduce(conditions)
        return np.asarray(holds != null if self.only else holds & ~null)

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


CodeConstraint: TypeAlias = ForbiddenCodes | DeterminedCodes | RelatedCodes | ConditionalNullCodes


def to_codes(constraint: AnyConstraint, columns: Mapping[str, BaseColumn]) -> CodeConstraint:
    """A constraint on codes; raises ValueError where it does not fit the columns."""
    match constraint:
        case Forbid():
            names = tuple(constraint.where)
            masks = tuple(
                _mask(_named(columns, name), name, constraint.where[name]) for name in names
            )
            return ForbiddenCodes(names, masks)
        case NullWhen():
            return _conditional_null(constraint, columns)
        case Order():
            return _related((constraint.smaller,), constraint.larger, columns, is_equal=False)
        case Sum():
            return _summed(constraint, columns)
        case Determines():
            return _determined(constraint, columns)


def _determined(constraint: Determines, columns: Mapping[str, BaseColumn]) -> DeterminedCodes:
    source, target = _named(columns, constraint.source), _named(columns, constraint.target)
    if constraint.source == constraint.target:
        raise ValueError("a column cannot determine itself. Name two columns")
    targets = np.full(source.size, -1, dtype=np.int64)
    for key, value in constraint.map:
        at, code = source.code_of(constraint.source, key), target.code_of(constraint.target, value)
        if targets[at] not in (-1, code):
            raise ValueError(
                f"map gives one code of {constraint.source!r} two values of {constraint.target!r}"
            )
        targets[at] = code
    return DeterminedCodes((constraint.source, constraint.target), targets, target.size)


def _conditional_null(
    constraint: NullWhen, columns: Mapping[str, BaseColumn]
) -> ConditionalNullCodes:
    names = (*constraint.where, constraint.column)
    if constraint.column in constraint.where:
        raise ValueError(
            f"makes column {constraint.column!r} depend on itself. Name other columns under where"
        )
    conditions = [
        _mask(_named(columns, name), name, condition)
        for name, condition in constraint.where.items()
    ]
    null = _named(columns, constraint.column).codes_of_values(constraint.column, [None])
    return ConditionalNullCodes(names, (*conditions, null), constraint.only)


def _summed(constraint: Sum, columns: Mapping[str, BaseColumn]) -> RelatedCodes:
    related = _related(
        constraint.parts, constraint.total, columns, is_equal=constraint.relation == "="
    )
    found = {name: columns[name] for name in related.columns}
    without = [
        name for name, column in found.items() if getattr(column, "order_kind", None) != "number"
    ]
    if without:
        raise ValueError(f"adds up column {without[0]!r}, which holds no numbers")
    steps = {name: _step(column) for name, column in found.items()}
    if related.is_equal and (None in steps.values() or len(set(steps.values())) > 1):
        shown = ", ".join(
            f"{name}: {'any' if step is None else step}" for name, step in steps.items()
        )
        raise ValueError(
            f"needs parts and total in the same steps, and they are in steps of {shown}. Declare"
            " the same decimals, or bounds that are nearer to each other"
        )
    return related


def _step(column: BaseColumn) -> Decimal | None:
    """The distance of two values as decoding draws them, None where any float will do."""
    if isinstance(column, Integer):
        return Decimal(column.lattice_step)
    decimals = column.lattice_decimals if isinstance(column, Number) else None
    return None if decimals is None else Decimal(1).scaleb(-decimals)


def _related(
    parts: tuple[str, ...], total: str, columns: Mapping[str, BaseColumn], *, is_equal: bool
) -> RelatedCodes:
    names = (*parts, total)
    found = [_named(columns, name) for name in names]
    if len(set(names)) != len(names):
        raise ValueError("names a column twice. Name different columns")
    ordered = [column for column in found if isinstance(column, BinnedColumn)]
    if len(ordered) < len(found):
        without = next(
            name
            for name, column in zip(names, found, strict=True)
            if not isinstance(column, BinnedColumn)
        )
        raise ValueError(
            f"names column {without!r}, which has no order. Name columns of numbers, dates or times"
        )
    for name, column in zip(names, ordered, strict=True):
        if column.order_kind != ordered[-1].order_kind:
            raise ValueError(
                f"compares columns {name!r} and {total!r}, which hold different kinds of values"
            )
    least = tuple(_padded(column.least_values, column.size, -np.inf) for column in ordered)
    largest = tuple(_padded(column.largest_values, column.size, np.inf) for column in ordered)
    return RelatedCodes(
        names, least, largest, is_equal, SLACK if ordered[-1].order_kind == "number" else 0.0
    )


def _padded(
    values: Float64[np.ndarray, " bins"], size: int, end: float
) -> Float64[np.ndarray, " codes"]:
    return np.append(values, np.full(size - len(values), end))


def _mask(column: BaseColumn, name: str, condition: tuple[Any, ...] | Range) -> CodeMask:
    if isinstance(condition, Range):
        return column.codes_of_range(name, condition.min, condition.max)
    return column.codes_of_values(name, condition)


def _named(columns: Mapping[str, BaseColumn], name: str) -> BaseColumn:
    if name not in columns:
        raise ValueError(f"names column {name!r}, which the schema does not have")
    return columns[name]
