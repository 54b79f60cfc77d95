"""Refinement finds spikes, shapes and habits, and values come back as they went in."""

import numpy as np
import pytest

from dprap import synthesize
from dprap.accounting import Measurement
from dprap.mechanisms.refinement.habits import class_marginal, classes, raked
from dprap.mechanisms.refinement.intervals import Pieces, choose_intervals
from dprap.mechanisms.refinement.masses import masses
from dprap.mechanisms.refinement.planning import TAIL_CUTS
from dprap.mechanisms.refinement.search import Level
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.shape import draw_between, weight_between


def made_up(rows: int, seed: int = 0):
    """Zero-inflated lognormal incomes, heaped integers, bimodal days, y = 2x + 1, a rounded copy:
    the truth is known.
    """
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    income = (
        np.where(rng.random(rows) < 0.35, 0, np.exp(rng.normal(9, 0.7, rows)))
        .clip(0, 99_999)
        .astype(int)
    )
    heaped = rng.integers(2000, 7000, rows)
    heaped = np.where(rng.random(rows) < 0.5, heaped // 100 * 100, heaped)
    days = np.where(
        rng.random(rows) < 0.5, rng.normal(900, 60, rows), rng.normal(2500, 90, rows)
    ).astype(int)
    when = np.datetime64("2015-01-01") + days.astype("timedelta64[D]")
    x = rng.normal(2500, 800, rows).clip(0, 4999).astype(int)
    fine = np.round(rng.gamma(4, 5, rows).clip(0, 99.99), 2)
    return pa.table(
        {
            "income": income,
            "heaped": heaped,
            "when": when,
            "poor": (income < 5000).astype(int),
            "x": x,
            "y": 2 * x + 1,
            "fine": fine,
            "rounded": np.round(fine).astype(int),
        }
    )


SCHEMA = Schema.of(
    {
        "columns": {
            "income": {"type": "integer", "min": 0, "max": 99_999},
            "heaped": {"type": "integer", "min": 0, "max": 9_999},
            "when": {"type": "date", "min": "2015-01-01", "max": "2025-12-31"},
            "poor": {"type": "integer", "min": 0, "max": 1},
            "x": {"type": "integer", "min": 0, "max": 4_999},
            "y": {"type": "integer", "min": 0, "max": 9_999},
            "fine": {"type": "number", "min": 0, "max": 100, "decimals": 2},
            "rounded": {"type": "integer", "min": 0, "max": 100},
        }
    }
)


@pytest.fixture(scope="module")
def release():
    return synthesize(
        made_up(30_000), SCHEMA, epsilon=2.0, kway=2, insecure_noise_seed=1, intervals="no"
    )


def test_numbers_come_back_with_their_shape(release):
    """The noise of a share here is about .003; only gross errors fail."""
    truth, table = made_up(30_000).to_pandas(), release.table()
    assert abs((table.income == 0).mean() - (truth.income == 0).mean()) < 0.02
    for name in ("income", "heaped", "x", "y", "fine", "rounded"):
        for level in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99):
            below = (truth[name] <= table[name].quantile(level)).mean()
            at_most = (truth[name] < table[name].quantile(level)).mean()
            assert at_most - 0.04 < level < below + 0.04, (name, level)
    gap = (truth.when < np.datetime64("2018-12-01")).mean() - (
        table.when.astype("M8[ns]") < "2018-12-01"
    ).mean()
    assert abs(gap) < 0.03
    # half of them; without habits it would be one in a hundred, from shrunken spikes alone .42
    heaps = (truth.heaped % 100 == 0).mean() - (table.heaped % 100 == 0).mean()
    assert abs(heaps) < 0.04
    assert table[table.poor == 1].income.mean() < 0.3 * table[table.poor == 0].income.mean()


def test_a_spike_is_a_code_and_the_one_hot_cost_follows_the_intervals(release):
    income = release.schema.columns["income"]
    assert income.label(0) == "0"
    # which has 101 values
    assert release.schema.domain.onehot_size - release.schema.domain.size("rounded") < 200


def test_every_value_keeps_its_code(release):
    from dprap.encoding import encode

    codes = release.codes()
    again = encode(release.table(format="arrow"), release.schema)
    for name in release.schema.columns:
        assert (codes.column(name) == again.column(name)).all()


def test_masses_without_noise_are_the_counts():
    rng = np.random.default_rng(0)
    points = rng.multinomial(10_000, rng.dirichlet(np.full(1000, 0.05)))
    coarse, fine = np.arange(0, 1000, 100), np.arange(0, 1000)
    levels = [
        Level(coarse, np.add.reduceat(points, coarse).astype(float), 1e-3),
        Level(fine, points.astype(float), 1e-3),
    ]
    assert np.allclose(masses(levels, 1000, 10_000.0), points, atol=0.1)


def classes_measured(points: np.ndarray, stddev: float = 1.0) -> tuple[BinnedColumn, Measurement]:
    """Exact counts of the classes of `heaped`, as if they had been measured."""
    column = SCHEMA.fine_columns["heaped"]
    counts = np.bincount(classes(column), points)
    return column, Measurement(class_marginal("heaped", column), counts, stddev, 0.1)


def test_shrunken_spikes_get_back_what_the_classes_say():
    """Spikes of 300 at multiples of 100 of which their own counts show 200, the rest nearby."""
    truth = np.full(10_000, 3.0)
    truth[::100] = 300
    column, measured = classes_measured(truth)
    starts = np.unique(np.concatenate([np.arange(0, 10_000, 10), np.arange(0, 10_000, 100) + 1]))
    mass = np.add.reduceat(truth, starts)
    seen = mass.copy()
    spikes = np.flatnonzero(starts % 100 == 0)
    seen[spikes] -= 100
    seen[spikes + 1] += 100
    parents = np.arange(0, 10_000, 10)
    pieces, habits = raked(measured, column, Pieces(starts, seen, 10_000), parents)
    place = np.searchsorted(parents, starts, side="right") - 1
    assert np.allclose(np.bincount(place, pieces.mass), np.bincount(place, mass))
    assert np.allclose(pieces.mass[spikes], 300, rtol=0.02)
    assert np.allclose([number for number, _ in habits], [5, 10, 50, 100, 500])


def test_habits_are_the_weights_that_give_back_the_counts_of_the_classes():
    column, _ = classes_measured(np.ones(10_000))
    weights = np.array([1.0, 1, 1, 1, 40, 80])[classes(column)]
    truth = weights * 60_000 / weights.sum()
    _, measured = classes_measured(truth)
    # intervals of 130 points hold one multiple of 100, or two
    starts = np.arange(0, 10_000, 130)
    pieces = Pieces(starts, np.add.reduceat(truth, starts), 10_000)
    same, habits = raked(measured, column, pieces, starts)
    assert np.allclose(same.mass, pieces.mass)
    assert np.allclose([weight for _, weight in habits], [1, 1, 1, 40, 80], rtol=0.02)


def test_without_habits_the_pieces_stay_as_they_are():
    column, measured = classes_measured(np.full(10_000, 3.0), stddev=20.0)
    pieces = Pieces(np.arange(0, 10_000, 10), np.full(1_000, 30.0), 10_000)
    assert raked(measured, column, pieces, np.arange(0, 10_000, 100)) == (pieces, ())


def test_intervals_keep_to_their_number_and_to_forced_edges():
    rng = np.random.default_rng(0)
    for most in (4, 16, 64):
        mass = rng.pareto(0.5, 3000)
        starts = np.sort(rng.choice(np.arange(1, 90_000), 2999, replace=False))
        pieces = Pieces(np.append(0, starts), mass, 90_000)
        forced = (17, 18, 50_000)
        found = choose_intervals(pieces, most=most, stddev=0.1, forced=forced)
        assert set(forced) <= set(found.tolist())
        assert found[0] == 0
        assert len(found) <= 2 * most + TAIL_CUTS + 2 + len(forced)


def test_a_constraint_on_a_fine_column_cuts_an_interval():
    schema = Schema.of(
        {
            **SCHEMA.as_mapping(),
            "constraints": [{"type": "forbid", "where": {"income": {"min": 5_000}, "poor": [1]}}],
        }
    )
    table = synthesize(
        made_up(2_000), schema, epsilon=1.0, kway=2, insecure_noise_seed=1, intervals="no"
    ).table()
    assert not ((table.income >= 5_000) & (table.poor == 1)).any()


def test_multiples_are_drawn_as_their_weights_say():
    rng = np.random.default_rng(0)
    habits = ((10, 3.0), (100, 50.0))
    first, last = np.full(200_000, 95), np.full(200_000, 305)
    drawn = draw_between(first, last, habits, rng)
    weights = np.array(
        [50.0 if v % 100 == 0 else 3.0 if v % 10 == 0 else 1.0 for v in range(95, 306)]
    )
    assert weight_between(first[:1], last[:1], habits)[0] == weights.sum()
    seen = np.bincount(drawn - 95, minlength=211) / len(drawn)
    # a share p has a standard error of √(p/200,000); seven of them: a false alarm in 10^9 runs
    assert (
        np.abs(seen - weights / weights.sum()) < 7 * np.sqrt(weights / weights.sum() / 200_000)
    ).all()


@pytest.mark.parametrize("low", [-7, 0, 13])
def test_grids_hold_every_value_at_its_precision(low):
    column = Schema.of(
        {"columns": {"x": {"type": "number", "min": low, "max": low + 99.5, "decimals": 1}}}
    ).columns["x"]
    steps = np.arange(low * 10, low * 10 + 996)
    codes = [column.place(float(step) / 10) for step in steps]
    assert codes == list(range(996))


def test_sharp_relations_of_numbers_are_kept(release):
    """Correlations were .91 and .83, and a tenth of the records astray, while the fit alone decided
    about empty cells.
    """
    table = release.table()
    assert np.corrcoef(table.x, table.y)[0, 1] > 0.97
    assert np.corrcoef(table.fine, table.rounded)[0, 1] > 0.88
    astray = np.abs(table.y - (2 * table.x + 1))
    assert astray.median() < 150  # intervals of y are about 350 wide where most records are
    assert (astray > 600).mean() < 0.06


def test_rounds_of_queries_follow_what_was_bought():
    """The plan counts the points of the grid. A run that has paid for intervals, of which noise
    leaves few, chooses fewer queries instead of failing.
    """
    import pyarrow as pa

    schema = Schema.of({"columns": {"pay": {"type": "integer", "min": 0, "max": 99_999}}})
    release = synthesize(
        pa.table({"pay": [0] * 200}),
        schema,
        epsilon=0.1,
        delta=1e-9,
        kway=1,
        max_cells=10**6,
        method="rap",
        settings={"rounds": 2, "queries_per_round": 50, "synthetic_rows": 20},
        insecure_noise_seed=1,
        intervals="no",
    )
    assert release.workload.queries < 100
    settings = release.facts.settings
    assert 1 <= settings["rounds"] * settings["queries_per_round"] <= release.workload.queries
