"""Counts over records in memory, part by part."""

from itertools import combinations

import numpy as np

from dprap.counting.passes import count_columns
from dprap.domain import Domain
from dprap.queries import Marginal

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 5})
MARGINALS = [Marginal(("a", "b")), Marginal(("b", "c")), Marginal(("c",)), Marginal(())]


def test_parts_add_up_and_are_told(monkeypatch):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, 250).astype(np.uint8) for size in DOMAIN.sizes]
    whole = count_columns(DOMAIN, columns, MARGINALS)
    monkeypatch.setattr("dprap.counting.passes._BETWEEN_LOOKS", 100)
    monkeypatch.setattr("dprap.counting.passes._LEAST_BETWEEN_LOOKS", 100)
    told = []
    parts = count_columns(
        DOMAIN, columns, MARGINALS, watch=lambda done, records: told.append((done, records))
    )
    assert told == [(100, 250), (200, 250), (250, 250)]
    for marginal in MARGINALS:
        by_hand = np.zeros(marginal.shape(DOMAIN), np.int64)
        np.add.at(by_hand, tuple(columns[DOMAIN.position(name)] for name in marginal.columns), 1)
        if not marginal.columns:
            by_hand = np.array(250)
        assert (
            parts[marginal].dense().tolist()
            == whole[marginal].dense().tolist()
            == by_hand.ravel().tolist()
        )


def test_many_unions_are_told_of_part_by_part(monkeypatch):
    domain = Domain.of(dict.fromkeys("abcdef", 16))
    pairs = [Marginal(pair) for pair in combinations(domain.names, 2)]
    columns = [np.arange(50, dtype=np.uint8) % 16 for _ in domain]
    whole = count_columns(domain, columns, pairs)
    monkeypatch.setattr("dprap.counting.passes._BETWEEN_LOOKS", 150)
    monkeypatch.setattr("dprap.counting.passes._LEAST_BETWEEN_LOOKS", 50)
    told = []
    parts = count_columns(
        domain, columns, pairs, watch=lambda done, records: told.append((done, records))
    )
    assert told == [(50 * part, 250) for part in range(1, 6)]  # of three unions each
    assert [parts[pair].dense().tolist() for pair in pairs] == [
        whole[pair].dense().tolist() for pair in pairs
    ]
