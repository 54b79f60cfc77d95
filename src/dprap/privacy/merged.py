"""A table with some of its codes merged: every record's codes are mapped to fewer ones, column by column.

The map is public and acts on single records, so neighbouring tables stay neighbours, with the same number of records:
whatever is ρ-zCDP on the merged table is ρ-zCDP on the table itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Marginal
from dprap.sources import CellCounts, CountSource

CodeMap = Int[np.ndarray, "codes"]
"""The new code of each old code of a column."""


@dataclass(frozen=True)
class MergedSource:
    """Counts of the merged table, summed from those of the table."""

    source: CountSource
    maps: Mapping[str, CodeMap]

    def __post_init__(self) -> None:
        for name, new in self.maps.items():
            if new.shape != (self.source.domain.size(name),) or set(new.tolist()) != set(range(int(new.max()) + 1)):
                raise SettingsError(
                    f"column {name!r}: a merge takes each of its codes to one of 0, 1, 2, …, and uses all."
                )

    @property
    def domain(self) -> Domain:
        """The domain with the merged columns' fewer codes."""
        plain = self.source.domain
        sizes = (int(self.maps[name].max()) + 1 if name in self.maps else plain.size(name) for name in plain.names)
        return Domain(plain.names, tuple(sizes))

    @property
    def rows(self) -> int:
        """The number of records, which merging leaves alone."""
        return self.source.rows

    def fingerprint(self) -> str:
        """The table's own."""
        return self.source.fingerprint()

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the merged marginals."""
        plain = self.source.domain
        found = []
        for marginal, counted in zip(marginals, self.source.count(marginals), strict=True):
            counts = counted.dense().reshape(plain.shape_of(marginal.columns))
            for axis, name in enumerate(marginal.columns):
                if name in self.maps:
                    first = np.moveaxis(counts, axis, 0)
                    merged = np.zeros((self.domain.size(name), *first.shape[1:]), dtype=np.int64)
                    np.add.at(merged, self.maps[name], first)
                    counts = np.moveaxis(merged, 0, axis)
            found.append(CellCounts(counts.size, counts.ravel()))
        return found
