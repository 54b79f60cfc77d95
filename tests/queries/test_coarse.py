"""Coarse marginals: counts of groups are counts of recoded records."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Coarse, Marginal

DOMAIN = Domain.of({"a": 5, "b": 3, "c": 2})


@st.composite
def groupings(draw):
    columns = tuple(draw(st.permutations(DOMAIN.names))[: draw(st.integers(1, 3))])
    starts = []
    for name in columns:
        later = draw(st.sets(st.integers(1, DOMAIN.size(name) - 1)))
        starts.append(draw(st.sampled_from([None, (0, *sorted(later))])))
    return Coarse(columns, tuple(starts))


@given(groupings(), st.integers(0, 2**32 - 1))
def test_answers_are_counts_of_recoded_records(coarse, seed):
    generator = np.random.default_rng(seed)
    records = {name: generator.integers(0, DOMAIN.size(name), 40) for name in coarse.columns}
    table = np.zeros(DOMAIN.shape_of(coarse.columns), dtype=np.int64)
    np.add.at(table, tuple(records.values()), 1)
    recoded = [
        codes if starts is None else np.searchsorted(starts, codes, side="right") - 1
        for codes, starts in zip(records.values(), coarse.starts, strict=True)
    ]
    expected = np.zeros(coarse.shape(DOMAIN), dtype=np.int64)
    np.add.at(expected, tuple(recoded), 1)
    np.testing.assert_array_equal(coarse.answers(table), expected)
    assert coarse.size(DOMAIN) == expected.size


def test_without_groups_it_is_the_marginal():
    table = np.arange(10).reshape(5, 2)
    np.testing.assert_array_equal(Coarse(("a", "c"), (None, None)).answers(table), Marginal(("a", "c")).answers(table))


@pytest.mark.parametrize(
    "starts",
    [((1, 2), None), ((0, 2, 2), None), ((), None), (None,), ((0, 0.5), None), ((0, math.nan), None), (5, None), None],
)
def test_groups_that_leave_codes_out_or_overlap_are_refused(starts):
    with pytest.raises(WorkloadError):
        Coarse(("a", "b"), starts)


def test_what_comes_in_other_containers_and_numbers_is_the_same():
    wanted = Coarse(("a", "b"), ((0, 1), None))
    for starts in ([[0, 1], None], (np.array([0, 1]), None), (range(2), None), ((False, True), None)):
        made = Coarse(["a", "b"], starts)
        assert made == wanted
        assert hash(made) == hash(wanted)
        assert all(type(start) is int for start in made.starts[0])


def test_a_group_beyond_the_last_code_is_refused_where_the_domain_is_known():
    with pytest.raises(WorkloadError, match="'b' has 3 codes, so no group starts at 3"):
        Coarse(("b",), ((0, 3),)).size(DOMAIN)


def test_its_name_says_how_many_groups_there_are():
    assert str(Coarse(("a", "c"), ((0, 2, 3), None))) == "a (3 groups)×c"
