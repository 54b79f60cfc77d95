"""Sets of raw values of one column, and how much of each code they hold.

A condition such as `age in 30..34` is a set of values, not of codes: bins may be cut. Sets of one column can be intersected
and complemented exactly; only at the end does a cut bin count by the share of its values, taken as evenly spread.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from dprap.errors import WorkloadError
from dprap.schema import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from dprap.schema.bins import days_since_epoch

CodeWeights = Float[np.ndarray, "codes"]
Interval: TypeAlias = tuple[float, float]
"""From the first value up to, not including, the second, in the unit of the column's bin edges."""

Member: TypeAlias = str | int | bool
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
# Python's own readers take the digits of every script, underscores and blanks: a question is read as it looks.
_PARTIAL_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
_WHOLE = re.compile(r"([+-]?[0-9]{1,40})(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


@dataclass(frozen=True)
class ValueSet:
    """Values of a column: intervals (sorted, disjoint) where it has an order, else members of its list; and null or not."""

    intervals: tuple[Interval, ...] = ()
    members: frozenset[Member] = frozenset()
    missing: bool = False

    @property
    def empty(self) -> bool:
        """Whether no value is in the set."""
        return not (self.intervals or self.members or self.missing)

    def __and__(self, other: ValueSet) -> ValueSet:
        overlaps = ((max(a, c), min(b, d)) for a, b in self.intervals for c, d in other.intervals)
        kept = tuple(sorted((low, high) for low, high in overlaps if low < high))
        return ValueSet(kept, self.members & other.members, self.missing and other.missing)

    def without_missing(self) -> ValueSet:
        """The same set, null not in it."""
        return replace(self, missing=False)


def everything(column: Column) -> ValueSet:
    """All values a column can have."""
    if isinstance(column, Categorical | Boolean):
        return ValueSet(members=frozenset(_members(column)), missing=column.nullable)
    edges = column.bin_edges
    return ValueSet(intervals=((edges[0].item(), edges[-1].item()),), missing=column.nullable)


def complement(column: Column, values: ValueSet) -> ValueSet:
    """All other values of the column."""
    whole = everything(column)
    gaps: list[Interval] = []
    for start, stop in whole.intervals:
        at = start
        for low, high in values.intervals:
            if at < low:
                gaps.append((at, low))
            at = max(at, high)
        if at < stop:
            gaps.append((at, stop))
    return ValueSet(tuple(gaps), whole.members - values.members, whole.missing and not values.missing)


def union(column: Column, sets: Iterable[ValueSet]) -> ValueSet:
    """Values that are in any of the sets."""
    rest = everything(column)
    for values in sets:
        rest = rest & complement(column, values)
    return complement(column, rest)


def weights(column: Column, values: ValueSet) -> CodeWeights:
    """How much of each code's values the set holds: 0, 1, or a share for a bin or group that is cut."""
    found = np.zeros(column.size)
    if isinstance(column, Boolean):
        found[:2] = [False in values.members, True in values.members]
    elif isinstance(column, Categorical):
        if column.decode == "representative":
            found[: column.regular] = [value in values.members for value in column.representatives or ()]
        else:
            found[: column.regular] = [
                sum(member in values.members for member in group) / len(group) for group in column.member_groups
            ]
        if column.other_code is not None:
            found[column.other_code] = column.other in values.members
    else:
        edges = column.bin_edges
        for low, high in values.intervals:
            if column.decode == "representative":
                at = column.representative_values
                found[: column.regular] += (at >= low) & (at < high)
            else:
                overlap = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
                found[: column.regular] += np.clip(overlap / (edges[1:] - edges[:-1]), 0, 1)
    if column.null_code is not None:
        found[column.null_code] = values.missing
    return np.minimum(found, 1.0)


def missing(name: str, column: Column) -> ValueSet:
    """Null."""
    if not column.nullable:
        raise WorkloadError(f"column {name!r} is declared without missing values, so none can be null.")
    return ValueSet(missing=True)


def equal(name: str, column: Column, text: str) -> ValueSet:
    """The values that a literal names: one value, a group by its name, or a whole day, month or year."""
    if isinstance(column, Categorical | Boolean):
        return ValueSet(members=_named_members(name, column, text))
    low, high = _literal(name, column, text)
    if isinstance(column, Number) and low == high:
        raise WorkloadError(f"column {name!r} holds numbers in bins, so ask for a range: {name} in low..high.")
    return _inside(name, column, low, high)


def compared(name: str, column: Column, operator: str, text: str) -> ValueSet:
    """The values below or above a literal."""
    if isinstance(column, Boolean) or (isinstance(column, Categorical) and not column.is_integer):
        raise WorkloadError(f"column {name!r} has no order: use =, != or in {{…}} instead of {operator}.")
    if isinstance(column, Categorical):
        bound, _ = _whole(name, text)
        numbers = (member for member in column.members if isinstance(member, int))
        return ValueSet(members=frozenset(member for member in numbers if _COMPARE[operator](member, bound)))
    low, high = _literal(name, column, text)
    ends = {"<": (-math.inf, low), "<=": (-math.inf, high), ">": (high, math.inf), ">=": (low, math.inf)}[operator]
    return everything(column).without_missing() & ValueSet(intervals=(ends,))


def between(name: str, column: Column, low: str | None, high: str | None) -> ValueSet:
    """The values from one literal to another, both included; either may be open."""
    if isinstance(column, Categorical | Boolean):
        whole = everything(column).without_missing()
        for operator, bound in ((">=", low), ("<=", high)):
            whole = whole if bound is None else whole & compared(name, column, operator, bound)
        return whole
    start = -math.inf if low is None else _literal(name, column, low)[0]
    stop = math.inf if high is None else _literal(name, column, high)[1]
    if start == stop:  # a number without declared decimals: from 0 to 0 is the value 0, not nothing
        stop = math.nextafter(stop, math.inf)
    if start >= stop:
        raise WorkloadError(f"column {name!r}: the range {low}..{high} is empty. Put the smaller end first.")
    return _inside(name, column, start, stop)


def _inside(name: str, column: Integer | Number | Date | Datetime, low: float, high: float) -> ValueSet:
    found = everything(column).without_missing() & ValueSet(intervals=((low, high),))
    if found.empty:
        raise WorkloadError(f"column {name!r}: nothing there lies in its declared domain, {_span(column)}.")
    return found


def _span(column: Integer | Number | Date | Datetime) -> str:
    first, last = column.regular_label(0), column.regular_label(column.regular - 1)
    if isinstance(column, Number):
        return f"{first.split(',')[0].lstrip('[')}..{last.split(', ')[-1].rstrip(']')}"
    return f"{first.split('..')[0]}..{last.split('..')[-1]}"


def _members(column: Categorical | Boolean) -> tuple[Member, ...]:
    if isinstance(column, Boolean):
        return (False, True)
    return (*column.members, *(() if column.other is None else (column.other,)))


def _named_members(name: str, column: Categorical | Boolean, text: str) -> frozenset[Member]:
    if isinstance(column, Boolean):
        for member, texts in ((False, column.false_values), (True, column.true_values)):
            if text in texts or text.lower() == str(member).lower():
                return frozenset({member})
        raise WorkloadError(f"column {name!r} is true or false, not {text!r}.")
    if column.groups and text in column.groups:
        return frozenset(column.groups[text])
    by_text = {str(member): member for member in _members(column)}
    if text in by_text:
        return frozenset({by_text[text]})
    close = difflib.get_close_matches(text, by_text, n=3) or list(by_text)[:6]
    more = ", …" if len(by_text) > len(close) else ""
    raise WorkloadError(f"column {name!r} has no value {text!r}. Its values are: {', '.join(close)}{more}.")


def _literal(name: str, column: Integer | Number | Date | Datetime, text: str) -> Interval:
    """First value a literal stands for, and the first after it."""
    if isinstance(column, Integer):
        return _whole(name, text)
    if isinstance(column, Number):
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise WorkloadError(f"column {name!r} holds numbers; {text!r} is none.")
        decimals = column.lattice_decimals
        return value, value if decimals is None else value + 10.0**-decimals
    if isinstance(column, Date):
        first, after = _days(name, text, "a date such as 2024-12-31, 2024-12 or 2024")
        return days_since_epoch(first), days_since_epoch(after)
    return _instants(name, column, text)


def _whole(name: str, text: str) -> tuple[int, int]:
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise WorkloadError(f"column {name!r} holds whole numbers; {text!r} is none.")
    value = int(found[1])
    return value, value + 1


def _days(name: str, text: str, wanted: str) -> tuple[date, date]:
    try:
        partial = _PARTIAL_DATE.fullmatch(text)
        if partial is None and not text.isascii():
            raise ValueError  # noqa: TRY301 - told below like any other
        if partial is None:
            first = date.fromisoformat(text)
            return first, first + timedelta(days=1)
        year, month = int(partial[1]), partial[2]
        if month is None:
            return date(year, 1, 1), date(year + 1, 1, 1)
        first = date(year, int(month), 1)
        return first, (first + timedelta(days=31)).replace(day=1)
    except (ValueError, OverflowError):
        raise WorkloadError(f"column {name!r} takes {wanted}, not {text!r}.") from None


def _instants(name: str, column: Datetime, text: str) -> Interval:
    wanted = "a date or a time such as 2024-12-31T18:30"
    try:
        if "T" not in text and ":" not in text:
            first, after = _days(name, text, wanted)
            low, high = (datetime(day.year, day.month, day.day) for day in (first, after))  # noqa: DTZ001 - the column's own clock
            return column.microseconds(low), column.microseconds(high)
        instant = datetime.fromisoformat(text if text.isascii() else "")
        if instant.tzinfo is not None and column.timezone is None:
            raise WorkloadError(f"column {name!r} has no time zone: leave the offset out of {text!r}.")
        at = column.microseconds(instant)
    except (ValueError, OverflowError):
        raise WorkloadError(f"column {name!r} takes {wanted}, not {text!r}.") from None
    return at, at + column.step
