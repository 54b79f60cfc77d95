"""How often the private table is read: once, where one count serves everything that comes after
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from tests.privacy.tables import codes_of, random_rows

from dprap.counting import CellCounts
from dprap.domain import Domain
from dprap.privacy.exact_counts import ExactAnswers
from dprap.queries import Marginal
from dprap.sources import MemorySource


class Counted:
    """A source that remembers what it was asked for."""

    def __init__(self, source: MemorySource, *, sparse: bool) -> None:
        self.source, self.sparse = source, sparse
        self.domain, self.rows, self.fingerprint = source.domain, source.rows, source.fingerprint
        self.asked: list[list[Marginal]] = []

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        self.asked.append(list(marginals))
        counted = self.source.count(marginals)
        return [sparse_of(counts) for counts in counted] if self.sparse else counted


def sparse_of(counts: CellCounts) -> CellCounts:
    dense = counts.dense()
    cells = np.flatnonzero(dense)
    return CellCounts(counts.size, dense[cells], cells)


def test_smaller_marginals_are_summed_from_known_ones() -> None:
    domain = Domain.of({"a": 3, "b": 4, "c": 5, "d": 2})
    memory = MemorySource(codes_of(domain, random_rows(np.random.default_rng(0), domain, 60)))
    for sparse in (False, True):
        source = Counted(memory, sparse=sparse)
        exact = ExactAnswers(source)
        exact.prepare([Marginal(("c", "a", "b")), Marginal(("b", "d"))])
        below = [Marginal(columns) for size in range(4) for columns in permutations("abc", size)]
        for marginal in below:
            assert exact.marginal(marginal).tolist() == memory.count([marginal])[0].dense().tolist()
        assert len(source.asked) == 1
        assert exact.marginal(Marginal(("c", "d"))).sum() == 60
        assert source.asked[1:] == [[Marginal(("c", "d"))]]
