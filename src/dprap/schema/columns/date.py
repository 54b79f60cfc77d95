"""Days between two public dates, in bins of the calendar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, StrictInt, StrictStr, model_validator

from dprap.errors import WorkloadError
from dprap.schema import arrays, bins
from dprap.schema.arrays import Positions
from dprap.schema.columns.base import DatabaseKind, SqlType
from dprap.schema.columns.calendar import CalendarColumn
from dprap.schema.columns.interval_levels import Starts, nested_starts
from dprap.schema.columns.shape import Edges
from dprap.schema.digits import DATE, Parsed, read_days
from dprap.schema.texts import format_problem, read_by_format, read_day, read_period, written
from dprap.schema.value_sets import Interval
from dprap.schema.values import MICROSECONDS_PER_DAY, Day, Moment, Plain


class Date(CalendarColumn):
    """Days between two public dates, by day, week, month, quarter or year, or between given edges.

    >>> Date(type="date", min="2024-01-15", max="2024-03-02", unit="month").label(1)
    '2024-02-01..2024-02-29'
    """

    type: Literal["date"]
    min: date | None = None
    max: date | None = None
    unit: Literal["day", "week", "month", "quarter", "year"] = "day"
    width: Annotated[StrictInt, Field(ge=1)] = 1
    format: StrictStr | None = None
    edges: tuple[date, ...] | None = None
    representatives: tuple[date, ...] | None = None

    storages = (
        "date32",
        "timestamp[s]",
        "timestamp[ms]",
        "timestamp[us]",
        "timestamp[ns]",
        "string",
    )
    sql_types: ClassVar[Mapping[DatabaseKind, SqlType]] = {"date": "date", "timestamp": "date"}
    not_readable = "cannot be read as date"
    bound_type = date

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.bounds
        if self.edges is not None:
            bins.check_edges(self.edges)
        elif low > high:
            raise ValueError("min is after max. Swap them")
        problem = None if self.format is None else format_problem(self.format, (low, high))
        if problem is not None:
            raise ValueError(problem)
        self.check_bins()
        return self

    def takes(self, kind: pa.DataType) -> bool:
        """Dates, and timestamps without a zone."""
        is_wall_time = pa.types.is_timestamp(kind) and kind.tz is None
        return super().takes(kind) or pa.types.is_date(kind) or is_wall_time

    def read(self, value: Plain) -> int | None:
        """Days, wall times (their day) and texts in ISO form or the declared format, as days since
        1970-01-01.
        """
        if isinstance(value, str) and self.format is not None:
            found = read_by_format(value, self.format, last_year=self.bounds[1].year)
            return None if found is None else bins.days_since_epoch(found)
        if isinstance(value, str):
            return read_day(value)
        if isinstance(value, Moment) and not value.is_zoned:
            return value.microseconds // MICROSECONDS_PER_DAY
        return value.days if isinstance(value, Day) else None

    @property
    def has_unit(self) -> bool:
        """Whether bins are longer than a day."""
        return self.unit != "day" or self.width != 1

    def value_text(self, value: float) -> str:
        """The day."""
        return str(np.datetime64(round(value), "D"))

    def interval_levels(self) -> tuple[Starts, ...]:
        """Years, months, days."""
        days = self.bin_edges[:-1].astype("datetime64[D]")
        labels = [days.astype(f"datetime64[{unit}]").astype(np.int64) for unit in ("Y", "M")]
        return nested_starts(labels, self.regular)

    def declared_edges(self, edges: Sequence[Any]) -> dict[str, Any]:
        """Edges as dates."""
        return {"edges": tuple(np.datetime64(int(edge), "D").astype(date) for edge in edges)}

    def unit_edges(self) -> Edges:
        """Edges of bins of the calendar, in days since 1970-01-01."""
        low, high = map(self.since_epoch, self.bounds)
        return bins.calendar_edges(low, high, self.unit, self.width)

    def since_epoch(self, at: date) -> int:
        """Days since 1970-01-01."""
        return bins.days_since_epoch(at)

    def place_array(self, array: pa.Array) -> Positions:
        """The bins of dates, and of the days of wall times."""
        return self.into_bins(arrays.days(array))

    @property
    def plain_texts(self) -> str | None:
        """ISO dates, unless the column has a format of its own."""
        return DATE if self.format is None else None

    def parse_plain(self, texts: pa.Array) -> Parsed:
        """ISO dates."""
        return read_days(texts)

    def as_times(self, numbers: pa.Array) -> pa.Array:
        """Arrow's days."""
        return numbers.cast(pa.int32()).cast(pa.date32())

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Days, in ISO form or the declared format."""
        if pa.types.is_string(array.type):
            return array
        days = array.cast(pa.date32())  # pandas keeps days as midnights
        return days if self.format is None else written(days, self.format)

    def typed_in_units(self, array: pa.Array) -> pa.Array:
        """Days since 1970-01-01."""
        return array.cast(pa.date32(), safe=False).cast(pa.int32())

    def edge_text(self, edge: Any) -> str:
        """The day in ISO form."""
        return str(np.datetime64(int(edge), "D"))

    def literal(self, name: str, text: str) -> Interval:
        """First day of a day, a month or a year, and the first day after it."""
        try:
            first, after = read_period(text)
        except ValueError:
            wanted = "a date such as 2024-12-31, 2024-12 or 2024"
            raise WorkloadError(f"column {name!r} takes {wanted}, not {text!r}.") from None
        return bins.days_since_epoch(first), bins.days_since_epoch(after)

    def regular_label(self, code: int) -> str:
        """The day, or the first and last day of the bin."""
        first, last = (
            np.datetime64(int(day), "D")
            for day in (self.bin_edges[code], self.bin_edges[code + 1] - 1)
        )
        return str(first) if first == last else f"{first}..{last}"
