"""Values that keep orders and sums between columns: found inside the bins of given codes.

A code of an ordered column stands for an interval of values. Each relation, `Σ parts ≤ total` or `Σ
parts = total`, narrows the intervals of its columns: the total is at least the sum of the least
parts, a part is at most what the other parts leave of the total, and so on (bounds propagation).
Narrowed until nothing changes, the columns are settled one after the other: each takes the value in
its interval that is nearest to the wanted one, and the rest is narrowed again. For relations that
share no more than single columns this finds values whenever there are some. Where it finds none, a
combination of codes counts as impossible. So whatever is drawn as codes can be decoded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dprap.array_types import Bool, CodeColumn, Float64
from dprap.schema.code_constraints import Broken, CodeConstraint, RelatedCodes
from dprap.schema.columns.base import BaseColumn
from dprap.schema.columns.binned import BinnedColumn

Values = Float64[np.ndarray, " records"]

# Intervals are narrowed at most so often. Chains of as many relations are settled exactly.
_ROUNDS = 12

# Up to so many combinations of codes are looked at once, and then looked up.
_MOST_CELLS = 200_000


@dataclass
class _Bounds:
    """The interval in which the value of each column lies, record by record."""

    low: dict[str, Values]
    high: dict[str, Values]


class Relations:
    """The orders and sums of a schema.

    Args:
        columns: The columns of the schema.
        constraints: Its constraints in codes; others than orders and sums are passed over.

    """

    def __init__(
        self, columns: Mapping[str, BaseColumn], constraints: Sequence[CodeConstraint]
    ) -> None:
        self.rules = tuple(each for each in constraints if isinstance(each, RelatedCodes))
        self.names = tuple(dict.fromkeys(name for rule in self.rules for name in rule.columns))
        self._sizes = tuple(columns[name].size for name in self.names)
        self._columns: dict[str, BinnedColumn] = {
            name: column for name in self.names if isinstance(column := columns[name], BinnedColumn)
        }

    def impossible(self, codes: Mapping[str, CodeColumn]) -> Broken:
        """Which records have codes for which no values keep all relations."""
        first = next(iter(codes.values()))
        if not self.rules:
            return np.zeros(len(first), dtype=bool)
        if len(self.rules) == 1 and not self.rules[0].is_equal:
            return self.rules[0].broken(*(codes[name] for name in self.rules[0].columns))
        held = tuple(codes[name].astype(np.int64) for name in self.names)
        if math.prod(self._sizes) <= _MOST_CELLS:
            return np.asarray(self._cells[held])
        distinct, back = np.unique(np.stack(held), axis=1, return_inverse=True)
        _, is_found = self.settled(dict(zip(self.names, distinct, strict=True)))
        return np.asarray(~is_found[back.reshape(-1)])

    @cached_property
    def _cells(self) -> Bool[np.ndarray, "..."]:
        """For every combination of codes whether it is impossible."""
        every = np.indices(self._sizes).reshape(len(self._sizes), -1)
        _, is_found = self.settled(dict(zip(self.names, every, strict=True)))
        return np.asarray(~is_found.reshape(self._sizes))

    def middle_sums(self, codes: Mapping[str, CodeColumn]) -> Values:
        """The sum of the middles of some columns' bins, record by record; a missing value is 0."""
        found = np.zeros(len(next(iter(codes.values()))))
        for name, held in codes.items():
            column = self._columns[name]
            middles = (column.least_values + column.largest_values) / 2
            found += np.where(
                held < column.regular, middles[np.minimum(held, column.regular - 1)], 0.0
            )
        return found

    def missing(self, codes: Mapping[str, CodeColumn]) -> dict[str, Broken]:
        """Which records lack a value, by column."""
        return {
            name: np.asarray(codes[name] >= column.regular)
            for name, column in self._columns.items()
        }

    def violated(self, values: Mapping[str, Values], missing: Mapping[str, Broken]) -> Broken:
        """Which records break a relation by their values; those that lack one of them break
        nothing.
        """
        found = np.zeros(len(next(iter(values.values()))), dtype=bool)
        for rule in self.rules:
            *parts, total = (values[name] for name in rule.columns)
            apart = sum(parts) - total
            slack = rule.slack * (sum(map(np.abs, parts)) + np.abs(total))
            wrong = np.abs(apart) > slack if rule.is_equal else apart > slack
            found |= wrong & self._applies(rule, missing)
        return found

    def settled(
        self, codes: Mapping[str, CodeColumn], wanted: Mapping[str, Values] | None = None
    ) -> tuple[dict[str, Values], Bool[np.ndarray, " records"]]:
        """Values in the bins of the codes that keep all relations, and for which records they were
        found.

        Args:
            codes: The codes of each column.
            wanted: Values to stay near to; unless given, the middles of the bins.
        """
        wanted = self._middles(codes) if wanted is None else wanted
        missing = self.missing(codes)
        bounds = _Bounds({}, {})
        for name, column in self._columns.items():
            at = np.where(missing[name], 0, codes[name])
            bounds.low[name] = column.least_values[at]
            bounds.high[name] = column.largest_values[at]
        least, largest = dict(bounds.low), dict(bounds.high)
        self._narrow(bounds, missing)
        for name in self.names:
            value = np.clip(
                wanted[name], bounds.low[name], np.maximum(bounds.high[name], bounds.low[name])
            )
            # the wanted value may lie between two steps of the grid
            value = np.minimum(
                self._up(name, value), np.maximum(bounds.high[name], bounds.low[name])
            )
            bounds.low[name], bounds.high[name] = value, value.copy()
            self._narrow(bounds, missing)
        values = bounds.low
        is_inside = [
            (least[name] <= value) & (value <= largest[name]) | missing[name]
            for name, value in values.items()
        ]
        return values, np.asarray(
            np.logical_and.reduce(is_inside) & ~self.violated(values, missing)
        )

    def _middles(self, codes: Mapping[str, CodeColumn]) -> dict[str, Values]:
        missing = self.missing(codes)
        return {
            name: ((column.least_values + column.largest_values) / 2)[
                np.where(missing[name], 0, codes[name])
            ]
            for name, column in self._columns.items()
        }

    def _applies(
        self, rule: RelatedCodes, missing: Mapping[str, Broken]
    ) -> Bool[np.ndarray, " records"]:
        return np.asarray(~np.logical_or.reduce([missing[name] for name in rule.columns]))

    def _is_open(self, rule: RelatedCodes, bounds: _Bounds) -> Bool[np.ndarray, " records"]:
        """Which records still have values for every column; the others would be narrowed for
        ever.
        """
        return np.asarray(
            np.logical_and.reduce([bounds.low[name] <= bounds.high[name] for name in rule.columns])
        )

    def _narrow(self, bounds: _Bounds, missing: Mapping[str, Broken]) -> None:
        """Narrow the intervals by all relations until nothing changes."""
        for _ in range(_ROUNDS):
            before = [bounds.low[name].copy() for name in self.names] + [
                bounds.high[name].copy() for name in self.names
            ]
            for rule in self.rules:
                self._narrow_by(
                    rule, bounds, self._applies(rule, missing) & self._is_open(rule, bounds)
                )
            after = [bounds.low[name] for name in self.names] + [
                bounds.high[name] for name in self.names
            ]
            if all(np.array_equal(one, other) for one, other in zip(before, after, strict=True)):
                return

    def _narrow_by(
        self, rule: RelatedCodes, bounds: _Bounds, applies: Bool[np.ndarray, " records"]
    ) -> None:
        *parts, total = rule.columns
        low, high = bounds.low, bounds.high
        least, largest = _sum(low, parts), _sum(high, parts)
        low[total] = np.where(applies, np.maximum(low[total], self._up(total, least)), low[total])
        if rule.is_equal:
            high[total] = np.where(
                applies, np.minimum(high[total], self._down(total, largest)), high[total]
            )
        for name in parts:
            applies = applies & self._is_open(rule, bounds)
            room = high[total] - (least - low[name])
            needed = low[total] - (largest - high[name])
            high[name] = np.where(
                applies, np.minimum(high[name], self._down(name, room)), high[name]
            )
            if rule.is_equal:
                low[name] = np.where(
                    applies, np.maximum(low[name], self._up(name, needed)), low[name]
                )
            least, largest = _sum(low, parts), _sum(high, parts)

    def _up(self, name: str, values: Values) -> Values:
        """The first value of the column's grid that is not below, up to the rounding of sums."""
        slack = next(rule.slack for rule in self.rules if name in rule.columns)
        column = self._columns[name]
        steps = column.first_steps(values - slack * np.abs(values))
        return values if steps is None else np.asarray(column.step_values(steps), dtype=np.float64)

    def _down(self, name: str, values: Values) -> Values:
        """The last value of the column's grid that is not above."""
        slack = next(rule.slack for rule in self.rules if name in rule.columns)
        column = self._columns[name]
        at = values + slack * np.abs(values)
        steps = column.first_steps(at)
        if steps is None:
            return values
        found = np.asarray(column.step_values(steps), dtype=np.float64)
        return np.where(
            found > at, np.asarray(column.step_values(steps - 1), dtype=np.float64), found
        )


def _sum(values: Mapping[str, Values], names: Sequence[str]) -> Values:
    return np.asarray(np.add.reduce([values[name] for name in names]), dtype=np.float64)
