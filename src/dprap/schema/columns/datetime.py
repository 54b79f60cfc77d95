"""Instants or wall times between two public bounds, in bins of the calendar or the clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
from pydantic import Field, StrictInt, StrictStr, field_validator, model_validator

from dprap.errors import WorkloadError
from dprap.schema import arrays, bins
from dprap.schema.arrays import Positions
from dprap.schema.columns.base import DatabaseKind, SqlType
from dprap.schema.columns.calendar import CalendarColumn
from dprap.schema.columns.interval_levels import Starts, nested_starts
from dprap.schema.columns.shape import Edges
from dprap.schema.digits import DATETIME, Parsed, read_moments
from dprap.schema.texts import format_problem, read_by_format, read_moment, read_period, written
from dprap.schema.value_sets import Interval
from dprap.schema.values import Moment, Plain, plain

_RESOLUTION = {"minute": 60 * 10**6, "second": 10**6, "millisecond": 1000, "microsecond": 1}


class Datetime(CalendarColumn):
    """Instants (with `timezone`) or wall times (without) between two public bounds.

    Without unit and edges they are on a grid: of seconds, minutes, hours or days, whatever is the
    finest that is not finer than `resolution` and has at most `bins.MAX_CODES` points.
    """

    type: Literal["datetime"]
    min: datetime | None = None
    max: datetime | None = None
    unit: Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"] | None = (
        None
    )
    width: Annotated[StrictInt, Field(ge=1)] = 1
    timezone: StrictStr | None = None
    resolution: Literal["minute", "second", "millisecond", "microsecond"] = "second"
    format: StrictStr | None = None
    edges: tuple[datetime, ...] | None = None
    representatives: tuple[datetime, ...] | None = None

    storages = ("timestamp[us]", "timestamp[s]", "timestamp[ms]", "timestamp[ns]", "string")
    not_readable = "cannot be read as datetime"
    bound_type = datetime
    units_per_day = 86_400e6

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str | None) -> str | None:
        try:
            if name is not None:
                ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                "is not a known time zone. Use a name such as Europe/Berlin or UTC"
            ) from None
        return name

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.bounds
        instants = (low, high, *(self.edges or ()), *(self.representatives or ()))
        if self.timezone is None and any(each.tzinfo is not None for each in instants):
            raise ValueError(
                "has bounds with a UTC offset and no time zone. Declare timezone or remove the"
                " offsets"
            )
        if self.timezone is not None and any(not 2 <= each.year <= 9998 for each in instants):
            raise ValueError(
                "bounds in a time zone lie a year from either end of the calendar: years 2 to 9998."
                " Move them, or drop timezone"
            )
        if self.edges is not None:
            bins.check_edges([self.since_epoch(each) for each in self.edges])
        elif self.since_epoch(low) > self.since_epoch(high):
            raise ValueError("min is after max. Swap them")
        if self.unit is None and self.width != 1:
            raise ValueError("width: goes with a unit. Give the unit of the bins")
        if self.lattice_step % {"timestamp[s]": 10**6, "timestamp[ms]": 1000}.get(
            self.storage or "", 1
        ):
            raise ValueError("resolution is finer than the storage. Choose a finer storage")
        if self.storage == "timestamp[ns]" and (low.year < 1678 or high.year > 2261):
            raise ValueError(
                "storage: timestamp[ns] holds the years 1678 to 2261. Choose timestamp[us]"
            )
        walls = tuple(each.replace(tzinfo=self.zone) for each in (low, high))
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
    def lattice_step(self) -> int:
        """Microseconds between two values that decoding can produce."""
        return _RESOLUTION[self.resolution]

    def takes(self, kind: pa.DataType) -> bool:
        """Timestamps with a zone where one is declared, else without."""
        return super().takes(kind) or (
            pa.types.is_timestamp(kind) and (kind.tz is None) == (self.timezone is None)
        )

    def read(self, value: Plain) -> int | None:
        """Instants where there is a time zone, else wall times, and their texts, as microseconds
        since 1970.
        """
        found = value
        if isinstance(value, str) and self.format is not None:
            by_format = read_by_format(value, self.format, last_year=self.bounds[1].year)
            found = value if by_format is None else plain(by_format)
        elif isinstance(value, str):
            found = read_moment(value) or value
        if isinstance(found, Moment) and found.is_zoned == (self.zone is not None):
            return found.microseconds
        return None

    @property
    def has_unit(self) -> bool:
        """Whether bins of the calendar or the clock are declared."""
        return self.unit is not None

    @cached_property
    def _grid_unit(self) -> str:
        low, high = map(self.since_epoch, self.bounds)
        units = [unit for unit, length in bins.MICROSECONDS.items() if length >= self.lattice_step]
        fitting = (
            unit for unit in units if (high - low) / bins.MICROSECONDS[unit] + 2 <= bins.MAX_CODES
        )
        return next(fitting, "day")

    def unit_edges(self) -> Edges:
        """Edges of bins of the calendar or the clock, in microseconds since 1970."""
        low, high = map(self.since_epoch, self.bounds)
        return bins.instant_edges(low, high, self.unit or self._grid_unit, self.width, self.zone)

    @property
    def order_kind(self) -> str:
        """Instants, or wall times."""
        return "wall time" if self.timezone is None else "instant"

    def value_text(self, value: float) -> str:
        """The time to a second, in UTC where there is a time zone."""
        return str(np.datetime64(round(value / 1e6), "s")) + ("" if self.timezone is None else "Z")

    def interval_levels(self) -> tuple[Starts, ...]:
        """Years, months, days, hours and minutes, as far as they are coarser than the grid."""
        low, high = map(self.since_epoch, self.bounds)
        labels = []
        for unit in ("year", "month", "day", "hour", "minute"):
            if unit == self._grid_unit:
                break
            edges = bins.instant_edges(low, high, unit, 1, self.zone)
            labels.append(np.searchsorted(edges, self.bin_edges[:-1], side="right"))
        return nested_starts(labels, self.regular)

    def declared_edges(self, edges: Sequence[Any]) -> dict[str, Any]:
        """Edges as instants, in UTC where there is a time zone."""
        at = [datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(edge)) for edge in edges]
        return {"edges": tuple(each if self.zone else each.replace(tzinfo=None) for each in at)}

    def place_array(self, array: pa.Array) -> Positions:
        """The bins of timestamps."""
        return self.into_bins(arrays.microseconds(array))

    @property
    def plain_texts(self) -> str | None:
        """ISO dates with a time of day, unless the column has a format of its own."""
        return DATETIME if self.format is None else None

    def parse_plain(self, texts: pa.Array) -> Parsed:
        """ISO dates with a time of day, and an offset where there is a time zone."""
        return read_moments(texts, is_zoned=self.zone is not None)

    def as_times(self, numbers: pa.Array) -> pa.Array:
        """Arrow's timestamps, with the declared zone."""
        return numbers.cast(pa.timestamp("us", self.timezone))

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Times in ISO form, to the digits of their resolution, instants in UTC; or in the declared
        format.
        """
        if pa.types.is_string(array.type):
            return array
        if self.format is not None:
            return written(array, self.format)
        steps = [self.lattice_step, *map(self.since_epoch, self.representatives or ())]
        step = math.gcd(*steps)
        unit = next((unit for unit, size in (("s", 10**6), ("ms", 1000)) if step % size == 0), "us")
        # old offsets have seconds, which Arrow does not write
        return array.cast(pa.timestamp(unit, self.timezone and "UTC"))

    def typed_in_units(self, array: pa.Array) -> pa.Array:
        """Microseconds since 1970; digits after them are cut off, as in `place`."""
        return array.cast(pa.timestamp("us", self.timezone), safe=False).cast(pa.int64())

    @property
    def described(self) -> str:
        """The type, and whether it is of instants."""
        zone = (
            "without a time zone" if self.timezone is None else f"in a time zone ({self.timezone})"
        )
        return f"datetime {zone}"

    @property
    def edge_type(self) -> SqlType:
        """Timestamps, with a zone where one is declared."""
        return "timestamp" if self.timezone is None else "timestamptz"

    def sql_type(self, kind: DatabaseKind) -> SqlType | None:
        """Timestamps with a zone where one is declared, else without."""
        return self.edge_type if kind == self.edge_type else None

    def edge_text(self, edge: Any) -> str:
        """The time in ISO form; an instant in UTC."""
        return str(np.datetime64(int(edge), "us")) + ("" if self.timezone is None else "+00")

    def literal(self, name: str, text: str) -> Interval:
        """First instant of a day, a month or a year on the column's own clock, or an instant; and
        the first after it.
        """
        try:
            if "T" not in text and ":" not in text:
                ends = (datetime(day.year, day.month, day.day) for day in read_period(text))  # noqa: DTZ001 - see above
                low, high = (self.since_epoch(end) for end in ends)
                return low, high
            instant = datetime.fromisoformat(text if text.isascii() else "")
            if instant.tzinfo is not None and self.timezone is None:
                raise WorkloadError(
                    f"column {name!r} has no time zone: leave the offset out of {text!r}."
                )
            at = self.since_epoch(instant)
        except (ValueError, OverflowError):
            wanted = "a date or a time such as 2024-12-31T18:30"
            raise WorkloadError(f"column {name!r} takes {wanted}, not {text!r}.") from None
        return at, at + self.lattice_step

    def regular_label(self, code: int) -> str:
        """First and last instant of the bin, on the zone's clock."""
        ends = (int(self.bin_edges[code]), int(self.bin_edges[code + 1]) - 1)
        instants = [datetime.fromtimestamp(0, UTC) + timedelta(microseconds=end) for end in ends]
        walls = [
            each.astimezone(self.zone) if self.zone else each.replace(tzinfo=None)
            for each in instants
        ]
        return "..".join(wall.replace(microsecond=0).isoformat() for wall in walls)

    def since_epoch(self, at: datetime) -> int:
        """Microseconds since 1970; an instant without an offset is on the declared zone's
        clock.
        """
        return bins.microseconds_since_epoch(at, self.zone)
