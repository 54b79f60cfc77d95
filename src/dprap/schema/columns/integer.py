"""Whole numbers between two public bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, StrictInt, model_validator

from dprap.array_types import Int64, Num
from dprap.schema import arrays, bins
from dprap.schema.arrays import Mask, Positions
from dprap.schema.columns.base import INTEGER_STORAGE, DatabaseKind, SqlType
from dprap.schema.columns.interval_levels import Starts
from dprap.schema.columns.numeric import Numeric
from dprap.schema.columns.shape import Edges
from dprap.schema.digits import PLAIN_WHOLE, Parsed, cast_numbers
from dprap.schema.number_format import number_texts, whole_texts
from dprap.schema.texts import read_whole
from dprap.schema.value_sets import Interval, whole_literal
from dprap.schema.values import Plain, whole_number

Int64Bound = Annotated[StrictInt, Field(ge=-(2**62), le=2**62)]


class Integer(Numeric):
    """Whole numbers between two public bounds; one code each, or bins by width, number or edges.

    `step` says that all of them are multiples of a number; without it a column without bins has a
    step above 1 where there are too many integers for one code each.

    >>> Integer(type="integer", min=0, max=120, width=10).size
    13
    """

    type: Literal["integer"]
    min: Int64Bound | None = None
    max: Int64Bound | None = None
    width: StrictInt | None = None
    bins: StrictInt | None = None
    edges: tuple[Int64Bound, ...] | None = None
    spacing: Literal["equal", "log"] = "equal"
    step: Annotated[StrictInt, Field(ge=1, le=2**62)] | None = None
    representatives: tuple[Int64Bound, ...] | None = None

    storages = ("int64", *INTEGER_STORAGE, "float64", "float32", "decimal128", "string")
    sql_types: ClassVar[Mapping[DatabaseKind, SqlType]] = {
        "integer": "int8",
        "float": "int8",
        "decimal": "int8",
    }
    not_readable = "are not whole numbers"

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_bounds(self.min, self.max, self.edges, self.width, self.bins, self.spacing)
        self.check_bins()
        if (
            pa.types.is_decimal(self.arrow_type)
            and self.arrow_type.scale == 0
            and self.arrow_type.precision > 18
        ):
            raise ValueError(
                "storage: whole decimals have at most 18 digits. Use decimal128(18, 0) or int64"
            )
        low, high = int(self.bin_edges[0]), int(self.bin_edges[-1] - 1)
        if self.storage != "string" and not arrays.holds(self.arrow_type, low, high):
            raise ValueError("storage is too small for the declared bounds. Choose a wider type")
        return self

    @property
    def has_bins(self) -> bool:
        """Whether edges, a width or a number of bins is declared."""
        return (self.edges, self.width, self.bins) != (None, None, None)

    @cached_property
    def lattice_step(self) -> int:
        """Decoded values are multiples of it."""
        if self.step is None and not self.has_bins:
            return bins.integer_grid_step(self.min or 0, self.max or 0)
        return self.step or 1

    def interval_levels(self) -> tuple[Starts, ...]:
        """Intervals between multiples of powers of ten."""
        return self.starts_by_tens(self.first_multiples(self.bin_edges[:-1]) * self.lattice_step)

    def declared_edges(self, edges: Sequence[Any]) -> dict[str, Any]:
        """Edges, and the step of the grid where it is not 1."""
        return {
            "edges": tuple(map(int, edges)),
            "step": None if self.lattice_step == 1 else self.lattice_step,
        }

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges among the integers."""
        low, high = (
            (self.edges[0], self.edges[-1]) if self.edges else (self.min or 0, self.max or 0)
        )
        if not self.has_bins:
            return bins.integer_grid(low, high, self.lattice_step)
        log = self.spacing == "log"
        return bins.integer_edges(
            low, high, width=self.width, bins=self.bins, edges=self.edges, log=log
        )

    @cached_property
    def representative_values(self) -> Num[np.ndarray, " bins"]:
        """Declared representatives, else the middle of each bin."""
        if self.representatives is None:
            return self.step_values(self.middle_steps())
        return np.array(self.representatives, dtype=np.int64)

    def read(self, value: Plain) -> int | None:
        """Whole numbers, of whatever type or as text."""
        return (
            read_whole(self.plain_number(value)) if isinstance(value, str) else whole_number(value)
        )

    def place_array(self, array: pa.Array) -> Positions:
        """The bins of numbers that are whole."""
        return arrays.place_whole_numbers(
            array, lambda values, _: self.into_bins(values), self.place
        )

    @property
    def plain_texts(self) -> str | None:
        """Digits with or without a minus, unless the column has a format of its own."""
        return PLAIN_WHOLE if self.format is None else None

    def parse_plain(self, texts: pa.Array) -> Parsed:
        """Whole numbers."""
        return cast_numbers(texts, pa.int64())

    def draw(
        self, positions: Int64[np.ndarray, " records"], is_null: Mask, rng: np.random.Generator
    ) -> pa.Array:
        """An integer of each bin: any, or its representative."""
        values = self.draw_values(positions, rng)
        if self.format is not None and self.storage == "string":
            return whole_texts(values, is_null, self.format)
        return arrays.whole_numbers(pa.array(values, pa.int64(), mask=is_null), self.arrow_type)

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Integers as integers: 20000000000, not 2e+10; or in the declared format."""
        if self.format is not None and not pa.types.is_string(array.type):
            return number_texts(array.cast(pa.int64()), None, self.format)
        return array.cast(pa.int64()) if pa.types.is_floating(array.type) else array

    def read_declared(self, value: Any) -> int | None:
        """An integer."""
        return value if type(value) is int else None

    def literal(self, name: str, text: str) -> Interval:
        """An integer, and the next one."""
        return whole_literal(name, text)

    def regular_label(self, code: int) -> str:
        """The integer, or the first and last integer of the bin."""
        steps = self.first_multiples(self.bin_edges[code : code + 2])
        first, last = int(steps[0]) * self.lattice_step, (int(steps[1]) - 1) * self.lattice_step
        return str(first) if first == last else f"{first}..{last}"
