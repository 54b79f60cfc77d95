"""Edges of bins: the public cut points that turn a number, a date or an instant into a code.

Every function returns strictly increasing edges; bin i holds the values from edges[i] up to, not
including, edges[i + 1]. A declared maximum belongs to the last bin, so the last edge is the next
value after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from dprap.array_types import Float64, Int64

IntegerEdges = Int64[np.ndarray, "edges"]
NumberEdges = Float64[np.ndarray, "edges"]

MAX_CODES = 1 << 20
"""More codes than this in one column is a mistake or needs bins, groups or a top list."""

MICROSECONDS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86_400 * 10**6}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_MONDAY = 3  # 1970-01-01 was a Thursday: weeks start three days before a multiple of seven


def refuse_too_many(bins: float) -> None:
    """Raise ValueError when a column would have more codes than any release can carry."""
    if bins > MAX_CODES:
        shown = f"{bins:,.0f}" if bins < 10**15 else "more than 10^15"
        raise ValueError(f"gives {shown} bins; the limit is {MAX_CODES:,}. Use wider bins")


def check_edges(edges: Sequence[Any]) -> None:
    """Refuse edges that are not in increasing order; the last may equal the one before: a bin for
    the maximum alone.
    """
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges[:-1])) or edges[-1] < edges[-2]:
        raise ValueError("edges: needs at least two values in strictly increasing order")


def integer_edges(
    low: int,
    high: int,
    *,
    width: int | None,
    bins: int | None,
    edges: Sequence[int] | None,
    log: bool,
) -> IntegerEdges:
    """Edges over the integers low..high; one bin an integer when nothing else is said."""
    if edges is not None:
        return np.array([*edges[:-1], edges[-1] + 1], dtype=np.int64)
    if bins is None:
        refuse_too_many((high - low) / (width or 1) + 1)
        return np.append(np.arange(low, high + 1, width or 1, dtype=np.int64), high + 1)
    refuse_too_many(bins)
    if not log and bins > high - low + 1:
        raise ValueError(
            f"bins: {bins:,} bins over {high - low + 1:,} integers. Ask for fewer bins"
        )
    inner = np.geomspace(low, high + 1, bins + 1) if log else np.linspace(low, high + 1, bins + 1)
    # log-spaced bins over small integers fall on the same integer: there are then fewer of them
    return np.unique(np.concatenate([[low], np.rint(inner[1:-1]).astype(np.int64), [high + 1]]))


def integer_grid_step(low: int, high: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, … of which at most `MAX_CODES` multiples lie between two
    integers.

    >>> integer_grid_step(0, 99_999), integer_grid_step(0, 3_000_000)
    (1, 5)
    """
    step = 1
    while (high - low) // step + 1 > MAX_CODES:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return step


def integer_grid(low: int, high: int, step: int) -> IntegerEdges:
    """Edges over the integers low..high, with one multiple of `step` in each bin."""
    first, last = -(-low // step), high // step
    if first > last:
        raise ValueError(
            f"step: no multiple of {step:,} lies between the bounds. Move a bound or lower the step"
        )
    refuse_too_many(last - first + 1)
    return np.concatenate(
        [[low], np.arange(first + 1, last + 1, dtype=np.int64) * step, [high + 1]]
    )


def number_grid_decimals(low: float, high: float, decimals: int | None) -> int:
    """The most decimals, up to the declared ones, at which at most `MAX_CODES` values lie between
    two numbers.

    >>> (
    ...     number_grid_decimals(0.0, 100.0, 2),
    ...     number_grid_decimals(0.0, 1.0, None),
    ...     number_grid_decimals(0.0, 5e7, 2),
    ... )
    (2, 6, -2)
    """
    span = Decimal(repr(high)) - Decimal(repr(low))
    most = 15 if decimals is None else decimals
    while span * Decimal(10) ** most + 1 > MAX_CODES:
        most -= 1
    return most


def number_grid(low: float, high: float, decimals: int) -> NumberEdges:
    """Edges over the numbers from low to high, with one multiple of 10^-decimals in each bin."""
    scale = Decimal(10) ** decimals
    first = math.ceil(Decimal(repr(low)) * scale)
    last = math.floor(Decimal(repr(high)) * scale)
    if first > last:
        raise ValueError(
            "decimals: no value at this precision lies between the bounds. Move a bound or raise"
            " decimals"
        )
    inner = at_decimals(np.arange(first + 1, last + 1, dtype=np.int64), decimals)
    return np.concatenate([[low], inner, [np.nextafter(high, np.inf)]])


def at_decimals(steps: Int64[np.ndarray, " steps"], decimals: int) -> Float64[np.ndarray, " steps"]:
    """Multiples of 10^-decimals as the nearest floats."""
    return np.asarray(steps / 10.0**decimals if decimals >= 0 else steps * 10.0**-decimals)


def number_edges(
    low: float,
    high: float,
    *,
    width: float | None,
    bins: int | None,
    edges: Sequence[float] | None,
    log: bool,
) -> NumberEdges:
    """Edges over the numbers from low to high, both included."""
    if edges is not None:
        inner = list(edges[1:-1])
    elif width is not None:
        refuse_too_many((high - low) / width)
        # in decimals, so that 0.1 wide bins start at 0.3 and not at 0.30000000000000004
        start, step = Decimal(repr(low)), Decimal(repr(width))
        steps = range(1, math.ceil((Decimal(repr(high)) - start) / step))
        inner = [float(start + step * i) for i in steps]
    else:
        refuse_too_many(bins or 1)
        points = (
            np.geomspace(low, high, (bins or 1) + 1)
            if log
            else np.linspace(low, high, (bins or 1) + 1)
        )
        # twelve digits: the same edges on every machine
        inner = [float(f"{point:.12g}") for point in points[1:-1]] if high > low else []
    result = np.array([low, *inner, np.nextafter(high, np.inf)], dtype=np.float64)
    if not (np.diff(result) > 0).all():
        raise ValueError("bins are narrower than numbers can tell apart. Use fewer bins")
    return result


def calendar_edges(low: int, high: int, unit: str, width: int) -> IntegerEdges:
    """Edges in days since 1970-01-01 over the days low..high: first days of weeks, months, quarters
    or years.
    """
    return np.concatenate([[low], _unit_starts(low, high, unit, width), [high + 1]])


def instant_edges(
    low: int, high: int, unit: str, width: int, zone: ZoneInfo | None
) -> IntegerEdges:
    """Edges in microseconds since 1970 (UTC, or wall time without a zone); days and longer follow
    the zone's calendar.
    """
    if unit in ("second", "minute", "hour"):
        step = MICROSECONDS[unit] * width
        refuse_too_many((high - low) / step)
        # bins start at full hours on the zone's clock, also where its offset has half hours
        shift = _offset(low, zone)
        unit_start = (low + shift) // MICROSECONDS[unit] * MICROSECONDS[unit] - shift
        starts = np.arange(unit_start, high, step, dtype=np.int64)
    else:
        day = MICROSECONDS["day"]
        first, last = (low + _offset(low, zone)) // day, (high + _offset(high, zone)) // day
        local = _unit_starts(first, last, unit, width) * day
        starts = (
            local
            if zone is None
            else np.array([_from_wall(int(each), zone) for each in local], dtype=np.int64)
        )
    inside = starts[(starts > low) & (starts < high)]
    return np.concatenate([[low], inside, [high + 1]]).astype(np.int64)


def _unit_starts(low: int, high: int, unit: str, width: int) -> IntegerEdges:
    """Days after `low` and up to `high` on which a bin of `width` units starts, counted from the
    unit of `low`.
    """
    days = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}[unit]
    refuse_too_many((high - low) / (days * width))
    ends = np.array([low, high], dtype="datetime64[D]")
    if unit == "day":
        starts = np.arange(low, high + 1, width, dtype=np.int64)
    elif unit == "week":
        first = (low + _EPOCH_MONDAY) // 7 * 7 - _EPOCH_MONDAY
        starts = np.arange(first, high + 1, 7 * width, dtype=np.int64)
    else:
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        first, last = ends.astype("datetime64[M]").astype(np.int64)
        index = np.arange(first // months * months, last + 1, months * width)
        starts = index.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return starts[starts > low]


def days_since_epoch(day: date) -> int:
    """Whole days since 1970-01-01."""
    return day.toordinal() - date(1970, 1, 1).toordinal()


def microseconds_since_epoch(instant: datetime, zone: ZoneInfo | None) -> int:
    """Microseconds since 1970, of an instant when there is a zone, else of wall time."""
    if zone is None:
        instant = instant.replace(tzinfo=UTC)
    elif instant.tzinfo is None:
        instant = instant.replace(tzinfo=zone)
    return (instant - _EPOCH) // timedelta(microseconds=1)


def _offset(microseconds: int, zone: ZoneInfo | None) -> int:
    if zone is None:
        return 0
    offset = (_EPOCH + timedelta(microseconds=microseconds)).astimezone(zone).utcoffset()
    return (offset or timedelta()) // timedelta(microseconds=1)


def _from_wall(microseconds: int, zone: ZoneInfo) -> int:
    wall = (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None)
    return microseconds_since_epoch(wall.replace(tzinfo=zone).astimezone(UTC), zone)
