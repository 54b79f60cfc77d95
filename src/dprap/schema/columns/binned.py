"""What columns with an order and bins have in common: `ordered` values, and what constraints and
questions mean on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.errors import WorkloadError
from dprap.schema.arrays import Mask
from dprap.schema.columns.base import CodeMask
from dprap.schema.columns.ordered import OrderedColumn
from dprap.schema.columns.shape import (
    weight_between,
)
from dprap.schema.value_sets import CodeWeights, Interval, ValueSet


class BinnedColumn(OrderedColumn):
    """A column whose ordinary codes are bins in increasing order, as constraints and questions see
    it.
    """

    def regular_code_of(self, name: str, value: Any) -> int:
        """The bin of a value."""
        at = self._read_declared(name, value)
        edges = self.bin_edges
        if not edges[0] <= at < edges[-1]:
            raise ValueError(f"names a value outside the bounds of column {name!r}")
        return int(np.searchsorted(edges, at, side="right")) - 1

    def codes_of_values(self, name: str, values: Iterable[Any]) -> CodeMask:
        """Bins of the listed values, each of which must hold one value alone."""
        mask = super().codes_of_values(name, values)
        for code in np.flatnonzero(mask[: self.regular]):
            if self.steps is None or self.steps[0][code] != self.steps[1][code]:
                raise ValueError(
                    f"names one value of a bin of column {name!r}. Give a range of whole bins"
                )
        return mask

    def codes_of_range(self, name: str, low: Any, high: Any) -> CodeMask:
        """Bins from one value to another, which must not cut through one."""
        edges = self.bin_edges
        start = edges[0] if low is None else self._read_declared(name, low)
        stop = edges[-1] if high is None else self.end_of_range(self._read_declared(name, high))
        starts, ends = edges[:-1], edges[1:]
        inside = (starts >= start) & (ends <= stop)
        if ((ends > start) & (starts < stop) & ~inside).any():
            raise ValueError(
                f"cuts through a bin of column {name!r}. Move the range or the bin edges"
            )
        mask = np.zeros(self.size, dtype=bool)
        mask[: self.regular] = inside
        return mask

    def read_declared(self, value: Any) -> float | None:
        """A value as a constraint writes it, in the unit of `bin_edges`; None or an exception if it
        is of another type.
        """
        raise NotImplementedError

    def end_of_range(self, last: float) -> float:
        """The first value after a range of a constraint whose last value is given."""
        return last + 1

    def _read_declared(self, name: str, value: Any) -> Any:
        try:
            found = self.read_declared(value)
        except (ValueError, TypeError, AttributeError):
            found = None
        if found is None:
            raise ValueError(f"has a value that is not of the type of column {name!r}")
        return found

    def all_values(self) -> ValueSet:
        """Everything between the bounds."""
        edges = self.bin_edges
        return ValueSet(intervals=((edges[0].item(), edges[-1].item()),), missing=self.nullable)

    def literal(self, name: str, text: str) -> Interval:
        """First value that a literal of a question stands for, and the first after it."""
        raise NotImplementedError

    def equal(self, name: str, text: str) -> ValueSet:
        """One value, or a whole day, month or year."""
        return self._between(name, *self.literal(name, text))

    def compared(self, name: str, operator: str, text: str) -> ValueSet:
        """The values below or above a literal, as far as the bounds reach."""
        low, high = self.literal(name, text)
        ends = {
            "<": (-math.inf, low),
            "<=": (-math.inf, high),
            ">": (high, math.inf),
            ">=": (low, math.inf),
        }[operator]
        return self.all_values().without_missing() & ValueSet(intervals=(ends,))

    def between(self, name: str, low: str | None, high: str | None) -> ValueSet:
        """The values from one literal to the end of another."""
        start = -math.inf if low is None else self.literal(name, low)[0]
        stop = math.inf if high is None else self.literal(name, high)[1]
        # a number without declared decimals: from 0 to 0 is the value 0, not nothing
        if start == stop:
            stop = math.nextafter(stop, math.inf)
        if start >= stop:
            raise WorkloadError(
                f"column {name!r}: the range {low}..{high} is empty. Put the smaller end first."
            )
        return self._between(name, start, stop)

    def _between(self, name: str, low: float, high: float) -> ValueSet:
        found = self.all_values().without_missing() & ValueSet(intervals=((low, high),))
        if found.empty:
            raise WorkloadError(
                f"column {name!r}: nothing there lies in its declared domain, {self.span}."
            )
        return found

    @property
    def span(self) -> str:
        """Text for people: the bounds."""
        first, last = self.regular_label(0), self.regular_label(self.regular - 1)
        return f"{first.split('..')[0]}..{last.split('..')[-1]}"

    def holds(self, values: ValueSet, array: pa.Array) -> Mask:
        """Which decoded values are in an interval of a set."""
        at = self.in_units(array)
        among = np.zeros(len(at), dtype=bool)
        for low, high in values.intervals:
            among |= (at >= low) & (at < high)
        return among

    def position_shares(self, values: ValueSet) -> CodeWeights:
        """The share of each bin's values that is in a set, by the fine shape where one is known."""
        found = np.zeros(self.regular)
        for low, high in values.intervals:
            if self.decode == "representative":
                at = self.representative_values
                found += (at >= low) & (at < high)
            else:
                found += self._shares_between(low, high)
        return found

    def _shares_between(self, low: float, high: float) -> CodeWeights:
        """The share of each bin that lies from one value up to, not including, another."""
        cells = self.cells
        edges = self.bin_edges if cells is None else cells.edges
        starts, stops = np.clip(edges[:-1], low, high), np.clip(edges[1:], low, high)
        if (first := self.first_steps(edges)) is not None:
            # by points: a set may hold all values of a bin without its whole width
            begin, end = self.first_steps(starts), self.first_steps(stops)
            assert begin is not None  # noqa: S101 - a column has a lattice or none
            assert end is not None  # noqa: S101
            all_points = weight_between(first[:-1], first[1:] - 1, self.rounding)
            part = weight_between(begin, end - 1, self.rounding) / np.where(
                all_points > 0, all_points, 1
            )
        else:
            part = (stops - starts) / (edges[1:] - edges[:-1])
        part = np.clip(part, 0, 1)
        if cells is None:
            return np.asarray(part, dtype=np.float64)
        return np.bincount(cells.bin_of, cells.weights * part, minlength=self.regular)
