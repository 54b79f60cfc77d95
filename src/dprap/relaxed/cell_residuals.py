"""How many records too many there are in each cell of some marginals, and what exchanges of codes
do to that.

All marginals stand end to end in one array, so that those with as many columns are looked at
together: one by one, calls would take most of the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from dprap.array_types import CodeColumn, Float32, Int64
from dprap.counting import Tally
from dprap.counting.passes import Pass, plan_passes
from dprap.queries import Marginal
from dprap.relaxed.marginals import cell_table
from dprap.relaxed.rows import RelaxedDataset

# Pairs of records times marginals that are looked at together: arrays of 1 MB.
_TOGETHER = 1 << 17

Cells = Int64[np.ndarray, "marginals 2 pairs"]
PairCodes = Int64[np.ndarray, "columns 2 pairs"]
"""Codes of pairs of records, in some columns: of the one record and of the other."""


class CellResiduals:
    """Counts of marginals minus their expectation, end to end in `of_cells`."""

    def __init__(self, relaxed: RelaxedDataset, marginals: Sequence[tuple[str, ...]]) -> None:
        self._domain = relaxed.domain
        tables = {
            Marginal(columns): cell_table(relaxed, columns).reshape(-1) for columns in marginals
        }
        starts = accumulate((len(table) for table in tables.values()), initial=0)
        self._start_of = dict(zip(tables, starts, strict=False))
        self._shares = np.concatenate([np.empty(0, np.float32), *tables.values()])
        self._passes: list[Pass] | None = None
        self.of_cells: Float32[np.ndarray, " cells"] = np.zeros(len(self._shares), np.float32)

    def add(self, records: Sequence[CodeColumn], count: int) -> None:
        """Count more records, of which `count · share` were expected in each cell."""
        if self._passes is None:
            self._passes = list(plan_passes(self._domain, list(self._start_of), rows=count))
        for plan in self._passes:
            tally = Tally(self._domain, plan)
            tally.add(records)
            for marginal, counts in tally.results():
                start = self._start_of[marginal]
                cells = slice(start, start + counts.size)
                expected = count * self._shares[cells].astype(np.float64)
                self.of_cells[cells] += (counts.dense() - expected).astype(np.float32)

    def looks(self) -> dict[int, list[Looks]]:
        """For the position of each column, the marginals that have it."""
        shapes: dict[int, dict[int, list[tuple[int, ...]]]] = {}
        for marginal, start in self._start_of.items():
            shape, positions = (
                marginal.shape(self._domain),
                map(self._domain.position, marginal.columns),
            )
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
            places = list(zip(positions, strides, strict=True))
            for place in places:
                others = (number for other in places if other != place for number in other)
                shapes.setdefault(place[0], {}).setdefault(len(shape), []).append(
                    (start, place[1], *others)
                )
        return {
            position: [Looks.of(position, np.array(tables)) for tables in by_length.values()]
            for position, by_length in shapes.items()
        }


@dataclass(frozen=True)
class Looks:
    """Marginals with as many columns that have one column, in which codes are exchanged.

    `starts` say where each begins, `strides` how far apart cells of neighbouring codes of that
    column are; `others` and `strides_of_others` are the other columns and their strides. Columns
    are named by their places among the codes that are handed over: by their positions, until
    `among` says which columns these are.
    """

    place: int
    starts: Int64[np.ndarray, "marginals 1 1"]
    strides: Int64[np.ndarray, "marginals 1 1"]
    others: Int64[np.ndarray, "others marginals"]
    strides_of_others: tuple[Int64[np.ndarray, "marginals 1 1"], ...]

    @classmethod
    def of(cls, position: int, tables: Int64[np.ndarray, "marginals numbers"]) -> Looks:
        """From start and stride of each marginal, and then position and stride of each other
        column.
        """
        return cls(
            position,
            tables[:, 0, None, None],
            tables[:, 1, None, None],
            tables[:, 2::2].T,
            tuple(strides[:, None, None] for strides in tables[:, 3::2].T),
        )

    def among(self, columns: Sequence[int]) -> Looks:
        """The same where codes of these columns alone are handed over, in this order."""
        places = np.asarray(columns)
        return replace(
            self,
            place=int(np.searchsorted(places, self.place)),
            others=np.searchsorted(places, self.others),
        )

    def parts(self, pairs: int) -> Iterator[Looks]:
        """The marginals in parts that are looked at together."""
        some = max(1, _TOGETHER // max(1, pairs))
        if some >= len(self.starts):
            yield self
            return
        for start in range(0, len(self.starts), some):
            part = slice(start, start + some)
            strides_of_others = tuple(strides[part] for strides in self.strides_of_others)
            yield Looks(
                self.place,
                self.starts[part],
                self.strides[part],
                self.others[:, part],
                strides_of_others,
            )

    def gain(
        self, of_cells: Float32[np.ndarray, " cells"], codes: PairCodes
    ) -> Float32[np.ndarray, " pairs"]:
        """Half of what the sum of squares loses: two cells give a record, two others take one."""
        rest = self._rest(codes)
        code = codes[self.place] * self.strides
        left, entered = of_cells[rest + code], of_cells[rest + code[:, ::-1]]
        change = left[:, 0] + left[:, 1]
        change -= entered[:, 0]
        change -= entered[:, 1]
        change -= np.float32(2)
        change[rest[:, 0] == rest[:, 1]] = 0
        gain: Float32[np.ndarray, " pairs"] = change.sum(axis=0)
        return gain

    def make(self, of_cells: Float32[np.ndarray, " cells"], codes: PairCodes) -> None:
        """Count exchanges that were made: each record leaves a cell and enters another."""
        rest = self._rest(codes)
        code = codes[self.place] * self.strides
        np.subtract.at(of_cells, (rest + code).ravel(), np.float32(1))
        np.add.at(of_cells, (rest + code[:, ::-1]).ravel(), np.float32(1))

    def _rest(self, codes: PairCodes) -> Cells:
        """Cells of records as if the column in which codes are exchanged had code 0."""
        cells = self.starts
        for places, strides in zip(self.others, self.strides_of_others, strict=True):
            cells = cells + codes[places] * strides
        return cells
