"""The grid of regimes: fixed, wide, and drawn from its records."""

import pytest

from dprap_bench.record import Record
from dprap_bench.studies.regimes import GRID, METHODS, cells, regime_of


def test_the_grid_spans_what_it_promises():
    assert len(set(GRID)) == len(GRID) >= 60
    assert {regime.data for regime in GRID} == {
        "adult",
        "adult-reduced",
        "nltcs",
        "loans",
        "example",
    }
    assert (min(regime.rows for regime in GRID), max(regime.rows for regime in GRID)) == (
        300,
        1_000_000,
    )
    assert (min(regime.epsilon for regime in GRID), max(regime.epsilon for regime in GRID)) == (
        0.01,
        10,
    )
    assert len(cells(None)) == len(METHODS) * len(GRID)


def test_ratios_are_to_the_better_baseline_and_only_of_whole_cells(tmp_path):
    from dprap_bench.regime_map import draw_regimes, ratios  # which loads matplotlib

    by_regime = {}
    for cell in cells(None):
        by_regime.setdefault(regime_of(cell.facts), []).append(cell)
    whole, partial, *_ = by_regime.values()
    errors = {"adaptive": 0.1, "independent": 0.4, "gaussian": 0.2}
    records = [
        Record.of(
            "regimes",
            cell.as_dict(),
            {"max": errors[cell.facts["method"]], "tv": 0.1},
            key=cell.key,
        )
        for cell in [*whole, partial[0]]
    ]
    assert ratios(records) == {regime_of(whole[0].facts): pytest.approx((0.5, 1.0))}
    path = draw_regimes(records, tmp_path)
    assert path is not None
    assert path.stat().st_size > 1_000
    assert draw_regimes([], tmp_path) is None
