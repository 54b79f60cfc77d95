"""Values of columns with an order: how they are placed in bins, refined and drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from dprap.array_types import Float64, Int64, Num
from dprap.schema import arrays, bins
from dprap.schema.arrays import INT64, Positions
from dprap.schema.columns.base import BaseColumn, SqlType
from dprap.schema.columns.interval_levels import Starts
from dprap.schema.columns.shape import (
    Cells,
    Edges,
    Habits,
    Histogram,
    Steps,
    cells_of,
    check_habits,
    draw_between,
)
from dprap.schema.digits import Parsed
from dprap.schema.values import Plain, Unplaced

PLAIN_POINTS = 256
"""Up to so many points a column without bins has a code for each: a byte, and few enough to measure
one by one.
"""


class OrderedColumn(BaseColumn):
    """A column whose ordinary codes are bins in increasing order.

    `edges` are in the unit of the encoded value: the integer, the number, days or microseconds
    since 1970. Values are drawn on a lattice of steps where the column has one: integers, decimals,
    days, seconds.

    Where no bins are declared, the bins are the points of a grid. More than `PLAIN_POINTS` of them
    are too fine to be measured: a run then pays to find intervals (`is_fine`), and its release has
    the `refined` column.
    """

    decode: Literal["uniform", "representative", "histogram"] = "uniform"
    histogram: Histogram | None = None
    rounding: Habits = ()
    refine: bool | None = None

    policies = ("error", "clip", "null")
    is_ordered = True
    # how many units of `bin_edges` a day has, where the values are times
    units_per_day: ClassVar[float] = 1.0
    not_in_domain = "outside its bounds"

    @cached_property
    def bin_edges(self) -> Edges:
        """Bin i holds the values from bin_edges[i] up to, not including, bin_edges[i + 1]."""
        raise NotImplementedError

    def read(self, value: Plain) -> float | None:
        """The value in the unit of `bin_edges`, None if it is unreadable; integers of any size stay
        exact.
        """
        raise NotImplementedError

    @cached_property
    def _edge_list(self) -> list[float]:
        return list(self.bin_edges.tolist())

    def place_plain(self, value: Plain) -> int:
        """The bin of the value; outside the bounds the nearest bin under `clip`."""
        at = self.read(value)
        if at is None:
            return Unplaced.UNREADABLE
        edges = self._edge_list
        if edges[0] <= at < edges[-1]:
            return bisect_right(edges, at) - 1
        if self.policy != "clip":
            return Unplaced.OUTSIDE
        return 0 if at < edges[0] else self.regular - 1

    def into_bins(self, values: Num[np.ndarray, " records"]) -> Positions:
        """The bin of each value; the nearest one under `clip`, else OUTSIDE, where a value is
        outside the bounds.
        """
        edges = self.bin_edges
        steps = np.diff(edges[:-1])
        if len(edges) == 2:
            positions = np.zeros(len(values), dtype=np.int64)
        elif edges.dtype == np.int64 and (steps == steps[0]).all():
            # equal integer bins: a division instead of a search. Clip first, far values would
            # overflow; and after, because the last bin may be longer
            inside = np.clip(values, edges[0], edges[-1] - 1)
            positions = np.minimum((inside - edges[0]) // steps[0], len(edges) - 2)
        else:
            positions = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        if self.policy == "clip":
            return positions
        outside = (values < edges[0]) | (values >= edges[-1])
        return np.where(outside, Unplaced.OUTSIDE, positions) if outside.any() else positions

    def place_texts(self, texts: pa.Array) -> Positions:
        """Read each text and find its bin."""
        values, readable = self.parse(texts)
        positions = np.where(readable, self.into_bins(values), Unplaced.UNREADABLE)
        return arrays.with_missing(positions, arrays.nulls(texts))

    def parse(self, texts: pa.Array) -> Parsed:
        """Values in the unit of `bin_edges`, and which texts could be read.

        Nulls count as not read.

        Each is what `read` gives for its text. Integers beyond int64 are at its ends, which lie
        outside the bounds of every column.
        """
        values = np.zeros(len(texts), dtype=self.bin_edges.dtype)
        readable = np.zeros(len(texts), dtype=bool)
        is_plain = np.zeros(len(texts), dtype=bool)
        if self.plain_texts is not None:
            import pyarrow.compute as pc

            matches = pc.match_substring_regex(texts, self.plain_texts).fill_null(False)  # noqa: FBT003
            is_plain = matches.to_numpy(zero_copy_only=False)
            plain = texts if is_plain.all() else texts.filter(matches)
            values[is_plain], readable[is_plain] = self.parse_plain(plain)
        rest = np.flatnonzero(~is_plain)
        for position, text in zip(rest, arrays.decoded(texts.take(pa.array(rest))), strict=True):
            value = None if text is None else self.read(text)
            if value is not None:
                is_float = values.dtype == np.float64
                values[position] = value if is_float else min(max(value, INT64.min), INT64.max)
                readable[position] = True
        return values, readable

    @property
    def plain_texts(self) -> str | None:
        """A regular expression of the texts that `parse_plain` reads; None if each text is read
        alone.
        """
        return None

    def parse_plain(self, texts: pa.Array) -> Parsed:
        """`parse` for an array of texts that all match `plain_texts`."""
        raise NotImplementedError

    @property
    def regular(self) -> int:
        """Number of bins."""
        return len(self.bin_edges) - 1

    @property
    def has_bins(self) -> bool:
        """Whether bins are declared; else the codes are the points of a grid, in types that have
        one.
        """
        return True

    @property
    def is_fine(self) -> bool:
        """Whether a run pays to find intervals among the codes, because they are points and too
        many to measure.
        """
        if self.has_bins or self.refine is False:
            return False
        return self.regular > (1 if self.refine else PLAIN_POINTS)

    def interval_levels(self) -> tuple[Starts, ...]:
        """Nested intervals of the grid's points, between round values: from a few coarse ones down
        to the points.
        """
        raise NotImplementedError

    def refined(self, starts: Starts, histogram: Histogram | None, rounding: Habits) -> Self:
        """The column with an interval of points for each code, and the shape inside them; every
        value keeps its place.

        Args:
            starts: The first point of each interval, from 0 on.
            histogram: Where the values lie inside the intervals.
            rounding: How much likelier multiples are.
        """
        kept = {
            name: getattr(self, name)
            for name in self.model_fields_set
            if name not in ("min", "max", "unit", "refine")
        }
        shape = (
            {}
            if histogram is None
            else {"decode": "histogram", "histogram": histogram.model_dump()}
        )
        edges = (*self.bin_edges[starts].tolist(), self.last_value)
        return type(self)(**{**kept, **self.declared_edges(edges), **shape, "rounding": rounding})

    def declared_edges(self, edges: Sequence[Any]) -> dict[str, Any]:
        """The settings by which a column of this type declares edges, and the step of its grid; the
        last is the maximum.
        """
        raise NotImplementedError

    @cached_property
    def steps(self) -> tuple[Steps, Steps] | None:
        """First and last lattice step of each bin, or None where any float will do."""
        return self.steps_between(self.bin_edges)

    @property
    def lattice_step(self) -> int:
        """Decoded values are multiples of it, where they are whole numbers."""
        return 1

    def first_steps(
        self, values: Num[np.ndarray, " values"]
    ) -> Int64[np.ndarray, " values"] | None:
        """The first lattice step at or after each value, or None where any float will do."""
        return self.first_multiples(values)

    def first_multiples(self, values: Num[np.ndarray, " values"]) -> Int64[np.ndarray, " values"]:
        """The first multiple of `lattice_step` at or after each value, over `lattice_step`."""
        whole = np.ceil(values).astype(np.int64) if values.dtype == np.float64 else values
        return np.asarray(-(-whole // self.lattice_step))

    def step_values(self, steps: Num[np.ndarray, " steps"]) -> Num[np.ndarray, " steps"]:
        """Lattice steps in the unit of `bin_edges`."""
        return np.asarray(steps * self.lattice_step)

    def value_text(self, value: float) -> str:
        """Text for people: a value in the unit of `bin_edges`, such as a mean, which need not be on
        the lattice.
        """
        raise NotImplementedError

    def steps_between(self, edges: Edges) -> tuple[Steps, Steps] | None:
        """First and last lattice step between each two edges."""
        first = self.first_steps(edges)
        return None if first is None else (first[:-1], first[1:] - 1)

    @property
    def order_kind(self) -> str:
        """What values of the column can be compared with: numbers, dates, wall times or
        instants.
        """
        return self.type

    @property
    def least_values(self) -> Float64[np.ndarray, " bins"]:
        """The least value of each bin."""
        return (
            self.bin_edges[:-1] if self.steps is None else self.step_values(self.steps[0])
        ).astype(np.float64)

    @property
    def largest_values(self) -> Float64[np.ndarray, " bins"]:
        """The largest value of each bin."""
        if self.steps is not None:
            return self.step_values(self.steps[1]).astype(np.float64)
        return np.asarray(np.nextafter(self.bin_edges[1:], -np.inf), dtype=np.float64)

    @cached_property
    def representative_values(self) -> Num[np.ndarray, " bins"]:
        """The value of each bin under decode: representative, in the unit of `bin_edges`."""
        raise NotImplementedError

    @property
    def last_value(self) -> Any:
        """The last value of the last bin: the declared maximum, in the unit of `bin_edges`."""
        return self.bin_edges[-1] - 1

    def check_bins(self) -> None:
        """Raise ValueError unless bins can be built, can be decoded and survive a round trip."""
        if self.regular > bins.MAX_CODES:
            bins.refuse_too_many(self.regular)
        if self.steps is not None and (self.steps[0] > self.steps[1]).any():
            raise ValueError(
                "has a bin that holds no value at the declared precision. Use wider bins or finer"
                " values"
            )
        self._check_shape()
        declared: Any = getattr(self, "representatives", None)
        if self.decode != "representative":
            if declared is not None:
                raise ValueError("representatives are only used with decode: representative")
            return
        if declared is not None and len(declared) != self.regular:
            raise ValueError(f"representatives: needs one value per bin, {self.regular} of them")
        values = self.representative_values
        if (values < self.bin_edges[:-1]).any() or (values >= self.bin_edges[1:]).any():
            raise ValueError("representatives: each must lie in its own bin")

    def middle_steps(self) -> Steps:
        """The lattice step in the middle of each bin; only for columns that have a lattice."""
        assert self.steps is not None  # noqa: S101 - callers have a lattice
        first, last = self.steps
        return np.asarray(first + (last - first) // 2)

    def _check_shape(self) -> None:
        if self.refine and self.has_bins:
            raise ValueError("refine: true is for columns without bins. Remove the bins or refine")
        check_habits(self.rounding)
        histogram = self.histogram
        if (self.decode == "histogram") != (histogram is not None):
            raise ValueError("decode: histogram and histogram: {edges, weights} go together")
        if histogram is None:
            return
        if (
            len(histogram.weights) != len(histogram.edges) - 1
            or (np.diff(histogram.edges) <= 0).any()
        ):
            raise ValueError("histogram: needs increasing edges and one weight between each two")

    @cached_property
    def cells(self) -> Cells | None:
        """Parts of the bins with the weights of the declared histogram; None where a bin is one
        whole.
        """
        return (
            None
            if self.histogram is None
            else cells_of(self.histogram, self.bin_edges, self.steps_between)
        )

    def draw_cells(
        self, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> tuple[Edges, Int64[np.ndarray, " records"]]:
        """Edges to draw between, and for each record the cell between two of them: its bin, or a
        part of its bin.
        """
        if self.cells is None:
            return self.bin_edges, positions
        return self.cells.edges, self.cells.draw(positions, rng)

    def draw_steps(
        self, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> Int64[np.ndarray, " records"]:
        """A lattice step in the bin of each record; only for columns that have a lattice."""
        edges, cell = self.draw_cells(positions, rng)
        first, last = self.steps_between(edges) or (np.empty(0), np.empty(0))
        if (first == last).all():
            return np.asarray(first[cell])
        return draw_between(first[cell], last[cell], self.rounding, rng)

    def draw_values(
        self, positions: Int64[np.ndarray, " records"], rng: np.random.Generator
    ) -> Num[np.ndarray, " records"]:
        """A value in the bin of each record, in the unit of `bin_edges`: any on the lattice, or the
        bin's representative.
        """
        if self.decode == "representative":
            return np.asarray(self.representative_values[positions])
        return self.step_values(self.draw_steps(positions, rng))

    def as_drawn(self, values: Num[np.ndarray, " records"]) -> pa.Array:
        """Values in the unit of `bin_edges` in the Arrow type of drawn ones."""
        fixed = self.model_copy(update={"decode": "representative"})
        # the cache of that property
        fixed.__dict__["representative_values"] = values.astype(self.bin_edges.dtype)
        places = np.arange(len(values))
        if self.storage == "float32":
            kept = np.asarray(self.into_bins(values))
            low, high = self.float32_bounds  # type: ignore[attr-defined]
            return pa.array(np.clip(values.astype(np.float32), low[kept], high[kept]))
        return fixed.draw(places, np.zeros(len(values), dtype=bool), np.random.default_rng(0))

    def in_units(self, array: pa.Array) -> Num[np.ndarray, " records"]:
        """Decoded values in the unit of `bin_edges`; anything for null."""
        if pa.types.is_string(array.type):
            return self.parse(array)[0]
        return np.asarray(self.typed_in_units(array).fill_null(0).to_numpy(zero_copy_only=False))

    def typed_in_units(self, array: pa.Array) -> pa.Array:
        """`in_units` for values that are not text, as an Arrow array."""
        raise NotImplementedError

    @property
    def edge_type(self) -> SqlType:
        """The SQL type of the edges."""
        return next(iter(self.sql_types.values()))

    def edge_text(self, edge: Any) -> str:
        """An edge as a database reads it back, to the last bit."""
        return str(int(edge))
