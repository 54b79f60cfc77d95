"""Columns with an order, put into declared bins: what integers, numbers, dates and instants have in common."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64, Num

from dprap.schema import bins
from dprap.schema.column import BaseColumn
from dprap.schema.values import Plain, Unplaced

Edges = Num[np.ndarray, "edges"]
Steps = Int64[np.ndarray, "bins"]


class BinnedColumn(BaseColumn):
    """A column whose ordinary codes are bins in increasing order.

    `edges` are in the unit of the encoded value: the integer, the number, days or microseconds since 1970.
    Values are drawn on a lattice of steps where the column has one: integers, decimals, days, seconds.
    """

    decode: Literal["uniform", "representative", "histogram"] = "uniform"

    policies = ("error", "clip", "null")

    @cached_property
    def bin_edges(self) -> Edges:
        """Bin i holds the values from bin_edges[i] up to, not including, bin_edges[i + 1]."""
        raise NotImplementedError

    def read(self, value: Plain) -> float | None:
        """The value in the unit of `bin_edges`, None if it is unreadable; integers of any size stay exact."""
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

    @property
    def regular(self) -> int:
        """Number of bins."""
        return len(self.bin_edges) - 1

    @cached_property
    def steps(self) -> tuple[Steps, Steps] | None:
        """First and last lattice step of each bin, or None where any float will do."""
        return self.steps_between(self.bin_edges)

    def steps_between(self, edges: Edges) -> tuple[Steps, Steps] | None:
        """First and last lattice step between each two edges."""
        return edges[:-1], edges[1:] - 1

    @cached_property
    def representative_values(self) -> Num[np.ndarray, "bins"]:
        """The value of each bin under decode: representative, in the unit of `bin_edges`."""
        raise NotImplementedError

    def check_bins(self) -> None:
        """Raise ValueError unless bins can be built, can be decoded and survive a round trip."""
        if self.regular > bins.MAX_CODES:
            bins.refuse_too_many(self.regular)
        if self.steps is not None and (self.steps[0] > self.steps[1]).any():
            raise ValueError("has a bin that holds no value at the declared precision. Use wider bins or finer values")
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
