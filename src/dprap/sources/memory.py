"""A count source over encoded records in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dprap.array_types import CodeColumn
from dprap.counting import CellCounts
from dprap.counting.passes import count_columns
from dprap.counting.tally import BLOCK_RECORDS
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.queries.marginal import Marginal
from dprap.sources.recoding import Recoding


@dataclass(frozen=True)
class MemorySource:
    """Encoded records held in memory."""

    codes: Codes
    watch: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)
    """Is told while records are counted how many are done, of how many in all passes."""

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return self.codes.domain

    @property
    def rows(self) -> int:
        """The exact number of records."""
        return self.codes.rows

    def fingerprint(self) -> str:
        """A digest of the codes."""
        shape = [list(self.domain.names), list(self.domain.sizes), self.rows]
        digest = hashlib.blake2b(json.dumps(shape).encode(), digest_size=16)
        for column in self.codes.columns:
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals."""
        counted = count_columns(self.domain, self.codes.columns, marginals, watch=self.watch)
        if self.watch is not None:  # what follows takes seconds in a large workload
            self.watch(max(1, self.rows), max(1, self.rows))
        return [counted[marginal] for marginal in marginals]

    def recoded(self, recoding: Recoding) -> MemorySource:
        """The same records under a coarser schema."""
        return replace(self, codes=Codes(recoding.schema.domain, recoding(self.codes.columns)))

    def blocks(self) -> Iterator[tuple[CodeColumn, ...]]:
        """The records, block by block."""
        for start in range(0, self.rows, BLOCK_RECORDS):
            yield tuple(column[start : start + BLOCK_RECORDS] for column in self.codes.columns)
