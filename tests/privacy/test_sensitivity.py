"""Measured changes between random neighbours never exceed the declared sensitivities, and reach
them.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from tests.privacy.tables import DOMAIN, codes_of, neighbor_of, random_rows

from dprap.accounting import Budget, Neighbors, Relation
from dprap.errors import BudgetError, SettingsError
from dprap.privacy import Curator, Score
from dprap.privacy.exact_counts import ExactAnswers
from dprap.privacy.scores import ESTIMATE_GRID, MAX_COUNT, grid_estimates
from dprap.privacy.verbs import select
from dprap.queries import GRID, Custom, Halfspace, Marginal, Range, Threshold
from dprap.sources import MemorySource

RELATIONS = [Neighbors(relation, rows) for relation in Relation for rows in (1, 2, 5)]
MARGINALS = [Marginal(()), Marginal(("a",)), Marginal(("c", "a")), Marginal(("a", "b", "c"))]
COLUMNS = ("a", "b", "c")


PARTITIONS = [
    *MARGINALS,
    Marginal(("a", "c"), (None, (0, 2))),
    Marginal(("c", "a", "b"), ((0, 1, 3), (0,), None)),
]


def weird(row):
    """Values far outside [0, 1] on some records: clipping must bound them."""
    return jnp.stack(
        [100.0 * row["a"][1] - 50.0 * row["c"][0], row["b"][2] * 0.3, row["a"][0] * row["c"][3]]
    )


def hard(row):
    """Plain Python without a slope, whose values fill the whole range."""
    return [row["a"][1] != row["c"][0], 0.3 if row["b"][2] else 0.0]


FAMILIES = [
    *PARTITIONS,
    Threshold(COLUMNS, 1),
    Threshold(COLUMNS, 2),
    Range.prefixes(("a", "c"), ("c",)),
    Range.prefixes(COLUMNS, COLUMNS),
    Range(("a", "c"), {"a": "all", "c": "all"}),
    Custom("hard", COLUMNS, hard),
    Halfspace(COLUMNS, by=("a",), count=30),
    Halfspace(COLUMNS, count=30, shape="prefix"),
]


def exact_of(rows):
    return ExactAnswers(MemorySource(codes_of(DOMAIN, rows)))


@cache
def neighbor_pairs(neighbors, pairs):
    """Exact answers on random neighbours: the same ones for every test, which count a marginal
    once.
    """
    generator = np.random.default_rng(len(neighbors.relation) + neighbors.max_rows_per_person)
    made = []
    for _ in range(pairs):
        rows = random_rows(generator, DOMAIN, int(generator.integers(6, 40)))
        made.append((exact_of(rows), exact_of(neighbor_of(generator, DOMAIN, rows, neighbors))))
    return made


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_marginal_norms(neighbors):
    reached = np.zeros(3)
    for one, other in neighbor_pairs(neighbors, 150):
        for marginal in PARTITIONS:
            change = np.abs(one.marginal(marginal) - other.marginal(marginal))
            norms = change.sum(), int((change**2).sum()), change.max()
            limits = neighbors.marginal_l1, neighbors.marginal_l2_squared, neighbors.query
            assert all(norm <= limit for norm, limit in zip(norms, limits, strict=True))
            reached = np.maximum(reached, np.array(norms) / limits)
    assert (reached == 1).all(), (
        "declared sensitivities are reached: they are not merely upper bounds"
    )
    assert neighbors.marginal_l2**2 == pytest.approx(neighbors.marginal_l2_squared)


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_every_query_of_every_family(neighbors):
    largest = 0.0
    for one, other in neighbor_pairs(neighbors, 60):
        for family in FAMILIES:
            (before, unit), (after, same_unit) = one.family(family), other.family(family)
            assert unit == same_unit == (GRID if isinstance(family, Custom) else 1)
            assert np.abs(before - after).max() <= neighbors.query * unit
            largest = max(largest, np.abs(before - after).max() / unit)
    assert largest == neighbors.query


SCORES = [
    Score(),
    Score(cell=0.0, l1=1.0),
    Score(cell=0.0, l1=1.0, threshold_counts=1.5),
    Score(cell=0.3, l1=1.0, threshold_counts=1.5),
    Score(cell=0.0, l1=1.0, summed_cells=[1, 1, 1, 1]),
    Score(cell=0.0, l1=1.0, threshold_counts=1.5, summed_cells=[1, 2, 3, 100]),
    Score(cell=1.0, l1=0.37, weights=[1.0, 0.1, 2.5, 0.7], penalties_counts=[0.0, 3.7, 1e5, -2.0]),
]


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
@pytest.mark.parametrize("score", SCORES)
def test_scores_of_marginals(neighbors, score):
    generator = np.random.default_rng(7)
    on_grid = score.on_grid(len(MARGINALS))
    limit = on_grid.sensitivity(neighbors)
    largest = 0
    for one, other in neighbor_pairs(neighbors, 120):
        for position, marginal in enumerate(MARGINALS):
            estimate = generator.normal(0, 5, marginal.size(DOMAIN))
            before = on_grid.of(position, one.marginal(marginal), estimate)
            after = on_grid.of(position, other.marginal(marginal), estimate)
            assert abs(before - after) <= limit
            largest = max(largest, abs(before - after))
    assert largest > 0.5 * limit, "the bound is of the right size"


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_query_scores_and_certificates(neighbors):
    """The formulas of `select_queries` and `certify`, on all families."""
    generator = np.random.default_rng(11)
    for one, other in neighbor_pairs(neighbors, 40):
        for family in FAMILIES:
            (before, unit), (after, _) = one.family(family), other.family(family)
            estimate = generator.normal(3, 5, before.size)
            for grid in (1, ESTIMATE_GRID):
                whole = grid_estimates(estimate, before.size, unit * grid)
                scores = [np.abs(answers * grid - whole) // unit for answers in (before, after)]
                assert np.abs(scores[0] - scores[1]).max() <= neighbors.query * grid
                assert abs(int(scores[0].max()) - int(scores[1].max())) <= neighbors.query * grid


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_scores_of_queries_move_by_no_more_than_their_picks_are_for(neighbors, monkeypatch):
    """As the verb hands them to the picks: in counts, also of custom queries on their grid."""
    seen = []
    monkeypatch.setattr(select, "pick_top", lambda scores, **_: seen.append(scores) or [0])
    generator = np.random.default_rng(11)
    largest = 0
    for _ in range(12):
        rows = random_rows(generator, DOMAIN, 20)
        other = neighbor_of(generator, DOMAIN, rows, neighbors)
        estimates = [generator.normal(3, 4, family.size(DOMAIN)) for family in FAMILIES]
        for table in (rows, other):
            curator = Curator(
                MemorySource(codes_of(DOMAIN, table)),
                budget=Budget.of(epsilon=1.0, delta=1e-6),
                neighbors=neighbors,
                ledger=None,
            )
            curator.select_queries(FAMILIES, estimates, k=1, rho=curator.rho)
        moved = np.abs(seen[-1] - seen[-2])
        assert moved.max() <= neighbors.query
        largest = max(largest, moved.max())
    assert largest > 0


@pytest.mark.parametrize(
    ("cells", "expected"), [([1], 5), ([2], 7), ([3], 8), ([4], 8), ([9], 8), (None, 8)]
)
def test_only_the_largest_errors_are_summed(cells, expected):
    score = Score(cell=0.0, l1=1.0, threshold_counts=1.0, summed_cells=cells).on_grid(1)
    counts, estimate = np.array([10, 2, 7, 0]), np.array([4.0, 3.0, 10.0, 2.0])
    assert score.of(0, counts, estimate) == expected * 1024 * 64 * 16


def test_scores_do_not_wrap_around():
    """At the limits of tables, estimates, weights and penalties a score is still exact."""
    on_grid = Score(cell=1.0, l1=1.0, weights=[1.0], penalties_counts=[-MAX_COUNT]).on_grid(1)
    step = 1024 * 64 * 16 * MAX_COUNT
    assert on_grid.of(0, np.array([MAX_COUNT, 0]), np.array([-MAX_COUNT, 0.0])) == 5 * step < 2**63
    assert on_grid.of(0, np.array([MAX_COUNT, 0]), np.array([0.0, -MAX_COUNT])) == 4 * step


def test_certificates_do_not_wrap_around():
    """A custom function's sums on the grid of a certificate, at the limit of tables and
    estimates.
    """
    whole = grid_estimates(np.array([-float(MAX_COUNT)]), 1, GRID * ESTIMATE_GRID)
    assert (
        int(np.abs(np.array([MAX_COUNT * GRID]) * ESTIMATE_GRID - whole)[0])
        == 2 * MAX_COUNT * GRID * ESTIMATE_GRID
    )


@pytest.mark.parametrize("estimate", [[np.nan], [np.inf], [1e300], [-(2.0**41)], [1.0, 2.0], []])
def test_bad_estimates_are_refused(estimate):
    with pytest.raises(SettingsError, match="estimates"):
        grid_estimates(np.array(estimate), 1, 256)


def test_estimates_that_add_up_to_nonsense_are_refused():
    estimate = np.full(1000, 2.0**39)
    with pytest.raises(SettingsError, match="add up"):
        Score().on_grid(1).of(0, np.zeros(1000, np.int64), estimate)


@pytest.mark.parametrize(
    "score",
    [
        Score(cell=-1.0),
        Score(cell=0.0, l1=0.0),
        Score(cell=np.nan),
        Score(weights=[0.0]),
        Score(weights=[-1.0]),
        Score(weights=[np.inf]),
        Score(weights=[1.0, 1.0]),
        Score(penalties_counts=[1e200]),
        Score(cell=1e-300, penalties_counts=[1e200]),
        Score(penalties_counts=[1.0, 2.0]),
        Score(summed_cells=[0]),
        Score(summed_cells=[1, 1]),
    ],
)
def test_bad_scores_are_refused(score):
    with pytest.raises(SettingsError):
        score.on_grid(1)


def test_custom_sums_by_cell_are_those_by_record(monkeypatch):
    rows = random_rows(np.random.default_rng(3), DOMAIN, 500)
    mild = Custom("mild", COLUMNS, lambda row: jnp.clip(weird(row), 0, 1))
    by_cell, _ = exact_of(rows).family(mild)
    assert 0 < by_cell.max() <= 500 * GRID
    monkeypatch.setattr("dprap.queries.custom.MAX_TABLE_CELLS", 0)
    # beyond tables, values out of range are clipped
    for family in (mild, Custom("weird", COLUMNS, weird)):
        by_record, _ = exact_of(rows).family(family)
        assert by_cell.tolist() == by_record.tolist()


def test_a_record_moves_a_sum_by_one_whatever_table_a_function_claims(monkeypatch):
    """Should a table ever hold other values than it may, the sums still move by at most GRID."""
    monkeypatch.setattr(
        Custom, "table", lambda *_: np.full((DOMAIN.size_of(COLUMNS), 1), 1000 * GRID)
    )
    rows = random_rows(np.random.default_rng(3), DOMAIN, 50)
    sums, _ = exact_of(rows).family(Custom("lies", COLUMNS, hard))
    assert sums.tolist() == [50 * GRID]


def test_a_record_moves_a_sum_by_one_whatever_a_function_says_of_it(monkeypatch):
    """The same of a function that is evaluated record by record."""
    monkeypatch.setattr(Custom, "size", lambda *_: 2)
    monkeypatch.setattr(
        Custom, "contributions", lambda _, __, codes: np.array([[3 * GRID, -GRID]] * len(codes[0]))
    )
    rows = random_rows(np.random.default_rng(3), DOMAIN, 50)
    sums = exact_of(rows)._summed_records(Custom("lies", COLUMNS, hard))
    assert sums.tolist() == [50 * GRID, 0]


@pytest.mark.parametrize("rows", [0, -1])
def test_bad_bound(rows):
    with pytest.raises(BudgetError):
        Neighbors(Relation.REPLACE, rows)
