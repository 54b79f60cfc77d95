"""Reading a public table: exact counts, a digest of the records alone, bounded work."""

from __future__ import annotations

import numpy as np
import pytest

from dprap import public_table as module
from dprap.domain import Domain
from dprap.errors import DataError
from dprap.public_table import count_public, public_marginals
from dprap.queries import Marginal
from dprap.workload import all_kway

DOMAIN = Domain.of({"a": 3, "b": 300, "c": 2})
WORKLOAD = all_kway(DOMAIN, 2)


def columns(rows: int = 50) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(0)
    kinds = (np.uint8, np.uint16, np.uint8)
    return tuple(
        generator.integers(0, size, rows).astype(kind)
        for size, kind in zip(DOMAIN.sizes, kinds, strict=True)
    )


def test_counts_and_digest_do_not_depend_on_batches():
    records = columns()
    whole = count_public([records], WORKLOAD, name="x")
    parts = count_public(
        [
            tuple(c[:20] for c in records),
            tuple(c[20:20] for c in records),
            tuple(c[20:] for c in records),
        ],
        WORKLOAD,
        name="x",
    )
    assert whole.facts == parts.facts
    joint = whole.shares[Marginal(("a", "b"))].reshape(3, 300)
    for code_a, code_b in zip(records[0], records[1], strict=True):
        assert joint[code_a, code_b] == np.mean((records[0] == code_a) & (records[1] == code_b))
    assert joint.sum() == pytest.approx(1)
    other = count_public([(records[0], records[1], 1 - records[2])], WORKLOAD, name="x")
    assert other.facts.digest != whole.facts.digest


def test_only_so_many_cells_are_counted(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 650)
    assert [str(marginal) for marginal in public_marginals(WORKLOAD)] == [
        "a",
        "b",
        "c",
        "a×c",
        "b×c",
    ]


def test_a_table_without_records_is_refused():
    with pytest.raises(DataError, match="no records"):
        count_public([], WORKLOAD, name="x")
