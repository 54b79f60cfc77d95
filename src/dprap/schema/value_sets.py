"""Sets of raw values of one column.

A condition such as `age in 30..34` is a set of values, not of codes: bins may be cut. Sets of one
column can be intersected and complemented exactly; only at the end does the column say how much of
each code a set holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dprap.array_types import Float
from dprap.errors import WorkloadError

CodeWeights: TypeAlias = Float[np.ndarray, " codes"]
WHOLE = 1 - 1e-12
"""From this part on a bin is asked for whole: its parts add up to 1 but for the rounding of
floats.
"""
Interval: TypeAlias = tuple[float, float]
"""From the first value up to, not including, the second, in the unit of the column's bin edges."""

Member: TypeAlias = str | int | bool
# Python's own readers take the digits of every script, underscores and blanks: a question is read
# as it looks.
_WHOLE = re.compile(r"([+-]?[0-9]{1,40})(?:\.0*)?")


@dataclass(frozen=True)
class ValueSet:
    """Values of a column: intervals (sorted, disjoint) where it has an order, else members of its
    list; and null or not.
    """

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


def complement(whole: ValueSet, values: ValueSet) -> ValueSet:
    """All values of a column, `whole`, that are not in a set."""
    gaps: list[Interval] = []
    for start, stop in whole.intervals:
        at = start
        for low, high in values.intervals:
            if at < low:
                gaps.append((at, low))
            at = max(at, high)
        if at < stop:
            gaps.append((at, stop))
    return ValueSet(
        tuple(gaps), whole.members - values.members, whole.missing and not values.missing
    )


def union(whole: ValueSet, sets: Iterable[ValueSet]) -> ValueSet:
    """Values of a column, `whole`, that are in any of the sets."""
    rest = whole
    for values in sets:
        rest = rest & complement(whole, values)
    return complement(whole, rest)


def whole_literal(name: str, text: str) -> tuple[int, int]:
    """The whole number that a question names, and the next one."""
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise WorkloadError(f"column {name!r} holds whole numbers; {text!r} is none.")
    value = int(found[1])
    return value, value + 1
