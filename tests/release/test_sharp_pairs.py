"""Cells of a sharp relation that nobody saw are empty in the table; other pairs stay as they
are.
"""

import numpy as np
import pytest

from dprap.accounting.measurement import Measurement
from dprap.queries import Marginal
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.marginals import cell_table
from dprap.release.draw_records import draw_table
from dprap.release.sharp_pairs import Placing, sharp_pairs
from dprap.schema import Schema

CODES, RECORDS, STDDEV = 20, 20_000, 20.0
SCHEMA = Schema.of(
    {
        "columns": {
            name: {"type": "integer", "min": 0, "max": CODES - 1, "width": 1} for name in ("a", "b")
        }
    }
)


def rows_with_haze(haze: float) -> RelaxedDataset:
    """A row for each code, the same in both columns but for a haze over all codes."""
    block = (1 - haze) * np.eye(CODES) + haze / CODES
    return RelaxedDataset(
        SCHEMA.domain, np.concatenate([block, block]).astype(np.float32), np.full(CODES, 1 / CODES)
    )


def measured(truth: np.ndarray, seed: int) -> Measurement:
    noise = np.random.default_rng(seed).normal(0, STDDEV, truth.size).round()
    counts = (truth.ravel() + noise).astype(np.int64)
    return Measurement(Marginal(("a", "b")), counts, STDDEV, rho=0.01)


def diagonal(background: float) -> np.ndarray:
    """Most records on the diagonal, some anywhere."""
    return RECORDS * ((1 - background) * np.eye(CODES) / CODES + background / CODES**2)


@pytest.mark.parametrize("seed", range(5))
def test_a_sharp_pair_is_found_and_a_real_background_is_kept(seed):
    """The 380 other cells have a noise of 390 records together, and the fit has 1,850 in them."""
    rows = rows_with_haze(0.05)
    (found,) = sharp_pairs(SCHEMA, rows, [measured(diagonal(0.0), 100 + seed)], RECORDS)
    assert found.possible[np.eye(CODES, dtype=bool)].all()
    assert found.possible.sum() < 2 * CODES
    for background in (0.1, 1.0):
        assert not sharp_pairs(
            SCHEMA, rows_with_haze(background), [measured(diagonal(background), seed)], RECORDS
        )


def test_noise_that_hides_what_the_fit_says_decides_nothing():
    loud = Measurement(
        Marginal(("a", "b")),
        np.random.default_rng(0).integers(-900, 900, CODES**2),
        520.0,
        rho=0.01,
    )
    assert not sharp_pairs(SCHEMA, rows_with_haze(0.05), [loud], RECORDS)


def test_a_value_that_dominates_a_column_is_no_sharp_relation(monkeypatch):
    """Nine tenths of `b` are its first code, whatever `a` is. The other codes are seen in one row
    alone, and noise says by chance that the rest is empty. It holds what the column itself says.
    """
    spike = np.append(0.9, np.full(CODES - 1, 0.1 / (CODES - 1)))
    blocks = np.concatenate([np.eye(CODES), np.tile(spike[:, None], CODES)])
    rows = RelaxedDataset(SCHEMA.domain, blocks.astype(np.float32), np.full(CODES, 1 / CODES))
    noise = np.random.default_rng(0).normal(0, 2 * STDDEV, (CODES, CODES))
    noise[:, 1:] -= noise[:, 1:].mean() + 6.0
    noise[0, 1:] = 10 * STDDEV
    counts = np.round(RECORDS / CODES * spike + noise).astype(np.int64).ravel()
    loud = Measurement(Marginal(("a", "b")), counts, 2 * STDDEV, rho=0.01)
    assert not sharp_pairs(SCHEMA, rows, [loud], RECORDS)
    monkeypatch.setattr("dprap.release.sharp_pairs._MOST_SHIFTED", 1.0)
    assert sharp_pairs(SCHEMA, rows, [loud], RECORDS)


def test_misplaced_records_are_moved_and_column_sums_stay():
    rows = rows_with_haze(0.2)
    pairs = sharp_pairs(SCHEMA, rows, [measured(diagonal(0.0), 100)], RECORDS)
    table = draw_table(rows, SCHEMA, [("a", "b")], rows=RECORDS, seed=0, sharp=pairs)
    assert not Placing(rows, pairs).misplaced(list(table.columns)).any()
    for name in ("a", "b"):
        shares = np.bincount(table.column(name), minlength=CODES) / RECORDS
        # a fifth of a code's thousand records is drawn again: ten standard errors of such a sum
        assert np.abs(shares - cell_table(rows, (name,))).max() < 10 * np.sqrt(200) / RECORDS
    blurred = draw_table(rows, SCHEMA, [("a", "b")], rows=RECORDS, seed=0)
    assert (blurred.column("a") != blurred.column("b")).mean() > 0.1
    # cells beside the diagonal that noise lifts
    assert (table.column("a") != table.column("b")).mean() < 0.05


def test_a_condition_on_one_of_the_columns_is_kept():
    rows = rows_with_haze(0.2)
    pairs = sharp_pairs(SCHEMA, rows, [measured(diagonal(0.0), 100)], RECORDS)
    table = draw_table(rows, SCHEMA, [], rows=500, seed=0, sharp=pairs, conditioned_on=("b",))
    assert (table.column("b") == draw_table(rows, SCHEMA, [], rows=500, seed=0).column("b")).all()
