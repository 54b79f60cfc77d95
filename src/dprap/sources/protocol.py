"""What a count source offers to the private side: exact integer counts of marginals, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from dprap.array_types import CodeColumn, Counts
from dprap.domain import Domain
from dprap.queries.marginal import Marginal


@dataclass(frozen=True)
class CellCounts:
    """Exact counts of one marginal's cells: all of them, or (`cells` given) only those that are not zero."""

    size: int
    counts: Counts
    cells: Int64[np.ndarray, " nonzero"] | None = None

    def dense(self) -> Counts:
        """Counts of all cells; zeros come from the declared domain."""
        if self.cells is None:
            return self.counts
        full = np.zeros(self.size, dtype=np.int64)
        full[self.cells] = self.counts
        return full


class CountSource(Protocol):
    """A private table that can be counted. Only `dprap.privacy` may call it."""

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        ...

    @property
    def rows(self) -> int:
        """The exact number of records: public under replacement, private under addition and removal."""
        ...

    def fingerprint(self) -> str:
        """A digest that changes when the data change; it stays on the private side, in the ledger."""
        ...

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in their order."""
        ...


@runtime_checkable
class RowSource(CountSource, Protocol):
    """A source whose encoded records may enter this process, as custom queries need."""

    def blocks(self) -> Iterator[tuple[CodeColumn, ...]]:
        """The encoded records, block by block, one array a column."""
        ...
