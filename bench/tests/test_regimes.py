"""The grid of regimes: fixed, wide, and drawn from its records."""

import pytest

from dprap_bench.record import Record
from dprap_bench.regime_losses import by_regime, interval, losses
from dprap_bench.studies.regimes import DRAWS, GRID, METHODS, cells, regime_of


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


def drawn(errors: dict[int, float]) -> dict[str, float]:
    """Figures of a method, whose TV is level with that of all others."""
    found = {f"max_{seed}": error for seed, error in errors.items()}
    found |= {f"tv_{seed}": 0.1 for seed in errors}
    ordered = sorted(errors.values())
    return {"max": ordered[len(ordered) // 2], "fit_max": 0.2, "tv": 0.1, "fit_tv": 0.1, **found}


def cells_of(own: dict[int, float], baseline: dict[int, float]):
    first = regime_of(cells(None)[0].facts)
    for cell in cells(None):
        if regime_of(cell.facts) == first:
            is_own = cell.facts["method"] == "adaptive"
            yield cell.facts, drawn(own if is_own else baseline)


def test_an_interval_tells_a_loss_from_chance() -> None:
    baseline = {seed: 0.2 + 0.001 * seed for seed in range(10)}
    behind = {seed: 1.5 * error for seed, error in baseline.items()}
    (measured,) = by_regime(cells_of(behind, baseline)).values()
    low, high = interval(measured, "max") or (0.0, 0.0)
    assert 1.4 < low < 1.5 < high < 1.6
    assert interval(measured, "tv") == (1.0, 1.0)
    wild = {seed: 0.1 if seed % 2 else 0.5 for seed in range(10)}
    (measured,) = by_regime(cells_of(wild, baseline)).values()
    low, high = interval(measured, "max") or (0.0, 0.0)
    assert low < 1 < high
    # three draws have no interval
    few = {seed: baseline[seed] for seed in range(3)}
    (measured,) = by_regime(cells_of(few, few)).values()
    assert interval(measured, "max") is None


def test_losses_are_listed_and_counted() -> None:
    baseline = dict.fromkeys(range(10), 0.2)
    *head, row, count = losses(cells_of(dict.fromkeys(range(10), 0.3), baseline))
    assert len(head) == 2
    assert f"| {DRAWS} | 1.50 (1.50–1.50) | 1.00 (1.00–1.00) | 1.00 / 1.00 |" in row
    assert count.startswith("| level or ahead, of 1 | | 0 | 1 | both: 0 |")
    assert len(losses(cells_of(baseline, baseline))) == 3
