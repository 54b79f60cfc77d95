"""A hidden end of an ordered column keeps a record; nothing else moves by more than that."""

from __future__ import annotations

import numpy as np

from dprap.domain import Domain
from dprap.mechanisms.adaptive.ends import with_ends
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.rows import uniform_weights

DOMAIN = Domain(("hours", "sex"), (6, 2))
RECORDS = 1_000.0


def rows_of(*hours: list[float]) -> RelaxedDataset:
    """Rows with these distributions of hours, of whose codes the last means missing."""
    columns = [[*each, 0.25, 0.75] for each in hours]
    return RelaxedDataset(
        DOMAIN, np.array(columns, dtype=np.float32).T, uniform_weights(len(columns))
    )


EARLY = rows_of([0.0, 0.6, 0.3, 0.0, 0.0, 0.1], [0.0, 0.2, 0.8, 0.0, 0.0, 0.0])


def test_both_ends_of_what_is_ordered_have_a_record() -> None:
    found = with_ends(EARLY, {"hours": 5}, {"hours": 1.0}, RECORDS)
    hours = found.block("hours") @ found.weights
    np.testing.assert_allclose(hours[[0, 4]], 1 / RECORDS, rtol=1e-2)
    np.testing.assert_allclose(found.block("hours").sum(axis=0), 1.0, rtol=1e-6)
    moved = np.abs(hours - EARLY.block("hours") @ EARLY.weights)
    assert moved.max() <= 2 / RECORDS  # a record for each end
    np.testing.assert_array_equal(found.block("sex"), EARLY.block("sex"))


def test_an_end_that_was_seen_stays_as_it_is() -> None:
    seen = rows_of([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    assert with_ends(seen, {"hours": 5}, {"hours": 1.0}, RECORDS) is seen
    # of columns that have no order, or whose noise is nothing, no end is known
    assert with_ends(EARLY, {}, {"hours": 1.0}, RECORDS) is EARLY
    assert with_ends(EARLY, {"hours": 5}, {"hours": 0.0}, RECORDS) is EARLY
    assert with_ends(EARLY, {"sex": 2}, {"sex": 1.0}, RECORDS) is EARLY


def test_a_table_of_one_record_is_not_all_ends() -> None:
    assert with_ends(EARLY, {"hours": 5}, {"hours": 1.0}, 1.0) is EARLY
