"""Which tables are mixed: those of which nothing but noisy pairs of columns is known."""

import numpy as np
import pytest

from dprap.accounting import Measurement, QueryMeasurement
from dprap.domain import Domain
from dprap.queries import Marginal, Query
from dprap.release.draw_records import is_mixed
from dprap.workload import Workload

DOMAIN = Domain.of({"a": 2, "b": 2, "c": 2})
PAIRS = Workload(DOMAIN, (Marginal(("a", "b")), Marginal(("b", "c"))))
RECORDS = 10_000


def measured(*columns: str, stddev: float = 50.0) -> Measurement:
    counts = np.zeros(2 ** len(columns), dtype=np.int64)
    return Measurement(Marginal(columns), counts, stddev, 0.1)


COLUMN, PAIR = measured("a"), measured("a", "b")


@pytest.mark.parametrize(
    ("workload", "measurements", "rows", "mixed"),
    [
        (PAIRS, [COLUMN, PAIR], RECORDS, True),
        # columns alone: the rows are independent already
        (PAIRS, [COLUMN], RECORDS, False),
        # three columns were measured, or asked about
        (PAIRS, [PAIR, measured("a", "b", "c")], RECORDS, False),
        (Workload(DOMAIN, (Marginal(("a", "b", "c")),)), [PAIR], RECORDS, False),
        # noise of 9 records is below a tenth of √10,000
        (PAIRS, [PAIR, measured("b", "c", stddev=9.0)], RECORDS, False),
        (PAIRS, [PAIR, measured("b", "c", stddev=11.0)], RECORDS, True),
        # few rows have a larger error of their own, many a smaller one
        (PAIRS, [measured("a", "b", stddev=11.0)], 5_000, False),
        (PAIRS, [measured("a", "b", stddev=9.0)], 20_000, True),
    ],
)
def test_where_pairs_are_all_that_is_known(
    workload: Workload, measurements: list[Measurement], rows: int, mixed: bool
) -> None:
    assert is_mixed(workload, measurements, records=RECORDS, rows=rows) is mixed


def test_single_queries_are_not_mixed_away() -> None:
    single = QueryMeasurement(Query(PAIR.marginal, 0), 5.0, 50.0, 0.1)
    assert not is_mixed(PAIRS, [PAIR, single], records=RECORDS, rows=RECORDS)
