"""What integers and numbers have in common: bounds, bins, and the finer histograms that decoding may follow."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64
from pydantic import AfterValidator, Field, FiniteFloat, field_validator

from dprap.schema.columns.base import Part
from dprap.schema.columns.binned import BinnedColumn, Edges
from dprap.schema.values import is_number_type

# The distance of two bounds must be a float64 too.
_MAX_NUMBER = 8e307


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
    shares: Float64[np.ndarray, " edges"]


class Numeric(BinnedColumn):
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

    def cells_by(
        self, histogram: Histogram | None, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> tuple[Edges, Int64[np.ndarray, " records"]]:
        """`draw_cells` by a histogram, if there is one: each record falls into a part of its bin by the part's weight."""
        if histogram is None:
            return self.bin_edges, positions
        cells = self.cells_of(histogram)
        # strictly below the next whole number, where the next bin starts
        at = np.minimum(positions + rng.random(len(positions)), np.nextafter(positions + 1.0, -np.inf))
        return cells.edges, np.searchsorted(cells.shares, at, side="right") - 1

    def typed_in_units(self, array: pa.Array) -> pa.Array:
        """Numbers as float64."""
        return array.cast(pa.float64(), safe=False)

    def _check_histogram(self, histogram: Histogram | None) -> None:
        if (self.decode == "histogram") != (histogram is not None):
            raise ValueError("decode: histogram and histogram: {edges, weights} go together")
        if histogram is None:
            return
        if len(histogram.weights) != len(histogram.edges) - 1 or (np.diff(histogram.edges) <= 0).any():
            raise ValueError("histogram: needs increasing edges and one weight between each two")
