"""What integers and numbers have in common: bounds and bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import field_validator

from dprap.array_types import Int64
from dprap.schema.bins import check_edges
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.interval_levels import Starts, useful_levels
from dprap.schema.number_format import NumberFormat
from dprap.schema.values import is_number_type

# Of a power of ten that a 64-bit integer holds.
_MOST_DIGITS = 18


class Numeric(BinnedColumn):
    """Bounds and bins of integers and numbers, and how they are written as text."""

    is_number = True

    format: NumberFormat | None = None

    @field_validator("width", "bins", check_fields=False)
    @classmethod
    def _positive(cls, value: float | None) -> float | None:
        if value is not None and value <= 0:
            raise ValueError("must be above 0")
        return value

    def _check_bounds(
        self, low: Any, high: Any, edges: Any, width: Any, count: Any, spacing: str
    ) -> None:
        if sum(choice is not None for choice in (edges, width, count)) > 1:
            raise ValueError("takes only one of edges, width and bins")
        if edges is not None:
            check_edges(edges)
            if (low is not None and low != edges[0]) or (high is not None and high != edges[-1]):
                raise ValueError("min and max must equal the first and last edge. Leave them out")
        elif low is None or high is None:
            raise ValueError(
                "needs public bounds: min and max (or edges). Never take them from the data"
            )
        elif low > high:
            raise ValueError("min is above max. Swap them")
        if spacing == "log" and (count is None or low is None or low <= 0):
            raise ValueError(
                "spacing: log needs bins and a min above 0. Give edges where the column has zeros"
            )

    @property
    def order_kind(self) -> str:
        """Integers and numbers alike."""
        return "number"

    def takes(self, kind: pa.DataType) -> bool:
        """Numbers of every type; text where a format says how to read it."""
        return super().takes(kind) or is_number_type(kind)

    @property
    def reads_text(self) -> bool:
        """Whether a format is declared."""
        return self.format is not None

    def plain_number(self, text: str) -> str:
        """A text as plain digits by the declared format; what is no number in it becomes the empty
        text.
        """
        return text if self.format is None else self.format.plain(text) or ""

    def typed_in_units(self, array: pa.Array) -> pa.Array:
        """Numbers as float64."""
        return array.cast(pa.float64(), safe=False)

    def starts_by_tens(self, at: Int64[np.ndarray, " points"]) -> tuple[Starts, ...]:
        """Nested intervals of the grid between round numbers, coarse to fine; `at` are its points
        as whole numbers.
        """
        span = int(at[-1]) - int(at[0])
        found: list[Starts] = []
        kept = np.arange(len(at))
        for power in range(1, min(len(str(span)), _MOST_DIGITS) + 1):
            # fine to coarse: what begins an interval begins one of each finer level too
            labels = at[kept] // 10**power
            kept = kept[np.append(True, labels[1:] != labels[:-1])]
            found.append(kept)
        return useful_levels(reversed(found), len(at))

    def value_text(self, value: float) -> str:
        """Six digits, or all of a whole number."""
        return f"{value:,.0f}" if abs(value) >= 1e5 or value == round(value) else f"{value:,.6g}"
