"""Exact answers on the private table, computed once and kept on the private side.

Nothing here is noisy; nothing may leave.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from dprap.array_types import CodeColumn, Counts, Int32, Int64, NarrowCounts
from dprap.counting.cells import CellCounts, narrowed
from dprap.counting.sums import summed_out
from dprap.errors import SettingsError, WorkloadError
from dprap.queries import GRID, CellFamily, Custom, Family, Halfspace, Marginal, from_cells
from dprap.sources import CountSource, RowSource


class ExactAnswers:
    """A cache of exact counts in front of a source."""

    def __init__(self, source: CountSource) -> None:
        self._source = source
        self._domain = source.domain
        self._tables: dict[Marginal, CellCounts] = {}
        # For each column, which of the counted marginals have it, by their places.
        self._with_column: dict[str, array[int]] = {name: array("q") for name in self._domain}
        self._counted: list[Marginal] = []
        # How many counts each of them has; a list of marginals would have to be hashed for that.
        self._lengths = array("q")
        self._sums_of_counted: set[Marginal] = set()
        self._grouped: dict[Marginal, Counts | NarrowCounts] = {}
        self._sums: dict[Custom | Halfspace, Counts] = {}

    def prepare(self, families: Sequence[Family]) -> None:
        """Count everything these families need, in one pass over the table; none where known counts
        add up to it.
        """
        wanted = [
            (
                family
                if isinstance(family, Marginal) and family.groups is None
                else Marginal(family.columns)
            )
            for family in families
            if from_cells(family, self._domain)
        ]
        missing = {
            marginal: None
            for marginal in wanted
            if not self._is_known(marginal) and not len(self._wider(marginal))
        }
        if missing:
            counted = self._source.count(list(missing))
            for place, marginal in enumerate(missing):
                self._tables[marginal] = counted[place].narrow()
                self._lengths.append(len(counted[place].counts))
            for place, marginal in enumerate(missing, start=len(self._counted)):
                for name in marginal.columns:
                    self._with_column[name].append(place)
            self._counted.extend(missing)
        self._sums_of_counted.update(each for each in wanted if each not in self._tables)
        for family in families:
            if isinstance(family, Custom | Halfspace) and family not in self._sums:
                self._sums[family] = self._summed(family)

    def _is_known(self, marginal: Marginal) -> bool:
        """Whether a marginal was counted, or is a sum of one that was."""
        return marginal in self._tables or marginal in self._sums_of_counted

    def _wider(self, marginal: Marginal) -> Int64[np.ndarray, " places"]:
        """What was counted over these columns and others, by places."""
        if not marginal.columns:
            return np.arange(len(self._counted))
        having = [self._with_column[name] for name in marginal.columns]
        if not all(having):
            return np.empty(0, np.int64)
        return np.asarray(reduce(_in_both, map(np.array, having)))

    def _table(self, marginal: Marginal, *, keep: bool = True) -> CellCounts:
        """Counts over single codes, known or summed from what is; `keep` remembers the sum."""
        if marginal in self._tables:
            return self._tables[marginal]
        wider = self._wider(marginal)
        # Sums are the same whichever is taken.
        smallest = self._counted[wider[np.argmin(np.asarray(self._lengths)[wider])]]
        table = summed_out(self._domain, self._tables[smallest], smallest, marginal)
        if keep:
            self._tables[marginal] = table.narrow()
        return table

    def marginal(self, marginal: Marginal) -> Counts:
        """Counts of all cells of a marginal, with groups or without."""
        if marginal.groups is None:
            if marginal not in self._tables:
                self.prepare([marginal])
            return self._table(marginal).dense()
        if marginal not in self._grouped:
            self.prepare([marginal])
            # once more: each code lies in one group
            checked = Marginal(marginal.columns, marginal.groups)
            checked.shape(self._domain)
            self._grouped[marginal] = narrowed(self._of_cells(checked, keep=False))
        return self._grouped[marginal].astype(np.int64, copy=False)

    def rows(
        self, marginals: Sequence[Marginal]
    ) -> Int64[np.ndarray, "some cells"] | Int32[np.ndarray, "some cells"]:
        """Counts of marginals with as many cells, a row for each; from then on they are kept as
        these rows, which must not be changed.
        """
        counts = [self.marginal(marginal) for marginal in marginals]
        if len({each.size for each in counts}) != 1:
            raise SettingsError(
                "marginals in rows of one array must have as many cells as each other."
            )
        rows = narrowed(np.stack(counts))
        for marginal, row in zip(marginals, rows, strict=True):
            if marginal.groups is None:
                self._tables[marginal] = CellCounts(row.size, row)
            else:
                self._grouped[marginal] = row
        return rows

    def family(self, family: Family) -> tuple[Counts, int]:
        """Answers of all queries of a family as integers, and the integer that stands for one
        record.
        """
        if family not in self._tables:
            self.prepare([family])
        if isinstance(family, Custom | Halfspace):
            return self._sums[family], GRID if isinstance(family, Custom) else 1
        return self.marginal(family) if isinstance(family, Marginal) else self._of_cells(family), 1

    def _of_cells(self, family: CellFamily, *, keep: bool = True) -> Counts:
        """Answers of a family that is a linear map of the cells over its columns."""
        table = self._table(Marginal(family.columns), keep=keep).dense()
        shaped = table.reshape(self._domain.shape_of(family.columns))
        return np.asarray(family.answers(shaped), dtype=np.int64).ravel()

    def _summed(self, family: Custom | Halfspace) -> Counts:
        if isinstance(family, Halfspace):
            return self._counted_records(family)
        return (
            self._summed_cells(family)
            if from_cells(family, self._domain)
            else self._summed_records(family)
        )

    def _summed_cells(self, family: Custom) -> Counts:
        """Σ over cells of count · value of the cell on the grid.

        The table of values was made from the domain alone. So which value the user's function has
        at a cell cannot depend on the data, nor can an error that it raises. Sources that only
        count will do.
        """
        # Clipped here as well: the sensitivity must not rest on another module.
        table = np.clip(family.table(self._domain), 0, GRID)
        return np.asarray(self._table(Marginal(family.columns)).dense() @ table.astype(np.int64))

    def _summed_records(self, family: Custom) -> Counts:
        """Σ over records of their contributions.

        Rests on the compiled function having the same value for the same record wherever it stands
        in a block of fixed shape, which XLA gives for functions of one row.
        """
        total = np.zeros(family.size(self._domain), dtype=np.int64)
        for block in self._blocks(family):
            contributions = family.contributions(self._domain, block)
            # Clipped here as well: the sensitivity must not rest on what a user's function returns.
            total += np.clip(contributions, 0, GRID).sum(axis=0, dtype=np.int64)
        return total

    def _counted_records(self, family: Halfspace) -> Counts:
        """How many records each query counts: Σ over records of 0 or 1, in whole numbers."""
        total = np.zeros(family.size(self._domain), dtype=np.int64)
        for block in self._blocks(family):
            total += family.counts(self._domain, block)
        return total

    def _blocks(self, family: Family) -> Iterator[list[CodeColumn]]:
        """The records' codes in the family's columns, some records at a time."""
        if not isinstance(self._source, RowSource):
            raise WorkloadError(
                f"{family} needs the records, and this source only counts. Use a file or a table in"
                " memory."
            )
        positions = [self._domain.position(name) for name in family.columns]
        for block in self._source.blocks():
            yield [block[position] for position in positions]


def _in_both(
    one: Int64[np.ndarray, " one"], other: Int64[np.ndarray, " other"]
) -> Int64[np.ndarray, " both"]:
    return np.intersect1d(one, other, assume_unique=True)
