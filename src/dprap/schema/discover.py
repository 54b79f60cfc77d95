"""Columns whose domain nobody knows publicly: a run pays to find it (`domain: discover`).

A schema file says so without a look at the data. Such columns stand in `Schema.discover` until a
run has found their domains (`dprap.runs.discover`), and in `Schema.discovered` is written what each
cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import count
from typing import Annotated, Any, Literal, Self

from pydantic import Field, FiniteFloat, StrictStr, model_validator

from dprap.schema.columns.base import Part, require_texts
from dprap.schema.number_format import NumberFormat

MOST_VALUES = 10_000
"""Values that a discovered column has at most; those with the largest noisy counts stay."""

LONGEST_TEXT = 200
"""Longer texts are never candidates: they are sentences or attacks, and go to `other`."""

LARGEST_WHOLE = 2**62
"""Integers beyond it have no code in any column."""

# No value of the table: stands in a column of which no value was frequent enough.
NO_VALUE = "(none)"

# Powers of ten of the grids on which bounds are looked for. Integers end before 2^62. Numbers from
# a millionth to a thousand million million leave room for every unit in which people's properties
# are kept.
_INTEGER_POWERS = range(18)
_NUMBER_POWERS = range(-6, 16)


class DiscoverColumn(Part):
    """A column whose categories or bounds a run is to find.

    >>> DiscoverColumn(type="categorical").nullable
    True
    """

    type: Literal["categorical", "integer", "number"]
    domain: Literal["discover"] = "discover"
    nullable: bool = True
    null_values: tuple[StrictStr, ...] | None = None
    format: NumberFormat | None = None
    description: StrictStr | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_texts(self.null_values or ())
        if self.type == "categorical" and self.format is not None:
            raise ValueError("format goes with numbers. Leave it out")
        if self.type != "categorical" and not self.nullable:
            raise ValueError(
                "domain: discover needs nullable: true for numbers, so that every value has a code"
            )
        return self

    @property
    def declared(self) -> dict[str, Any]:
        """What stays in the column that is found."""
        kept = self.model_dump(mode="json", exclude_defaults=True, exclude={"domain"})
        return {**kept, "type": self.type, "nullable": self.nullable}


class Discovered(Part):
    """What it cost to find the domain of a column: public, and kept with the schema.

    Args:
        rho: What was charged for this column.
        delta: What its threshold takes of the promised δ.
        threshold_counts: Values with a smaller noisy count are in `other`.

    """

    rho: Annotated[FiniteFloat, Field(gt=0)]
    delta: Annotated[FiniteFloat, Field(ge=0, lt=1)] = 0.0
    threshold_counts: Annotated[int, Field(ge=1)] | None = None


def is_candidate(value: Any) -> bool:
    """Whether a value may become a category; by the value alone, whatever else is in the table.

    >>> is_candidate("north"), is_candidate(10**400), is_candidate("x" * 1000), is_candidate(True)
    (True, False, False, False)
    """
    if isinstance(value, str):
        try:
            require_texts((value,))
        except ValueError:
            return False
        return len(value) <= LONGEST_TEXT
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and -LARGEST_WHOLE <= value <= LARGEST_WHOLE
    )


@cache
def grid_edges(kind: str) -> tuple[int, ...] | tuple[float, ...]:
    """The public edges between which bounds are looked for: 0, and ±1, ±2, ±5 times powers of
    ten.
    """
    powers = _INTEGER_POWERS if kind == "integer" else _NUMBER_POWERS
    # from text, so that 0.1 is the float that people mean
    one_side = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    edges = [-edge for edge in reversed(one_side)] + [0.0] + one_side
    return tuple(int(edge) for edge in edges) if kind == "integer" else tuple(edges)


def grid_column(column: DiscoverColumn) -> dict[str, Any]:
    """The column as plain data on the public grid: every value has a code, whatever it is."""
    return {**column.declared, "edges": list(grid_edges(column.type)), "out_of_domain": "clip"}


def bounded_column(column: DiscoverColumn, low: float, high: float) -> dict[str, Any]:
    """The column as plain data between bounds that were found."""
    return {**column.declared, "min": low, "max": high, "out_of_domain": "clip"}


def listed_column(
    column: DiscoverColumn, values: Iterable[str | int], *, whole: bool
) -> dict[str, Any]:
    """The column as plain data with categories that were found; all other values go to a catch-all.

    >>> listed_column(DiscoverColumn(type="categorical"), ["b", "a"], whole=False)["other"]
    'other'
    """
    found: list[Any] = sorted(values)
    other: Any = _unused_number(found) if whole else _unused_text(found)
    if not found:
        found = [other + 1 if whole else NO_VALUE]
    return {**column.declared, "values": found, "other": other}


def _unused_text(values: list[str]) -> str:
    label = "other"
    while label in values or label == NO_VALUE:
        label = f"({label})"
    return label


def _unused_number(values: list[int]) -> int:
    taken = set(values)
    return next(label for label in count(-1, -1) if label not in taken)


def split_columns(columns: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The columns of a schema file with a declared domain, and those whose domain is to be
    found.
    """
    wanted = {
        name: column
        for name, column in columns.items()
        if isinstance(column, Mapping) and column.get("domain") == "discover"
    }
    return {name: column for name, column in columns.items() if name not in wanted}, wanted
