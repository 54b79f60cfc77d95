"""One estimate of the number of records where it is private, the same for answers, table and
release.
"""

import numpy as np
import pytest

from dprap import synthesize
from dprap.accounting import Measurement
from dprap.mechanisms.record_count import estimate_records
from dprap.queries import Marginal
from dprap.schema import Schema

# Three columns: of two, `adaptive` measures the one marginal and no column.
SIZES = {"a": 3, "b": 4, "c": 5}
ROWS = 500


def table():
    generator = np.random.default_rng(0)
    return {name: generator.integers(0, size, ROWS).tolist() for name, size in SIZES.items()}


def release_of(method, settings):
    import pyarrow as pa

    return synthesize(
        pa.table(table()),
        Schema.from_domain(SIZES),
        epsilon=0.5,
        delta=1e-6,
        neighbors="add-remove",
        kway=2,
        method=method,
        settings=settings,
        insecure_noise_seed=3,
    )


def test_sums_of_marginals_are_weighted_by_inverse_variance():
    total = Measurement(Marginal(()), np.array([90]), 2.0, 0.5)
    column = Measurement(Marginal(("a",)), np.array([50, 60]), 4.0, 0.5)
    # Variances 4 and 2 · 16, so weights 8 and 1.
    assert estimate_records([total, column]) == pytest.approx((8 * 90 + 110) / 9)
    assert estimate_records([total]) == 90
    assert estimate_records([Measurement(Marginal(()), np.array([-7]), 2.0, 0.5)]) == 1


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("adaptive", {"synthetic_rows": 8, "steps": 2, "final_steps": 2}),
        ("gaussian", {}),
        ("independent", {}),
    ],
)
def test_a_release_has_the_estimate_by_which_counts_were_made_shares(method, settings):
    release = release_of(method, settings)
    # `adaptive` measures the total and the columns before anything is divided by n; the others the
    # total alone.
    columns = 1 if method == "adaptive" else 0
    used = [item for item in release.measurements if len(item.marginal.columns) <= columns]
    assert len(used) == 1 + columns * len(SIZES)
    assert release.rows == max(1, round(estimate_records(used)))
