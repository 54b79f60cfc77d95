"""Numbers between two public bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, FiniteFloat, StrictInt, model_validator

from dprap.array_types import Float64, Int64, Num
from dprap.errors import WorkloadError
from dprap.schema import arrays, bins
from dprap.schema.arrays import Mask, Positions
from dprap.schema.columns.base import DatabaseKind, SqlType
from dprap.schema.columns.interval_levels import Starts
from dprap.schema.columns.numeric import Numeric
from dprap.schema.columns.shape import Edges, Float64Bound
from dprap.schema.digits import PLAIN_NUMBER, Parsed, cast_numbers
from dprap.schema.number_format import number_texts
from dprap.schema.texts import read_number
from dprap.schema.value_sets import Interval, ValueSet
from dprap.schema.values import Plain, float_number

_MAX_STEPS = 2**53
# Python's own reader takes the digits of every script, underscores and blanks: a question is read
# as it looks.
_LITERAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


class Number(Numeric):
    """Numbers between two public bounds: a fine grid, or bins of equal width, log-spaced bins or
    given edges.

    The grid has the declared decimals, or as many as `bins.MAX_CODES` values allow. A value between
    two points of the grid counts as the one below.

    >>> Number(type="number", min=1, max=10_000, bins=4, spacing="log").label(1)
    '[10, 100)'
    """

    type: Literal["number"]
    min: Float64Bound | None = None
    max: Float64Bound | None = None
    width: Float64Bound | None = None
    bins: StrictInt | None = None
    edges: tuple[Float64Bound, ...] | None = None
    spacing: Literal["equal", "log"] = "equal"
    decimals: Annotated[StrictInt, Field(ge=-300, le=15)] | None = None
    representatives: tuple[FiniteFloat, ...] | None = None

    storages = ("float64", "float32", "decimal128", "string")
    sql_types: ClassVar[Mapping[DatabaseKind, SqlType]] = {
        "integer": "float8",
        "float": "float8",
        "decimal": "float8",
    }
    not_readable = "are not numbers"

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_bounds(self.min, self.max, self.edges, self.width, self.bins, self.spacing)
        if (
            pa.types.is_decimal(self.arrow_type)
            and (self.lattice_decimals or 0) > self.arrow_type.scale
        ):
            raise ValueError("decimals: the declared decimal storage holds fewer. Lower decimals")
        if (
            self.lattice_decimals is not None
            # infinite is larger
            and float(np.abs(self.bin_edges).max()) * 10.0**self.lattice_decimals > _MAX_STEPS
        ):
            raise ValueError("decimals: too many for bounds this large. Lower decimals")
        if self.storage == "float32" and (self.float32_bounds[0] > self.float32_bounds[1]).any():
            raise ValueError(
                "bins are narrower than float32 can tell apart. Use fewer bins or storage: float64"
            )
        self.check_bins()
        return self

    @property
    def lattice_decimals(self) -> int | None:
        """Decimal places of decoded values, below 0 for tens and hundreds; None for any float."""
        if not self.has_bins:
            return bins.number_grid_decimals(
                self.min or 0.0, self.max or 0.0, self._declared_decimals
            )
        return self._declared_decimals

    @property
    def _declared_decimals(self) -> int | None:
        if self.decimals is None and pa.types.is_decimal(self.arrow_type):
            return int(self.arrow_type.scale)
        return self.decimals

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges among the numbers; the last one is the float after the maximum."""
        low, high = (
            (self.edges[0], self.edges[-1]) if self.edges else (self.min or 0.0, self.max or 0.0)
        )
        if not self.has_bins:
            return bins.number_grid(low, high, self.lattice_decimals or 0)
        log = self.spacing == "log"
        return bins.number_edges(
            low, high, width=self.width, bins=self.bins, edges=self.edges, log=log
        )

    @property
    def has_bins(self) -> bool:
        """Whether edges, a width or a number of bins is declared."""
        return (self.edges, self.width, self.bins) != (None, None, None)

    def first_steps(
        self, values: Num[np.ndarray, " values"]
    ) -> Int64[np.ndarray, " values"] | None:
        """The first multiple of 10^-decimals at or after each value."""
        decimals = self.lattice_decimals
        if decimals is None:
            return None
        at = np.floor(values * 10.0**decimals).astype(np.int64) - 1
        # the product above may be off by one step either way: move up to the first step inside
        for _ in range(3):
            at += bins.at_decimals(at, decimals) < values
        return np.asarray(at)

    def step_values(self, steps: Num[np.ndarray, " steps"]) -> Num[np.ndarray, " steps"]:
        """Multiples of 10^-decimals."""
        return bins.at_decimals(steps, self.lattice_decimals or 0)

    def interval_levels(self) -> tuple[Starts, ...]:
        """Intervals between multiples of powers of ten."""
        return self.starts_by_tens(np.asarray(self.first_steps(self.bin_edges[:-1])))

    def declared_edges(self, edges: Sequence[Any]) -> dict[str, Any]:
        """Edges, and the decimals of the grid."""
        return {"edges": tuple(map(float, edges)), "decimals": self.lattice_decimals}

    @cached_property
    def float32_bounds(self) -> tuple[Num[np.ndarray, " bins"], Num[np.ndarray, " bins"]]:
        """Smallest and largest float32 in each bin."""
        edges = self.bin_edges.astype(np.float32)
        up = np.where(
            edges.astype(np.float64) < self.bin_edges,
            np.nextafter(edges, np.float32(np.inf)),
            edges,
        )
        return up[:-1], np.nextafter(up[1:], np.float32(-np.inf))

    @cached_property
    def representative_values(self) -> Num[np.ndarray, " bins"]:
        """Declared representatives, else the middle of each bin."""
        if self.representatives is not None:
            return np.array(self.representatives, dtype=np.float64)
        if self.lattice_decimals is not None:
            return bins.at_decimals(self.middle_steps(), self.lattice_decimals)
        return self.bin_edges[:-1] + np.diff(self.bin_edges) / 2

    def read(self, value: Plain) -> float | None:
        """Numbers, of whatever type or as text, as the nearest float64."""
        return (
            read_number(self.plain_number(value)) if isinstance(value, str) else float_number(value)
        )

    def place_array(self, array: pa.Array) -> Positions:
        """The bins of the nearest float64."""
        return arrays.place_floats(array, self.into_bins, self.place)

    @property
    def plain_texts(self) -> str | None:
        """Digits, with or without a minus and a point, unless the column has a format of its
        own.
        """
        return PLAIN_NUMBER if self.format is None else None

    def parse_plain(self, texts: pa.Array) -> Parsed:
        """Decimal numbers."""
        return cast_numbers(texts, pa.float64())

    def draw(
        self, positions: Int64[np.ndarray, " records"], is_null: Mask, rng: np.random.Generator
    ) -> pa.Array:
        """A number of each bin, at the declared precision: any, or its representative."""
        decimals = self.lattice_decimals
        kind = self.arrow_type
        if decimals is not None and self.decode != "representative":
            steps = self.draw_steps(positions, rng)
            if pa.types.is_decimal(kind):
                return _decimals(steps * 10 ** (kind.scale - decimals), is_null, kind)
            values = bins.at_decimals(steps, decimals)
        elif self.decode == "representative":
            values = self.representative_values[positions]
        else:
            values = self._draw_floats(positions, rng)
        if pa.types.is_decimal(kind):
            return _decimals(np.rint(values * 10.0**kind.scale).astype(np.int64), is_null, kind)
        if kind == pa.float32():
            low, high = self.float32_bounds
            values = np.clip(values.astype(np.float32), low[positions], high[positions])
        result = pa.array(values, mask=is_null)
        return number_texts(result, decimals, self.format) if pa.types.is_string(kind) else result

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Numbers that read back as the same float64, or in the declared format."""
        plain = super().as_csv(array)
        if self.format is None or pa.types.is_string(array.type):
            return plain
        return number_texts(plain, self.lattice_decimals, self.format)

    def _draw_floats(
        self, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> Float64[np.ndarray, " records"]:
        edges, cell = self.draw_cells(positions, rng)
        low, high = edges[cell], edges[cell + 1]
        # rounding may reach the upper edge, which belongs to the next bin
        return np.asarray(
            np.clip(
                low + rng.random(len(positions)) * (high - low), low, np.nextafter(high, -np.inf)
            )
        )

    @property
    def last_value(self) -> Any:
        """The declared maximum: the float before the last edge."""
        return np.nextafter(self.bin_edges[-1], -np.inf)

    def edge_text(self, edge: Any) -> str:
        """The shortest digits that give the same float64."""
        return repr(float(edge))

    def read_declared(self, value: Any) -> float | None:
        """A number."""
        return float(value) if type(value) in (int, float) else None

    def end_of_range(self, last: float) -> float:
        """A range of numbers ends at an edge, which belongs to the next bin; the declared maximum
        ends the last one.
        """
        return float(self.bin_edges[-1]) if last >= self.last_value else last

    def literal(self, name: str, text: str) -> Interval:
        """A number, and the next one at the declared precision; the same one where there is
        none.
        """
        value = float(text) if _LITERAL.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise WorkloadError(f"column {name!r} holds numbers; {text!r} is none.")
        decimals = self.lattice_decimals
        return value, value if decimals is None else value + 10.0**-decimals

    def equal(self, name: str, text: str) -> ValueSet:
        """One value, where the column has a declared precision."""
        low, high = self.literal(name, text)
        if low == high:
            raise WorkloadError(
                f"column {name!r} holds numbers in bins, so ask for a range: {name} in low..high."
            )
        return super().equal(name, text)

    @property
    def span(self) -> str:
        """The bounds."""
        return f"{self.bin_edges[0]:g}..{self.last_value:g}"

    def regular_label(self, code: int) -> str:
        """The value of a bin that holds one, else the bin as an interval; only the last one is
        closed.
        """
        if not self.has_bins or self.histogram is not None:
            first, last_step = self.steps or (np.zeros(self.regular), np.ones(self.regular))
            if first[code] == last_step[code]:
                return f"{bins.at_decimals(first[code], self.lattice_decimals or 0):.12g}"
        last = code == self.regular - 1
        high = self.last_value if last else self.bin_edges[code + 1]
        return f"[{self.bin_edges[code]:.12g}, {high:.12g}{']' if last else ')'}"


def _decimals(
    unscaled: Int64[np.ndarray, " records"], is_null: Mask, kind: pa.DataType
) -> pa.Array:
    """Decimals from their unscaled integers: Arrow keeps each as 128 bits, low half first."""
    words = np.stack([unscaled, unscaled >> 63], axis=1)
    validity = pa.array(~is_null).buffers()[1]
    return pa.Array.from_buffers(kind, len(unscaled), [validity, pa.py_buffer(words.tobytes())])
