"""How tables are mixed: those that were asked about noisy pairs of columns at most."""

import numpy as np
import pytest

from dprap.accounting import Measurement, QueryMeasurement
from dprap.domain import Domain
from dprap.queries import Marginal, Query
from dprap.relaxed.mixing import DEFAULT, MixingSettings
from dprap.release.draw_records import mixing_of
from dprap.workload import Workload

DOMAIN = Domain.of({"a": 2, "b": 2, "c": 2})
PAIRS = Workload(DOMAIN, (Marginal(("a", "b")), Marginal(("b", "c"))))
RECORDS = 10_000


def measured(*columns: str, stddev: float = 50.0) -> Measurement:
    counts = np.zeros(2 ** len(columns), dtype=np.int64)
    return Measurement(Marginal(columns), counts, stddev, 0.1)


COLUMN, PAIR = measured("a"), measured("a", "b")


@pytest.mark.parametrize(
    ("workload", "measurements", "rows", "mixing"),
    [
        (PAIRS, [COLUMN, PAIR], RECORDS, DEFAULT),
        # columns alone: the rows are independent already
        (PAIRS, [COLUMN], RECORDS, None),
        # three columns were measured, for a target, or asked about
        (PAIRS, [PAIR, measured("a", "b", "c")], RECORDS, DEFAULT),
        (Workload(DOMAIN, (Marginal(("a", "b", "c")),)), [PAIR], RECORDS, None),
        # noise of 9 records is below a tenth of √10,000
        (PAIRS, [PAIR, measured("b", "c", stddev=9.0)], RECORDS, None),
        (PAIRS, [PAIR, measured("b", "c", stddev=11.0)], RECORDS, DEFAULT),
        # few rows have a larger error of their own, many a smaller one
        (PAIRS, [measured("a", "b", stddev=11.0)], 5_000, None),
        (PAIRS, [measured("a", "b", stddev=9.0)], 20_000, DEFAULT),
    ],
)
def test_where_pairs_are_all_that_was_asked_about(
    workload: Workload, measurements: list[Measurement], rows: int, mixing: MixingSettings | None
) -> None:
    assert mixing_of(workload, measurements, records=RECORDS, rows=rows) == mixing


def test_single_queries_are_not_mixed_away() -> None:
    single = QueryMeasurement(Query(PAIR.marginal, 0), 5.0, 50.0, 0.1)
    assert mixing_of(PAIRS, [PAIR, single], records=RECORDS, rows=RECORDS) is None
