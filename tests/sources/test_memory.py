"""The counting kernel and the source in memory."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.tables import codes_of, random_rows
from tests.reference.counting import counted

from dprap.counting import CellCounts, Tally, passes
from dprap.counting import tally as tally_module
from dprap.counting.cells import merge_sparse
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Marginal
from dprap.sources import MemorySource, RowSource

MIXED = Domain.of({"one": 1, "two": 2, "five": 5, "many": 300, "huge": 70_000})


def all_marginals(domain, longest=3):
    return [
        Marginal(columns)
        for size in range(longest + 1)
        for columns in permutations(domain.names, size)
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(0, 2**32),
    st.sampled_from([1, 7, 65_536]),
    st.sampled_from(["dense", "sparse", "together"]),
)
def test_every_way_of_counting_agrees_with_brute_force(rows, seed, block, way):
    domain = Domain.of({"a": 3, "b": 2, "c": 4})
    table = random_rows(np.random.default_rng(seed), domain, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "BLOCK_RECORDS", block)
        patch.setattr(tally_module, "DENSE_CELLS", 0 if way == "sparse" else 1 << 19)
        patch.setattr(passes, "_LEAST_CELLS", 1 << 16 if way == "together" else 1)
        patch.setattr(passes, "DENSE_CELLS", tally_module.DENSE_CELLS)
        patch.setattr(tally_module, "_WORTH_THREADS", 0)
        patch.setenv("OMP_NUM_THREADS", "3")
        patch.setattr(tally_module, "PENDING_CELLS", 16)
        for marginal, counts in zip(
            all_marginals(domain),
            MemorySource(codes_of(domain, table)).count(all_marginals(domain)),
            strict=True,
        ):
            assert counts.size == marginal.size(domain)
            assert way == "sparse" or counts.cells is None
            assert counts.dense().tolist() == counted(domain, marginal, table).tolist()


def test_columns_of_every_width():
    """Codes of one, two and four bytes; cell numbers that need more than 16 and more than 32
    bits.
    """
    table = random_rows(np.random.default_rng(0), MIXED, 500)
    table[:50] = np.array(MIXED.sizes) - 1
    marginals = [
        Marginal(("huge",)),
        Marginal(("many", "huge")),
        Marginal(("huge", "many", "five", "two", "one")),
    ]
    for marginal, counts in zip(
        marginals, MemorySource(codes_of(MIXED, table)).count(marginals), strict=True
    ):
        cells = np.ravel_multi_index(
            tuple(table[:, MIXED.position(name)] for name in marginal.columns),
            MIXED.shape_of(marginal.columns),
        )
        found, expected = np.unique(cells, return_counts=True)
        if counts.cells is None:
            assert counts.counts[found].tolist() == expected.tolist()
            assert counts.counts.sum() == 500
        else:
            assert counts.cells.tolist() == found.tolist()
            assert counts.counts.tolist() == expected.tolist()


def test_two_byte_cell_numbers_reach_their_limit():
    domain = Domain.of({"one": 1, "all": 65_536, "half": 32_768, "two": 2, "three": 3})
    table = np.array([[0, 65_535, 32_767, 1, 2], [0, 0, 0, 0, 0], [0, 65_535, 0, 1, 1]])
    marginals = [
        Marginal(("half", "three")),
        Marginal(("three", "half")),
        Marginal(("one", "all")),
        Marginal(("half", "two")),
        Marginal(("all", "one")),
        Marginal(("two", "half")),
    ]
    for marginal, counts in zip(
        marginals, MemorySource(codes_of(domain, table)).count(marginals), strict=True
    ):
        assert counts.dense().tolist() == counted(domain, marginal, table).tolist()


def test_a_large_workload_is_planned_together():
    """Many marginals, unions among them: sizes stay bounded and every count is right."""
    domain = Domain.of({f"c{i}": size for i, size in enumerate((2, 3, 5, 7, 11, 13, 40, 90))})
    table = random_rows(np.random.default_rng(0), domain, 200)
    marginals = [Marginal(columns) for columns in permutations(domain.names, 2)]
    for rows, memory_limit, least in ((10**6, 1 << 29, 1), (10**6, 100_000, 5), (0, 1 << 29, 1)):
        plans = list(passes.plan_passes(domain, marginals, rows=rows, memory_limit=memory_limit))
        assert len(plans) >= least
        assert max(union.size(domain) for plan in plans for union in plan) <= 1 << 16
        planned = [marginal for plan in plans for served in plan.values() for marginal in served]
        assert sorted(planned, key=str) == sorted(marginals, key=str)
    for marginal, counts in zip(
        marginals, MemorySource(codes_of(domain, table)).count(marginals), strict=True
    ):
        assert counts.dense().tolist() == counted(domain, marginal, table).tolist()


def test_column_order_matters_only_for_the_layout():
    domain = Domain.of({"a": 3, "b": 4})
    table = random_rows(np.random.default_rng(0), domain, 50)
    ab, ba = MemorySource(codes_of(domain, table)).count(
        [Marginal(("a", "b")), Marginal(("b", "a"))]
    )
    assert ab.dense().reshape(3, 4).T.tolist() == ba.dense().reshape(4, 3).tolist()


def test_many_batches_add_up():
    domain = Domain.of({"a": 3, "b": 4})
    table = random_rows(np.random.default_rng(0), domain, 101)
    tally = Tally(domain, {Marginal(("a", "b")): [Marginal(("b", "a")), Marginal(())]})
    for part in np.array_split(table, 7):
        tally.add(codes_of(domain, part).columns)
    (_, pairs), (_, total) = tally.results()
    assert pairs.dense().tolist() == counted(domain, Marginal(("b", "a")), table).tolist()
    assert total.dense().tolist() == [101]


def test_a_billion_cells_are_counted_sparsely_without_allocating_them():
    domain = Domain.of({"x": 1000, "y": 1000, "z": 1000})
    table = random_rows(np.random.default_rng(0), domain, 100)
    source = MemorySource(codes_of(domain, table))
    tracemalloc.start()
    (counts,) = source.count([Marginal(domain.names)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts.counts.sum() == 100
    assert peak < 1 << 20


def test_more_cells_than_numbers_are_refused():
    domain = Domain.of({f"c{i}": 65_536 for i in range(4)})
    source = MemorySource(codes_of(domain, np.zeros((1, 4), int)))
    with pytest.raises(WorkloadError, match="64-bit"):
        source.count([Marginal(domain.names)])


def test_unknown_column():
    source = MemorySource(codes_of(Domain.of({"a": 2}), np.zeros((1, 1), int)))
    with pytest.raises(WorkloadError, match="'b'"):
        source.count([Marginal(("b",))])


def test_no_records():
    source = MemorySource(codes_of(MIXED, np.zeros((0, 5), int)))
    assert source.count([Marginal(("two",)), Marginal(())])[0].dense().tolist() == [0, 0]
    (huge,) = source.count([Marginal(("huge", "many"))])
    assert huge.dense().sum() == 0
    assert list(source.blocks()) == []


def test_merging_sparse_counts():
    cells, counts = merge_sparse(
        [
            (np.array([1, 5]), np.array([2, 3])),
            (np.array([0, 5]), np.array([1, 1])),
            (np.zeros(0, int), np.zeros(0, int)),
        ]
    )
    assert cells.tolist() == [0, 1, 5]
    assert counts.tolist() == [1, 2, 4]


def test_blocks_are_the_records():
    table = random_rows(np.random.default_rng(0), MIXED, 70_000)
    source = MemorySource(codes_of(MIXED, table))
    assert isinstance(source, RowSource)
    blocks = list(source.blocks())
    assert len(blocks) == 2
    assert np.array_equal(np.concatenate([np.stack(block, axis=1) for block in blocks]), table)


def test_fingerprint_follows_the_data():
    domain, other = Domain.of({"a": 3, "b": 3}), Domain.of({"a": 3, "b": 4})
    table = random_rows(np.random.default_rng(0), domain, 20)
    changed = table.copy()
    changed[3, 1] = (changed[3, 1] + 1) % 3
    prints = [
        MemorySource(codes_of(domain, rows)).fingerprint()
        for rows in (table, table.copy(), changed, table[:-1])
    ]
    prints.append(MemorySource(codes_of(other, table)).fingerprint())
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_cell_counts_are_dense_on_demand():
    assert CellCounts(5, np.array([7, 9]), np.array([1, 4])).dense().tolist() == [0, 7, 0, 0, 9]
