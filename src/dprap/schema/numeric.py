"""Integers and numbers in declared bins, and the finer histograms that decoding may follow inside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Num
from pydantic import AfterValidator, Field, FiniteFloat, StrictInt, field_validator, model_validator

from dprap.schema import bins
from dprap.schema.binned import BinnedColumn, Edges, Steps
from dprap.schema.column import INTEGER_STORAGE, Part
from dprap.schema.texts import read_number, read_whole
from dprap.schema.values import Plain, float_number, is_number_type, whole_number

Int64Bound = Annotated[StrictInt, Field(ge=-(2**62), le=2**62)]
# The distance of two bounds must be a float64 too.
_MAX_NUMBER = 8e307
_MAX_STEPS = 2**53


def _not_too_large(value: float) -> float:
    if abs(value) > _MAX_NUMBER:
        raise ValueError(f"lies beyond {_MAX_NUMBER:g}. Choose bounds that are nearer to zero")
    return value


Float64Bound = Annotated[FiniteFloat, AfterValidator(_not_too_large)]


class Histogram(Part):
    """A public, finer picture of a column: where inside its bins the values lie."""

    edges: Annotated[tuple[Float64Bound, ...], Field(min_length=2)]
    weights: Annotated[tuple[Annotated[FiniteFloat, Field(ge=0)], ...], Field(min_length=1)]


@dataclass(frozen=True)
class Cells:
    """Where decoding draws: cells that refine the bins. The cells of bin b share out the interval from b to b + 1."""

    edges: Edges
    shares: Float64[np.ndarray, "edges"]


class _Numeric(BinnedColumn):
    """Bounds and bins of integers and numbers."""

    @field_validator("width", "bins", check_fields=False)
    @classmethod
    def _positive(cls, value: float | None) -> float | None:
        if value is not None and value <= 0:
            raise ValueError("must be above 0")
        return value

    def _check_bounds(self, low: Any, high: Any, edges: Any, width: Any, count: Any, spacing: str) -> None:
        if sum(choice is not None for choice in (edges, width, count)) > 1:
            raise ValueError("takes only one of edges, width and bins")
        if edges is not None:
            if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
                raise ValueError("edges: needs at least two values in strictly increasing order")
            if (low is not None and low != edges[0]) or (high is not None and high != edges[-1]):
                raise ValueError("min and max must equal the first and last edge. Leave them out")
        elif low is None or high is None:
            raise ValueError("needs public bounds: min and max (or edges). Never take them from the data")
        elif low > high:
            raise ValueError("min is above max. Swap them")
        if spacing == "log" and (count is None or low is None or low <= 0):
            raise ValueError("spacing: log needs bins and a min above 0. Give edges where the column has zeros")

    def takes(self, kind: pa.DataType) -> bool:
        """Numbers of every type."""
        return super().takes(kind) or is_number_type(kind)

    def cells_of(self, histogram: Histogram) -> Cells:
        """The bins cut at the histogram's edges, weighted by it; a bin where it has no weight is uniform."""
        at = np.asarray(histogram.edges)
        cuts = at if self.bin_edges.dtype == np.float64 else np.ceil(np.clip(at, -(2.0**62), 2.0**62)).astype(np.int64)
        inside = cuts[(cuts > self.bin_edges[0]) & (cuts < self.bin_edges[-1])]
        edges = np.union1d(self.bin_edges, inside)
        widths = np.diff(edges).astype(np.float64)
        place = np.searchsorted(at, edges[:-1] + widths / 2, side="right") - 1
        known = (place >= 0) & (place < len(at) - 1)
        place = np.where(known, place, 0)
        with np.errstate(over="ignore"):  # a part of the histogram may be far narrower than a cell
            share = np.minimum(widths / np.diff(at)[place], 1.0)
        weights = np.asarray(known * np.asarray(histogram.weights)[place] * share, dtype=np.float64)
        steps = self.steps_between(edges)
        holds = np.ones(len(widths), dtype=bool) if steps is None else steps[0] <= steps[1]
        bin_of = np.searchsorted(self.bin_edges, edges[:-1], side="right") - 1
        weightless = np.bincount(bin_of, weights * holds, minlength=self.regular) < 1e-200
        weights = np.asarray(np.where(weightless[bin_of], widths, weights) * holds, dtype=np.float64)
        weights /= np.bincount(bin_of, weights, minlength=self.regular)[bin_of]
        starts = np.searchsorted(edges, self.bin_edges)
        running = np.concatenate([[0.0], np.cumsum(weights)])
        base, end = running[starts[:-1]][bin_of], running[starts[1:]][bin_of]
        # exactly 1 from the last cell with weight on, so that rounding never leads into another bin
        return Cells(edges, np.concatenate([[0.0], bin_of + (running[1:] - base) / (end - base)]))

    def _check_histogram(self, histogram: Histogram | None) -> None:
        if (self.decode == "histogram") != (histogram is not None):
            raise ValueError("decode: histogram and histogram: {edges, weights} go together")
        if histogram is None:
            return
        if len(histogram.weights) != len(histogram.edges) - 1 or (np.diff(histogram.edges) <= 0).any():
            raise ValueError("histogram: needs increasing edges and one weight between each two")


class Integer(_Numeric):
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
    def representative_values(self) -> Num[np.ndarray, "bins"]:
        """Declared representatives, else the middle of each bin."""
        return self.middle_steps() if self.representatives is None else np.array(self.representatives, dtype=np.int64)

    def read(self, value: Plain) -> int | None:
        """Whole numbers, of whatever type or as text."""
        return read_whole(value) if isinstance(value, str) else whole_number(value)

    def regular_label(self, code: int) -> str:
        """The integer, or the first and last integer of the bin."""
        first, last = int(self.bin_edges[code]), int(self.bin_edges[code + 1]) - 1
        return str(first) if first == last else f"{first}..{last}"


class Number(_Numeric):
    """Numbers between two public bounds, in bins of equal width, log-spaced bins or given edges.

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
    decimals: Annotated[StrictInt, Field(ge=0, le=15)] | None = None
    representatives: tuple[FiniteFloat, ...] | None = None
    histogram: Histogram | None = None

    storages = ("float64", "float32", "decimal128", "string")

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_bounds(self.min, self.max, self.edges, self.width, self.bins, self.spacing)
        if self.edges is None and self.width is None and self.bins is None:
            raise ValueError("needs bins, width or edges")
        self._check_histogram(self.histogram)
        if pa.types.is_decimal(self.arrow_type) and (self.lattice_decimals or 0) > self.arrow_type.scale:
            raise ValueError("decimals: the declared decimal storage holds fewer. Lower decimals")
        if (
            self.lattice_decimals is not None
            and np.abs(self.bin_edges).max() * 10.0**self.lattice_decimals > _MAX_STEPS
        ):
            raise ValueError("decimals: too many for bounds this large. Lower decimals")
        if self.storage == "float32" and (self.float32_bounds[0] > self.float32_bounds[1]).any():
            raise ValueError("bins are narrower than float32 can tell apart. Use fewer bins or storage: float64")
        self.check_bins()
        return self

    @property
    def lattice_decimals(self) -> int | None:
        """Decimal places of decoded values, None for any float."""
        if self.decimals is None and pa.types.is_decimal(self.arrow_type):
            return int(self.arrow_type.scale)
        return self.decimals

    @cached_property
    def bin_edges(self) -> Edges:
        """Edges among the numbers; the last one is the float after the maximum."""
        low, high = (self.edges[0], self.edges[-1]) if self.edges else (self.min or 0.0, self.max or 0.0)
        log = self.spacing == "log"
        return bins.number_edges(low, high, width=self.width, bins=self.bins, edges=self.edges, log=log)

    def steps_between(self, edges: Edges) -> tuple[Steps, Steps] | None:
        """First and last multiple of 10^-decimals between each two edges."""
        if self.lattice_decimals is None:
            return None
        scale = 10.0**self.lattice_decimals
        at = np.floor(edges * scale).astype(np.int64) - 1
        for _ in range(3):  # the product above may be off by one step either way: move up to the first step inside
            at += (at / scale) < edges
        return at[:-1], at[1:] - 1

    @cached_property
    def float32_bounds(self) -> tuple[Num[np.ndarray, "bins"], Num[np.ndarray, "bins"]]:
        """Smallest and largest float32 in each bin."""
        edges = self.bin_edges.astype(np.float32)
        up = np.where(edges.astype(np.float64) < self.bin_edges, np.nextafter(edges, np.float32(np.inf)), edges)
        return up[:-1], np.nextafter(up[1:], np.float32(-np.inf))

    @cached_property
    def representative_values(self) -> Num[np.ndarray, "bins"]:
        """Declared representatives, else the middle of each bin."""
        if self.representatives is not None:
            return np.array(self.representatives, dtype=np.float64)
        if self.lattice_decimals is not None:
            return self.middle_steps() / 10.0**self.lattice_decimals
        return self.bin_edges[:-1] + np.diff(self.bin_edges) / 2

    def read(self, value: Plain) -> float | None:
        """Numbers, of whatever type or as text, as the nearest float64."""
        return read_number(value) if isinstance(value, str) else float_number(value)

    def regular_label(self, code: int) -> str:
        """The bin as an interval; only the last one is closed."""
        last = code == self.regular - 1
        high = np.nextafter(self.bin_edges[code + 1], -np.inf) if last else self.bin_edges[code + 1]
        return f"[{self.bin_edges[code]:g}, {high:g}{']' if last else ')'}"
