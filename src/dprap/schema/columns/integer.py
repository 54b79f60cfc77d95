"""Whole numbers between two public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from jaxtyping import Int64, Num
from pydantic import Field, StrictInt, model_validator

from dprap.schema import arrays, bins
from dprap.schema.arrays import Mask, Positions
from dprap.schema.columns.base import INTEGER_STORAGE, DatabaseKind, SqlType
from dprap.schema.columns.binned import Edges
from dprap.schema.columns.numeric import Histogram, Numeric
from dprap.schema.digits import PLAIN_WHOLE, Parsed, cast_numbers
from dprap.schema.texts import read_whole
from dprap.schema.value_sets import Interval, whole_literal
from dprap.schema.values import Plain, whole_number

Int64Bound = Annotated[StrictInt, Field(ge=-(2**62), le=2**62)]


class Integer(Numeric):
    """Whole numbers between two public bounds; one code each, or bins by width, number or edges.

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
    representatives: tuple[Int64Bound, ...] | None = None
    histogram: Histogram | None = None

    storages = ("int64", *INTEGER_STORAGE, "float64", "float32", "decimal128", "string")
    sql_types: ClassVar[Mapping[DatabaseKind, SqlType]] = {"integer": "int8", "float": "int8", "decimal": "int8"}
    not_readable = "are not whole numbers"

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_bounds(self.min, self.max, self.edges, self.width, self.bins, self.spacing)
        self._check_histogram(self.histogram)
        self.check_bins()
        if pa.types.is_decimal(self.arrow_type) and self.arrow_type.scale == 0 and self.arrow_type.precision > 18:
            raise ValueError("storage: whole decimals have at most 18 digits. Use decimal128(18, 0) or int64")
        if self.storage != "string":
            try:
                # From a buffer: a scalar or an array of Python numbers would load pandas, where it is installed.
                bounds = np.array([int(self.bin_edges[0]), int(self.bin_edges[-1] - 1)], dtype=np.int64)
                pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(bounds)]).cast(self.arrow_type)
            except pa.ArrowInvalid:
                raise ValueError("storage is too small for the declared bounds. Choose a wider type") from None
        return self

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges among the integers."""
        low, high = (self.edges[0], self.edges[-1]) if self.edges else (self.min or 0, self.max or 0)
        log = self.spacing == "log"
        return bins.integer_edges(low, high, width=self.width, bins=self.bins, edges=self.edges, log=log)

    @cached_property
    def representative_values(self) -> Num[np.ndarray, " bins"]:
        """Declared representatives, else the middle of each bin."""
        return self.middle_steps() if self.representatives is None else np.array(self.representatives, dtype=np.int64)

    def read(self, value: Plain) -> int | None:
        """Whole numbers, of whatever type or as text."""
        return read_whole(value) if isinstance(value, str) else whole_number(value)

    def place_array(self, array: pa.Array) -> Positions:
        """The bins of numbers that are whole."""
        return arrays.place_whole_numbers(array, lambda values, _: self.into_bins(values), self.place)

    @property
    def plain_texts(self) -> str | None:
        """Digits with or without a minus."""
        return PLAIN_WHOLE

    def parse_plain(self, texts: pa.Array) -> Parsed:
        """Whole numbers."""
        return cast_numbers(texts, pa.int64())

    def draw_cells(
        self, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> tuple[Edges, Int64[np.ndarray, " records"]]:
        """Bins, or parts of them that the declared histogram picks."""
        return self.cells_by(self.histogram, positions, rng)

    def draw(self, positions: Int64[np.ndarray, " records"], is_null: Mask, rng: np.random.Generator) -> pa.Array:
        """An integer of each bin: any, or its representative."""
        is_fixed = self.decode == "representative"
        values = self.representative_values[positions] if is_fixed else self.draw_steps(positions, rng)
        return pa.array(values, pa.int64(), mask=is_null).cast(self.arrow_type)

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Integers as integers: 20000000000, not 2e+10."""
        return array.cast(pa.int64()) if pa.types.is_floating(array.type) else array

    def read_declared(self, value: Any) -> int | None:
        """An integer."""
        return value if type(value) is int else None

    def literal(self, name: str, text: str) -> Interval:
        """An integer, and the next one."""
        return whole_literal(name, text)

    def regular_label(self, code: int) -> str:
        """The integer, or the first and last integer of the bin."""
        first, last = int(self.bin_edges[code]), int(self.bin_edges[code + 1]) - 1
        return str(first) if first == last else f"{first}..{last}"
