"""Dates and instants in declared bins of the calendar or the clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
from jaxtyping import Num
from pydantic import Field, StrictInt, StrictStr, field_validator, model_validator

from dprap.schema import bins
from dprap.schema.binned import BinnedColumn, Edges, Steps
from dprap.schema.texts import format_problem, read_by_format, read_day, read_moment
from dprap.schema.values import MICROSECONDS_PER_DAY, Day, Moment, Plain, plain

_RESOLUTION = {"minute": 60 * 10**6, "second": 10**6, "millisecond": 1000, "microsecond": 1}


class Date(BinnedColumn):
    """Days between two public dates, by day, week, month, quarter or year.

    >>> Date(type="date", min="2024-01-15", max="2024-03-02", unit="month").label(1)
    '2024-02-01..2024-02-29'
    """

    type: Literal["date"]
    min: date
    max: date
    unit: Literal["day", "week", "month", "quarter", "year"] = "day"
    width: Annotated[StrictInt, Field(ge=1)] = 1
    format: StrictStr | None = None
    decode: Literal["uniform", "representative"] = "uniform"
    representatives: tuple[date, ...] | None = None

    storages = ("date32", "timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]", "string")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.min > self.max:
            raise ValueError("min is after max. Swap them")
        problem = None if self.format is None else format_problem(self.format, (self.min, self.max))
        if problem is not None:
            raise ValueError(problem)
        self.check_bins()
        return self

    def takes(self, kind: pa.DataType) -> bool:
        """Dates, and timestamps without a zone."""
        is_wall_time = pa.types.is_timestamp(kind) and kind.tz is None
        return super().takes(kind) or pa.types.is_date(kind) or is_wall_time

    def read(self, value: Plain) -> int | None:
        """Days, wall times (their day) and texts in ISO form or the declared format, as days since 1970-01-01."""
        if isinstance(value, str) and self.format is not None:
            found = read_by_format(value, self.format)
            return None if found is None else bins.days_since_epoch(found)
        if isinstance(value, str):
            return read_day(value)
        if isinstance(value, Moment) and not value.is_zoned:
            return value.microseconds // MICROSECONDS_PER_DAY
        return value.days if isinstance(value, Day) else None

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges in days since 1970-01-01."""
        low, high = bins.days_since_epoch(self.min), bins.days_since_epoch(self.max)
        return bins.calendar_edges(low, high, self.unit, self.width)

    @cached_property
    def representative_values(self) -> Num[np.ndarray, "bins"]:
        """Declared representatives, else the middle of each bin."""
        if self.representatives is None:
            return self.middle_steps()
        return np.array([bins.days_since_epoch(day) for day in self.representatives], dtype=np.int64)

    def regular_label(self, code: int) -> str:
        """The day, or the first and last day of the bin."""
        first, last = (np.datetime64(int(day), "D") for day in (self.bin_edges[code], self.bin_edges[code + 1] - 1))
        return str(first) if first == last else f"{first}..{last}"


class Datetime(BinnedColumn):
    """Instants (with `timezone`) or wall times (without) between two public bounds."""

    type: Literal["datetime"]
    min: datetime
    max: datetime
    unit: Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"] = "day"
    width: Annotated[StrictInt, Field(ge=1)] = 1
    timezone: StrictStr | None = None
    resolution: Literal["minute", "second", "millisecond", "microsecond"] = "second"
    format: StrictStr | None = None
    decode: Literal["uniform", "representative"] = "uniform"
    representatives: tuple[datetime, ...] | None = None

    storages = ("timestamp[us]", "timestamp[s]", "timestamp[ms]", "timestamp[ns]", "string")

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str | None) -> str | None:
        try:
            if name is not None:
                ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("is not a known time zone. Use a name such as Europe/Berlin or UTC") from None
        return name

    @model_validator(mode="after")
    def _check(self) -> Self:
        instants = (self.min, self.max, *(self.representatives or ()))
        if self.timezone is None and any(each.tzinfo is not None for each in instants):
            raise ValueError("has bounds with a UTC offset and no time zone. Declare timezone or remove the offsets")
        if self.timezone is not None and any(not 2 <= each.year <= 9998 for each in instants):
            raise ValueError("bounds in a time zone lie in the years 2 to 9998. Move them, or leave timezone out")
        if self.microseconds(self.min) > self.microseconds(self.max):
            raise ValueError("min is after max. Swap them")
        if self.step % {"timestamp[s]": 10**6, "timestamp[ms]": 1000}.get(self.storage or "", 1):
            raise ValueError("resolution is finer than the storage. Choose a finer storage")
        if self.storage == "timestamp[ns]" and (self.min.year < 1678 or self.max.year > 2261):
            raise ValueError("storage: timestamp[ns] holds the years 1678 to 2261. Choose timestamp[us]")
        walls = tuple(each.replace(tzinfo=self.zone) for each in (self.min, self.max))
        problem = None if self.format is None else format_problem(self.format, walls)
        if problem is not None:
            raise ValueError(problem)
        self.check_bins()
        return self

    @cached_property
    def zone(self) -> ZoneInfo | None:
        """The declared time zone."""
        return None if self.timezone is None else ZoneInfo(self.timezone)

    @cached_property
    def arrow_type(self) -> pa.DataType:
        """Arrow timestamp with the declared zone."""
        if self.storage == "string":
            return pa.string()
        return pa.timestamp((self.storage or "timestamp[us]")[10:-1], self.timezone)

    @property
    def step(self) -> int:
        """Microseconds between two values that decoding can produce."""
        return _RESOLUTION[self.resolution]

    def takes(self, kind: pa.DataType) -> bool:
        """Timestamps with a zone where one is declared, else without."""
        return super().takes(kind) or (pa.types.is_timestamp(kind) and (kind.tz is None) == (self.timezone is None))

    def read(self, value: Plain) -> int | None:
        """Instants where there is a time zone, else wall times, and their texts, as microseconds since 1970."""
        found = value
        if isinstance(value, str) and self.format is not None:
            by_format = read_by_format(value, self.format)
            found = value if by_format is None else plain(by_format)
        elif isinstance(value, str):
            found = read_moment(value) or value
        if isinstance(found, Moment) and found.is_zoned == (self.zone is not None):
            return found.microseconds
        return None

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges in microseconds since 1970."""
        return bins.instant_edges(
            self.microseconds(self.min), self.microseconds(self.max), self.unit, self.width, self.zone
        )

    def steps_between(self, edges: Edges) -> tuple[Steps, Steps] | None:
        """First and last multiple of the resolution between each two edges."""
        first = -(-edges // self.step)
        return first[:-1], first[1:] - 1

    @cached_property
    def representative_values(self) -> Num[np.ndarray, "bins"]:
        """Declared representatives, else the middle of each bin."""
        if self.representatives is None:
            return self.middle_steps() * self.step
        return np.array([self.microseconds(each) for each in self.representatives], dtype=np.int64)

    def regular_label(self, code: int) -> str:
        """First and last instant of the bin, on the zone's clock."""
        ends = (int(self.bin_edges[code]), int(self.bin_edges[code + 1]) - 1)
        instants = [datetime.fromtimestamp(0, UTC) + timedelta(microseconds=end) for end in ends]
        walls = [each.astimezone(self.zone) if self.zone else each.replace(tzinfo=None) for each in instants]
        return "..".join(wall.replace(microsecond=0).isoformat() for wall in walls)

    def microseconds(self, instant: datetime) -> int:
        """An instant in the unit of the bins; one without an offset is on the declared zone's clock."""
        return bins.microseconds_since_epoch(instant, self.zone)
