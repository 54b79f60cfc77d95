"""Constraints of the schema hold in every synthetic record."""

import numpy as np
import pytest

from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.relaxed import RelaxedDataset, uniform_weights
from dprap.release.draw_records import draw_table
from dprap.schema import Schema

COLUMNS = {
    "school": {"type": "categorical", "values": ["none", "basic", "high"]},
    "years": {"type": "integer", "min": 0, "max": 3},
    "retired": {"type": "boolean"},
}

YEARS_OF_SCHOOL = {
    "type": "determines",
    "from": "school",
    "to": "years",
    "map": {"none": 0, "basic": 2, "high": 3},
}


def schema(constraints: list[dict]) -> Schema:
    return Schema.of({"columns": COLUMNS, "constraints": constraints})


def assert_years_follow(codes: Codes) -> None:
    np.testing.assert_array_equal(
        codes.column("years"), np.array([0, 2, 3])[codes.column("school")]
    )


def uniform_rows(described: Schema, rows: int = 3) -> RelaxedDataset:
    block = np.concatenate([np.full(size, 1 / size) for size in described.domain.sizes])
    probabilities = np.repeat(block[:, None], rows, axis=1).astype(np.float32)
    return RelaxedDataset(described.domain, probabilities, uniform_weights(rows))


def test_forbidden_combinations_never_occur_and_the_rest_keeps_its_odds():
    described = schema([{"type": "forbid", "where": {"school": ["high"], "years": {"max": 1}}}])
    codes = draw_table(uniform_rows(described), described, [], rows=6000, seed=0)
    table = np.zeros((3, 4))
    np.add.at(table, (codes.column("school"), codes.column("years")), 1)
    assert table[2, :2].sum() == 0
    possible = np.delete(table.ravel(), [8, 9])
    # ten cells of 600 expected records each; the draw is seeded, and six standard deviations are
    # far off by chance
    assert np.abs(possible - 600).max() < 6 * np.sqrt(600)


def test_determined_columns_follow():
    described = schema([YEARS_OF_SCHOOL])
    codes = draw_table(uniform_rows(described), described, [], rows=500, seed=1)
    assert_years_follow(codes)


def test_sums_leave_every_column_its_counts():
    """Rows know fare and tip, and where there is a tip only half of what the total is. Drawn again
    until the sum holds, 69% of the records have no tip, and not 54%.
    """
    described = Schema.of(
        {
            "columns": {
                "fare": {"type": "integer", "min": 0, "max": 19},
                "tip": {"type": "integer", "min": 0, "max": 9},
                "total": {"type": "integer", "min": 0, "max": 28},
            },
            "constraints": [
                {"type": "sum", "parts": ["fare", "tip"], "total": "total", "relation": "="}
            ],
        }
    )
    rng = np.random.default_rng(0)
    fare, tip = rng.integers(0, 20, 300), rng.integers(1, 10, 300) * (rng.random(300) < 0.5)
    blocks = [np.eye(20)[:, fare], np.eye(10)[:, tip]]
    exact = np.eye(29)[:, fare + tip]
    blurred = 0.5 * exact + 0.5 * exact[:, tip > 0].mean(axis=1, keepdims=True)
    blocks.append(np.where(tip > 0, blurred, exact))
    relaxed = RelaxedDataset(
        described.domain, np.concatenate(blocks).astype(np.float32), uniform_weights(300)
    )
    codes = draw_table(relaxed, described, [("fare", "tip"), ("tip", "total")], rows=6000, seed=0)
    fares, tips, totals = (column.astype(int) for column in codes.columns)
    np.testing.assert_array_equal(fares + tips, totals)
    assert abs((tips == 0).mean() - (tip == 0).mean()) < 0.02
    shares = np.bincount(fares, minlength=20) / 6000
    assert np.abs(shares - np.bincount(fare, minlength=20) / 300).max() < 0.01


def rows_where_years_go_with_retired(described: Schema) -> RelaxedDataset:
    """Four rows: years 0 and 2 of people at work, 2 and 3 of retired ones; schools are unrelated to
    both.
    """
    relaxed = uniform_rows(described, rows=4)
    years, retired = described.domain.offset("years"), described.domain.offset("retired")
    probabilities = relaxed.probabilities.copy()
    probabilities[years : years + 4] = np.eye(4)[:, [0, 2, 2, 3]]
    probabilities[retired : retired + 2] = np.eye(2)[:, [0, 0, 1, 1]]
    return RelaxedDataset(described.domain, probabilities, relaxed.weights)


def test_a_source_without_relations_leaves_those_of_what_it_determines():
    described = schema([YEARS_OF_SCHOOL])
    relaxed = rows_where_years_go_with_retired(described)
    codes = draw_table(relaxed, described, [("years", "retired")], rows=4000, seed=1)
    assert_years_follow(codes)
    table = np.zeros((4, 2))
    np.add.at(table, (codes.column("years"), codes.column("retired")), 1)
    np.testing.assert_array_equal(table, [[1000, 0], [0, 0], [1000, 1000], [0, 1000]])


def test_a_source_with_relations_of_its_own_still_sets_what_it_determines():
    described = schema([YEARS_OF_SCHOOL])
    relaxed = rows_where_years_go_with_retired(described)
    codes = draw_table(
        relaxed, described, [("years", "retired"), ("school", "retired")], rows=3000, seed=1
    )
    assert_years_follow(codes)
    # Each school has a third in all rows, so a source that sets its target keeps that.
    np.testing.assert_allclose(np.bincount(codes.column("school")), 1000, atol=1)


def test_target_codes_that_no_source_has_are_set_by_the_source():
    described = schema([YEARS_OF_SCHOOL])
    codes = draw_table(uniform_rows(described), described, [("years", "retired")], rows=600, seed=1)
    assert_years_follow(codes)


def test_conditions_win_over_setting_a_determined_column():
    described = schema([YEARS_OF_SCHOOL])
    relaxed = uniform_rows(described)
    start = described.domain.offset("years")
    only_two = relaxed.probabilities.copy()
    only_two[start : start + 4] = np.array([0.0, 0, 1, 0])[:, None]
    relaxed = RelaxedDataset(described.domain, only_two, relaxed.weights)
    codes = draw_table(relaxed, described, [], rows=300, seed=2, conditioned_on=("years",))
    assert set(codes.column("years").tolist()) == {2}
    assert set(codes.column("school").tolist()) == {1}


def test_constraints_that_rule_out_everything_are_an_error():
    described = schema([{"type": "forbid", "where": {"retired": [True, False]}}])
    with pytest.raises(SettingsError, match="constraints rule out"):
        draw_table(uniform_rows(described), described, [], rows=10, seed=3)
