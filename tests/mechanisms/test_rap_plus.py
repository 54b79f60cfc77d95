"""rap++: mixed rows follow halfspaces, at the cost that is planned, and never make the exact loss
larger.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.mechanisms.small import curator_on

from dprap.accounting import Measurement, Neighbors, QueryMeasurement, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms import independent, rap, rap_plus
from dprap.mechanisms.registry import method_named
from dprap.queries import Halfspace, Marginal, Query, Range, Threshold
from dprap.relaxed import answers
from dprap.relaxed.jax.mixed import AnnealingSettings, MixedSpace, MixedTargets, fit_mixed
from dprap.workload import Workload

DOMAIN = Domain.of({"x": 40, "y": 40, "label": 2})
COLUMNS = ("x", "y", "label")
HALFSPACES = Halfspace(COLUMNS, by=("label",), count=400)
WORKLOAD = Workload(
    DOMAIN, (HALFSPACES, Halfspace(COLUMNS, by=("label",), count=200, shape="prefix"))
)
QUICK = rap_plus.RapPlusSettings(
    rounds=4, queries_per_round=15, synthetic_rows=200, fit=AnnealingSettings(levels=8)
)


def diagonal(rows: int = 4000) -> Codes:
    """Two columns on a band around the diagonal; the label says which side of it."""
    rng = np.random.default_rng(0)
    x = rng.integers(3, 37, rows)
    y = x + rng.integers(-3, 4, rows)
    return Codes.of(DOMAIN, {"x": x, "y": y, "label": (y > x).astype(np.int64)})


def mean_error(relaxed) -> float:
    codes = diagonal()
    columns = [codes.column(name) for name in COLUMNS]
    truth = [family.counts(DOMAIN, columns) / codes.rows for family in WORKLOAD.families]
    found = answers(relaxed, WORKLOAD.families)
    return float(
        np.mean([np.abs(one - other).mean() for one, other in zip(truth, found, strict=True)])
    )


@pytest.mark.slow
def test_relations_of_numbers_are_learnt():
    curator = curator_on(diagonal(), epsilon=5.0)
    result = rap_plus.run(curator, WORKLOAD, QUICK, seed=0)
    alone = independent.run(
        curator_on(diagonal(), epsilon=5.0), WORKLOAD, independent.IndependentSettings(), seed=0
    )
    assert curator.remaining == 0
    assert mean_error(result.relaxed) < 0.4 * mean_error(alone.relaxed)
    x, y = (result.relaxed.block(name).argmax(axis=0) for name in ("x", "y"))
    assert np.corrcoef(x, y)[0, 1] > 0.8
    assert np.allclose(result.relaxed.block("x").max(axis=0), 1)


@pytest.mark.parametrize("relation", Relation)
def test_costs_are_those_of_the_plan(relation):
    curator = curator_on(diagonal(), epsilon=1.0, relation=relation)
    rho = curator.rho
    planned = rap_plus.outline(
        WORKLOAD, QUICK, budget_rho=rho, neighbors=Neighbors(relation), rows=None
    )
    assert sum(step.rho for step in planned) == rho
    settings = rap_plus.RapPlusSettings(
        rounds=4, queries_per_round=15, synthetic_rows=20, fit=AnnealingSettings(levels=1, steps=1)
    )
    result = rap_plus.run(curator, WORKLOAD, settings, seed=0)
    assert curator.spent == rho
    single = [item for item in result.measurements if isinstance(item, QueryMeasurement)]
    assert len({item.query for item in single}) == 60
    # half of what is left after the columns, in 60 equal parts; σ = 1/√(2ρ) for a sensitivity of
    # one record
    rest = rho if relation is Relation.REPLACE else rho * Fraction(99, 100)
    each = float(rest * (1 - Fraction(QUICK.columns_share)) / 120)
    assert {item.rho for item in single} == {each}
    assert single[0].stddev_counts == pytest.approx((1 / (2 * each)) ** 0.5)
    columns = [
        item
        for item in result.measurements
        if isinstance(item, Measurement) and item.marginal.columns
    ]
    assert len(columns) == 3


def test_what_the_page_on_numbers_says_of_other_costs():
    """Ten rounds that measure all earlier queries again, and a sum of errors over the cells of a
    marginal of which one record leaves a cell and enters another.
    """
    per_query = Fraction(1, 2)  # 1/(2σ²) at σ = 1
    repeated = sum(number * per_query for number in range(1, 11))
    assert repeated / (10 * per_query) == Fraction(55, 10)
    estimate, counts, neighbour = np.array([[5, 5, 5], [9, 2, 4], [8, 3, 4]])
    scores = [np.abs(table - estimate).sum() for table in (counts, neighbour)]
    assert abs(scores[0] - scores[1]) == 2
    assert Fraction(2, 1) ** 2 / 2 == 2  # ρ = Δ²/(2·scale²): made for √2, it costs twice as much


def test_a_fit_keeps_the_best_by_the_exact_loss():
    space = MixedSpace(DOMAIN, rap_plus.places_of(WORKLOAD))
    codes = diagonal(200)
    rows = rap_plus._start(
        space,
        {
            name: np.bincount(codes.column(name), minlength=DOMAIN.size(name)) / 200
            for name in DOMAIN
        },
        200,
        0,
    )
    queries = [Query(HALFSPACES, index) for index in range(0, 800, 40)]
    queries += [Query(Marginal(("x", "label")), 9), Query(Range(("y",), {"y": "all"}), 77)]
    wanted = np.array(
        [next(iter(answers(space.relaxed(rows), [query.family])))[query.index] for query in queries]
    )
    told: list[tuple[int, int]] = []
    same = fit_mixed(
        rows,
        MixedTargets(space, space.compiled(queries), wanted, np.ones(len(queries))),
        AnnealingSettings(steps=3),
        watch=lambda step, steps: told.append((step, steps)),
    )
    assert told == [(same.steps, same.steps)]
    # answers of the compiled queries are those of the families: the start has no loss, and nothing
    # else is kept
    assert same.misfit < 1e-9
    assert np.array_equal(same.rows.coordinates, rows.coordinates)


def test_what_it_cannot_do_is_refused():
    method = method_named("rap++")
    for families, message in (
        ((Marginal(("x",)),), "needs halfspaces"),
        ((HALFSPACES, Threshold(("x", "y"), 1)), "not 1-of-2"),
        ((HALFSPACES, Range(("label",), {"label": "all"})), "which no halfspaces speak of"),
        (
            (HALFSPACES, Halfspace(("x",), points=(tuple(range(40)),))),
            "place the codes of 'x' differently",
        ),
        ((HALFSPACES, Halfspace(("x", "y"), by=("y",))), "in `by` of another"),
    ):
        with pytest.raises(WorkloadError, match=message):
            method.settings({}).check(Workload(DOMAIN, families))
    with pytest.raises(SettingsError, match="select 300, but the workload has 4"):
        method.settings({}).check(Workload(DOMAIN, (Halfspace(("x",), count=4),)))
    with pytest.raises(WorkloadError, match=r"Use the method rap\+\+"):
        rap.RapSettings().check(WORKLOAD)
