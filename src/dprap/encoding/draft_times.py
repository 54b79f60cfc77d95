"""What a draft proposes for dates, times and durations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.encoding.draft_bounds import numeric_bounds
from dprap.encoding.draft_proposal import MIN_COUNT, Proposal
from dprap.encoding.recognise import Reading
from dprap.schema.number_format import ClockUnit, NumberFormat
from dprap.schema.texts import has_short_years, read_by_format

# Up to so many days a column is cut into bins of this unit; longer ones into years.
_UNITS = ((100, "day"), (500, "week"), (4_000, "month"), (12_000, "quarter"))

# A date from this year on is a mark for "no end", as databases write 9999-12-31.
_NEVER = 9000

# Years of two digits that span fewer years than this, and end before today, leave no doubt about
# their century.
_CLEAR_YEARS = 50


def clock_proposal(texts: Mapping[str, int], unit: ClockUnit) -> Proposal:
    """Times of day or durations, counted in minutes or seconds; a run finds the intervals."""
    form = NumberFormat(clock=unit)
    numbers: dict[int, int] = {}
    for text, count in texts.items():
        plain = form.plain(text)
        if plain is not None:
            numbers[int(plain)] = numbers.get(int(plain), 0) + count
    values = np.array(sorted(numbers), dtype=np.float64)
    counts = np.array([numbers[int(value)] for value in values], dtype=np.int64)
    day = 1440 if unit == "minutes" else 86_400
    bounds: dict[str, Any]
    if values[0] >= 0 and day / 2 < values[-1] < day:
        bounds, what, from_data = {"min": 0, "max": day - 1}, "times of day", tuple[str, ...]()
    else:
        bounds, *_ = numeric_bounds(values, counts, written=0, min_count=MIN_COUNT)
        what, from_data = "durations", tuple(bounds)
    settings = {"type": "integer", **bounds, "out_of_domain": "clip", "format": {"clock": unit}}
    return Proposal(
        settings, f"{what}, counted in {unit}; a run finds the intervals with noise", from_data
    )


def time_proposal(
    seen: Mapping[Any, int], kind: pa.DataType, declared: dict[str, Any] | None = None
) -> Proposal:
    """Dates and times, as Python's `date` or `datetime`."""
    walls = [_wall(value) for value in seen]
    walls = [wall for wall in walls if wall.year < _NEVER] or walls
    low, high = min(walls), max(walls)
    midnight = all(wall.time() == datetime.min.time() for wall in walls)
    declared = dict(declared or {})
    is_date = (
        declared.get(
            "type",
            "date" if pa.types.is_date(kind) or (midnight and kind.tz is None) else "datetime",
        )
        == "date"
    )
    days = (high - low).days + 1
    unit = next((unit for most, unit in _UNITS if days <= most), "year")
    if days <= 400:
        first, last = low.date().replace(day=1), _month_end(high.date())
    else:
        first, last = low.date().replace(month=1, day=1), high.date().replace(month=12, day=31)
    from_data = ("min", "max", "unit")
    if is_date:
        settings: dict[str, Any] = {"type": "date", "min": first, "max": last, "unit": unit}
        if pa.types.is_timestamp(kind) and not declared:
            settings["storage"] = f"timestamp[{kind.unit}]"
        return Proposal(
            {**settings, **declared, "out_of_domain": "clip"}, f"dates, by {unit}", from_data
        )
    finer = "hour" if days <= 4 else unit
    settings = {
        "type": "datetime",
        "min": f"{first.isoformat()}T00:00:00",
        "max": f"{last.isoformat()}T23:59:59",
        "unit": finer,
        **_resolution(walls),
        **declared,
    }
    if not declared and kind.tz is not None:
        settings["timezone"] = kind.tz if "/" in kind.tz else "UTC"
    if not declared and kind.unit != "us":
        settings["storage"] = f"timestamp[{kind.unit}]"
    reason = f"times, by {finer}; the time of day is drawn evenly within a bin"
    return Proposal({**settings, "out_of_domain": "clip"}, reason, from_data)


def in_century(dated: Reading, texts: Iterable[str], *, is_past: bool) -> Reading:
    """How dates are read whose years have two digits: in the century that the years show, which is
    asked.

    The years stand on a circle of a hundred. The longest stretch of it without a date is where they
    begin and end: 35 to 99 and 00 to 14 are 1935 to 2014. Python's own century, 1969 to 2068, stays
    where it keeps them together, unless the dates are known to lie in the past.

    Args:
        dated: How the texts are read.
        texts: The texts.
        is_past: Whether no date can lie in the future, as of births.
    """
    form = dated.settings.get("format", "")
    if not has_short_years(form):
        return dated
    years = sorted({when.year for when in map(dated.read, texts) if when is not None})
    if not years:
        return dated
    steps = [later - year for year, later in zip(years, [*years[1:], years[0] + 100], strict=True)]
    last = years[steps.index(max(steps))]
    this_year = date.today().year  # noqa: DTZ011 - of the steward's own calendar
    is_together = last == years[-1]
    if not is_together or (is_past and last > this_year):
        last -= 100 * max(0, math.ceil((last - this_year) / 100))
    first = min(last - (last - year) % 100 for year in years)
    is_clear = last == years[-1] <= this_year and last - first < _CLEAR_YEARS
    question = f"Years are written with two digits. Do they mean {first} to {last}?"
    return replace(
        dated,
        read=lambda text: read_by_format(text, form, last_year=last),
        question=dated.question if is_clear else " ".join(filter(None, (dated.question, question))),
    )


def never_texts(read: Mapping[str, datetime]) -> list[str]:
    """Texts of dates that mean that something has no end, beside dates that end long before."""
    never = [text for text, when in read.items() if when.year >= _NEVER]
    return sorted(never) if 0 < len(never) <= 3 and len(read) > len(never) else []


def _resolution(walls: Sequence[datetime]) -> dict[str, str]:
    if all(wall.second == 0 and wall.microsecond == 0 for wall in walls):
        return {"resolution": "minute"}
    if all(wall.microsecond == 0 for wall in walls):
        return {}
    return {
        "resolution": (
            "millisecond" if all(wall.microsecond % 1000 == 0 for wall in walls) else "microsecond"
        )
    }


def _wall(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return (
        datetime(value.year, value.month, value.day)  # noqa: DTZ001
        if isinstance(value, date)
        else value.to_pydatetime()
    )


def _month_end(day: date) -> date:
    if (day.year, day.month) == (date.max.year, date.max.month):
        return date.max
    following = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return following - timedelta(days=1)
