"""Marginals over groups of codes: counts of groups are counts of recoded records."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Marginal

DOMAIN = Domain.of({"a": 5, "b": 3, "c": 2})


@st.composite
def groupings(draw):
    columns = tuple(draw(st.permutations(DOMAIN.names))[: draw(st.integers(1, 3))])
    starts = []
    for name in columns:
        later = draw(st.sets(st.integers(1, DOMAIN.size(name) - 1)))
        order = draw(st.permutations(range(DOMAIN.size(name))))
        cuts = [0, *sorted(later), len(order)]
        sets = tuple(tuple(order[first:end]) for first, end in pairwise(cuts))
        starts.append(draw(st.sampled_from([None, (0, *sorted(later)), sets])))
    return Marginal(columns, tuple(starts))


def groups_of(marginal):
    return [groups for _, groups in marginal.groups_by_column()]


def recode(codes, groups):
    """The group of each code."""
    if groups is None:
        return codes
    if isinstance(groups[0], tuple):
        return np.array(
            [next(place for place, group in enumerate(groups) if code in group) for code in codes]
        )
    return np.searchsorted(groups, codes, side="right") - 1


@settings(deadline=None)
@given(groupings(), st.integers(0, 2**32 - 1))
def test_answers_are_counts_of_recoded_records(coarse, seed):
    generator = np.random.default_rng(seed)
    records = {name: generator.integers(0, DOMAIN.size(name), 40) for name in coarse.columns}
    table = np.zeros(DOMAIN.shape_of(coarse.columns), dtype=np.int64)
    np.add.at(table, tuple(records.values()), 1)
    recoded = [
        recode(codes, groups)
        for codes, groups in zip(records.values(), groups_of(coarse), strict=True)
    ]
    expected = np.zeros(coarse.shape(DOMAIN), dtype=np.int64)
    np.add.at(expected, tuple(recoded), 1)
    np.testing.assert_array_equal(coarse.answers(table), expected)
    assert coarse.size(DOMAIN) == expected.size


def test_without_groups_it_is_the_marginal():
    assert Marginal(("a", "c"), (None, None)) == Marginal(("a", "c"), None) == Marginal(("a", "c"))
    table = np.arange(10).reshape(5, 2)
    np.testing.assert_array_equal(
        Marginal(("a", "c"), (None, None)).answers(table), Marginal(("a", "c")).answers(table)
    )


@pytest.mark.parametrize(
    "starts",
    [
        *[
            ((1, 2), None),
            ((0, 2, 2), None),
            ((), None),
            (None,),
            ((0, 0.5), None),
            ((0, math.nan), None),
            (5, None),
            5,
        ],
        # sets of codes: a code twice, one left out, an empty group, half a code, sets beside first
        # codes
        *[
            (((0, 1), (1, 2)), None),
            (((0,), (2,)), None),
            (((0, 1), ()), None),
            (((0, 0.5),), None),
            (((0, 1), 2), None),
        ],
        *[(((1,), (2,)), None), (((0,), (-1, 1)), None), ((0, (1,)), None)],
    ],
)
def test_groups_that_leave_codes_out_or_overlap_are_refused(starts):
    with pytest.raises(WorkloadError):
        Marginal(("a", "b"), starts)


def test_what_comes_in_other_containers_and_numbers_is_the_same():
    wanted = Marginal(("a", "b"), ((0, 1), None))
    for starts in (
        [[0, 1], None],
        (np.array([0, 1]), None),
        (range(2), None),
        ((False, True), None),
    ):
        made = Marginal(["a", "b"], starts)
        assert made == wanted
        assert hash(made) == hash(wanted)
        assert all(type(start) is int for start in made.groups[0])


def test_a_group_beyond_the_last_code_is_refused_where_the_domain_is_known():
    with pytest.raises(WorkloadError, match="'b' has 3 codes, so no group starts at 3"):
        Marginal(("b",), ((0, 3),)).size(DOMAIN)


def test_sets_that_are_not_all_codes_of_the_column_are_refused_where_the_domain_is_known():
    for sets in (((1,), (0,)), ((1, 3), (0, 2))):
        with pytest.raises(WorkloadError, match="'b' has 3 codes, but its groups"):
            Marginal(("b",), (sets,)).size(DOMAIN)


def test_a_step_for_neighbouring_codes_refuses_sets():
    assert Marginal(("a", "b"), ((0, 2), None)).starts_by_column() == (("a", (0, 2)), ("b", None))
    with pytest.raises(WorkloadError, match="'b': this step takes groups of neighbouring codes"):
        Marginal(("a", "b"), (None, ((1,), (0, 2)))).starts_by_column()


def test_its_name_says_how_many_groups_there_are():
    assert str(Marginal(("a", "c"), ((0, 2, 3), None))) == "a (3 groups)×c"


@settings(deadline=None)
@given(groupings(), st.integers(0, 2**32 - 1))
def test_cells_and_subsets_are_those_of_the_groups(coarse, seed):
    generator = np.random.default_rng(seed)
    cells = np.arange(coarse.size(DOMAIN))
    places = coarse.codes(DOMAIN, cells)
    assert [coarse.cell(DOMAIN, row) for row in places.tolist()] == cells.tolist()
    table = generator.integers(0, 9, DOMAIN.shape_of(coarse.columns))
    for subset in coarse.subsets(smallest=0):
        others = tuple(
            axis for axis, name in enumerate(coarse.columns) if name not in subset.columns
        )
        np.testing.assert_array_equal(
            subset.answers(table.sum(axis=others)), coarse.answers(table).sum(axis=others)
        )
