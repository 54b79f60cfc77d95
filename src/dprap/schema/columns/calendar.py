"""What dates and datetimes have in common: times of the calendar as whole numbers since 1970."""

from __future__ import annotations

from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from dprap.array_types import Int64, Num
from dprap.schema.arrays import Mask
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.shape import Edges
from dprap.schema.texts import written


class CalendarColumn(BinnedColumn):
    """A column of days or of times.

    The types declare the fields that its methods read, each in the order of its schema files.
    """

    if TYPE_CHECKING:
        min: Any
        max: Any
        format: str | None
        edges: tuple[Any, ...] | None
        representatives: tuple[Any, ...] | None

    is_calendar = True

    bound_type: ClassVar[type[date]]
    """What a bound is in Python: `date` or `datetime`."""

    @property
    def has_unit(self) -> bool:
        """Whether bins of the calendar or the clock are declared."""
        raise NotImplementedError

    def since_epoch(self, at: Any) -> int:
        """A declared day or time in the unit of `bin_edges`."""
        raise NotImplementedError

    def as_times(self, numbers: pa.Array) -> pa.Array:
        """Whole numbers in the unit of `bin_edges` as Arrow's dates or timestamps."""
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[Any, Any]:
        """First and last day or time; raises ValueError where none are declared."""
        if self.edges is not None:
            if (self.min, self.max) != (None, None) or self.has_unit:
                raise ValueError("takes edges, or min and max with a unit. Leave one of them out")
            if len(self.edges) < 2:
                raise ValueError("edges: needs at least two values in strictly increasing order")
            return self.edges[0], self.edges[-1]
        if self.min is None or self.max is None:
            raise ValueError(
                "needs public bounds: min and max (or edges). Never take them from the data"
            )
        return self.min, self.max

    @property
    def has_bins(self) -> bool:
        """Whether a unit or edges are declared."""
        return self.edges is not None or self.has_unit

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges in the unit of the column since 1970; the last stands after the last value."""
        if self.edges is None:
            return self.unit_edges()
        at = [self.since_epoch(edge) for edge in self.edges]
        return np.array([*at[:-1], at[-1] + 1], dtype=np.int64)

    def unit_edges(self) -> Edges:
        """Edges of bins of the calendar or the clock, or of the points of a grid."""
        raise NotImplementedError

    @property
    def reads_text(self) -> bool:
        """Whether a format is declared."""
        return self.format is not None

    @cached_property
    def representative_values(self) -> Num[np.ndarray, " bins"]:
        """Declared representatives, else the middle of each bin."""
        if self.representatives is None:
            return self.step_values(self.middle_steps())
        return np.array([self.since_epoch(each) for each in self.representatives], dtype=np.int64)

    def draw(
        self, positions: Int64[np.ndarray, " records"], is_null: Mask, rng: np.random.Generator
    ) -> pa.Array:
        """A day or time of each bin, at the declared resolution: any, or its representative."""
        values = self.draw_values(positions, rng)
        times = self.as_times(pa.array(values, pa.int64(), mask=is_null))
        return (
            written(times, self.format)
            if pa.types.is_string(self.arrow_type)
            else times.cast(self.arrow_type)
        )

    def read_declared(self, value: Any) -> int:
        """A day or time, or its ISO text."""
        return self.since_epoch(
            self.bound_type.fromisoformat(value) if isinstance(value, str) else value
        )
