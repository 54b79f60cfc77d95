import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.tables import DOMAIN, codes_of, random_rows

from dprap.accounting import Neighbors, Relation
from dprap.errors import DataError, SettingsError
from dprap.privacy.person_bound import Excess, bound_records, records_within_bound
from dprap.queries import Marginal
from dprap.sources import MemorySource

WHOLE = Marginal(DOMAIN.names)


def kept_slowly(ids, bound):
    seen = {}
    kept = []
    for person in ids:
        seen[person] = seen.get(person, 0) + 1
        kept.append(seen[person] <= bound)
    return kept


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5)), st.integers(1, 4), st.booleans())
def test_first_records_of_each_person_are_kept(ids, bound, as_text):
    array = pa.array(
        [f"p{person}" for person in ids] if as_text else ids, pa.string() if as_text else pa.int64()
    )
    assert records_within_bound(array, bound).tolist() == kept_slowly(ids, bound)
    assert records_within_bound(array.dictionary_encode(), bound).tolist() == kept_slowly(
        ids, bound
    )
    halves = pa.chunked_array([array[: len(ids) // 2], array[len(ids) // 2 :]])
    assert records_within_bound(halves, bound).tolist() == kept_slowly(ids, bound)


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_adding_a_person_moves_counts_by_no_more_than_the_bound(bound):
    """People with more records than allowed, anywhere in the table: sensitivities hold after
    dropping.
    """
    generator = np.random.default_rng(bound)
    neighbors = Neighbors(Relation.ADD_REMOVE, bound)
    reached = 0
    for _ in range(40):
        rows, ids = random_rows(generator, DOMAIN, 60), generator.integers(0, 12, 60)
        without = ids != generator.integers(0, 12)
        counts = [
            MemorySource(
                bound_records(
                    codes_of(DOMAIN, rows[some]),
                    pa.array(ids[some]),
                    neighbors=neighbors,
                    excess=Excess.DROP,
                )
            )
            .count([WHOLE])[0]
            .dense()
            for some in (np.ones(60, bool), without)
        ]
        change = np.abs(counts[0] - counts[1])
        assert change.sum() <= neighbors.marginal_l1
        assert (change**2).sum() <= neighbors.marginal_l2_squared
        assert change.max() <= neighbors.query
        reached = max(reached, change.sum())
    assert reached == bound


def test_what_is_within_the_bound_passes_unchanged():
    codes = codes_of(DOMAIN, random_rows(np.random.default_rng(0), DOMAIN, 4))
    ids = pa.array(["x", "y", "x", "z"])
    for relation in Relation:
        assert (
            bound_records(codes, ids, neighbors=Neighbors(relation, 2), excess=Excess.ERROR)
            is codes
        )


@pytest.mark.parametrize("relation", Relation)
def test_excess_is_an_error_that_names_nobody(relation):
    codes = codes_of(DOMAIN, random_rows(np.random.default_rng(0), DOMAIN, 3))
    with pytest.raises(DataError, match="somebody has more records than the 1 allowed") as caught:
        bound_records(
            codes,
            pa.array(["secret", "b", "secret"]),
            neighbors=Neighbors(relation),
            excess=Excess.ERROR,
        )
    assert "secret" not in str(caught.value)


def test_nothing_is_dropped_where_the_number_of_records_is_public():
    codes = codes_of(DOMAIN, random_rows(np.random.default_rng(0), DOMAIN, 1))
    with pytest.raises(SettingsError, match="none may be dropped"):
        bound_records(codes, pa.array([1]), neighbors=Neighbors(), excess=Excess.DROP)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["a", None]),
        pa.array([None, "a"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
        pa.array([1.0, 2.0]),
        pa.array([[1], [2]]),
        pa.array(["a"]),
        pa.array(["a", "b", "c"]),
    ],
)
def test_bad_ids(ids):
    codes = codes_of(DOMAIN, random_rows(np.random.default_rng(0), DOMAIN, 2))
    with pytest.raises(DataError):
        bound_records(codes, ids, neighbors=Neighbors(), excess=Excess.ERROR)


def test_a_dictionary_that_holds_a_person_twice():
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["x", "y", "x"]))
    assert records_within_bound(twice, 1).tolist() == [True, True, False]
