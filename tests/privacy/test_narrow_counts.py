"""Exact counts are kept in 32 bits and answered in 64; a closed run keeps none."""

from __future__ import annotations

import numpy as np
import pytest

from dprap.accounting import Budget, Neighbors
from dprap.counting import CellCounts
from dprap.counting.sums import summed_out
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Curator
from dprap.privacy.candidates import Candidates
from dprap.privacy.exact_counts import ExactAnswers
from dprap.queries import Marginal
from dprap.sources import MemorySource

DOMAIN = Domain.of({"a": 2, "b": 2, "c": 2})
MOST = 2**31 - 1


class Large:
    """A source whose counts are nearly too large for 32 bits, or just too large."""

    domain, rows = DOMAIN, 4 * MOST + 4

    def __init__(self, count: int, *, sparse: bool) -> None:
        self.table = CellCounts(4, np.full(4, count), np.arange(4) if sparse else None)

    def count(self, marginals: list[Marginal]) -> list[CellCounts]:
        return [self.table for _ in marginals]


@pytest.mark.parametrize("count", [MOST, MOST + 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_of_narrow_counts_do_not_wrap_around(count: int, *, sparse: bool) -> None:
    exact = ExactAnswers(Large(count, sparse=sparse))  # type: ignore[arg-type]
    pair = Marginal(("a", "b"))
    exact.prepare([pair])
    for marginal, expected in ((pair, [count] * 4), (Marginal(("b",)), [2 * count] * 2)):
        found = exact.marginal(marginal)
        assert found.dtype == np.int64
        assert found.tolist() == expected
    assert exact.marginal(Marginal(())).tolist() == [4 * count]
    assert exact.rows([pair, pair]).astype(np.int64).tolist() == [[count] * 4] * 2


def test_candidates_are_scored_in_64_bits() -> None:
    """A count in units of 1/64 does not fit into 32 bits from 2^25 records on."""
    grouped = Marginal(("a", "b"), ((0,), (0, 1)))
    pairs = (Marginal(("a", "b")), Marginal(("a", "b")), grouped, grouped)
    exact = ExactAnswers(Large(2**30 - 1, sparse=False))  # type: ignore[arg-type]
    candidates = Candidates(pairs, exact)
    candidates.prepare()
    for counts in (candidates.counts(0, 2), candidates.counts(2, 4), candidates.counts(2, 3)):
        assert counts.dtype == np.int64
        assert counts.sum() == len(counts) * 4 * (2**30 - 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_many_narrow_cells_are_summed_in_64_bits(*, sparse: bool) -> None:
    domain = Domain.of({"a": 100_000, "b": 3})
    cells = np.array([0, 1, 2]) if sparse else None
    counts = np.full(3, MOST) if sparse else np.full(300_000, MOST)
    wide = CellCounts(300_000, counts, cells).narrow()
    assert wide.counts.dtype == np.int32
    total = summed_out(domain, wide, Marginal(("a", "b")), Marginal(("a",)))
    assert total.dense()[0] == 3 * MOST


def test_a_closed_run_keeps_no_exact_counts() -> None:
    table = Codes.of(DOMAIN, {name: [0, 1] * 200 for name in DOMAIN})
    curator = Curator(
        MemorySource(table),
        budget=Budget.of(epsilon=10.0, delta=1e-6),
        neighbors=Neighbors("replace"),
        ledger=None,
    )
    pairs = (Marginal(("a", "b")), Marginal(("b", "c")))
    curator.select(pairs, [np.zeros(4)] * 2, k=1, rho=curator.rho / 10)
    assert curator._exact._tables
    curator.finish()
    assert not curator._exact._tables
    assert curator._candidates is None
