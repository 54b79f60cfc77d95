from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

from dprap.accounting import Relation
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms import rap
from dprap.mechanisms.projection_theorem import theorem_bound, theorem_line
from dprap.mechanisms.registry import method_named
from dprap.mechanisms.result import Progress
from dprap.queries import Custom, Marginal, Range, Threshold
from dprap.relaxed import answers
from dprap.relaxed.jax.projection import DivergedError, ProjectionSettings
from dprap.workload import Workload, all_kway

WORKLOAD = Workload(DOMAIN, (Marginal(("a", "b", "c")), Marginal(("b", "c", "d"))))
QUICK = ProjectionSettings(max_steps=300, window=20)


def max_error(result: rap.MechanismResult, workload: Workload = WORKLOAD) -> float:
    codes = small_codes()
    assert result.relaxed is not None
    worst = 0.0
    for family, fractions in zip(
        workload.families, answers(result.relaxed, workload.families), strict=True
    ):
        assert not isinstance(family, Custom)
        table = exact_fractions(codes, family.columns).reshape(DOMAIN.shape_of(family.columns))
        worst = max(worst, float(np.abs(family.answers(table).ravel() - fractions).max()))
    return worst


def test_rounds_select_measure_and_fit() -> None:
    curator = curator_on(small_codes(), epsilon=10.0)
    seen: list[Progress] = []
    settings = rap.RapSettings(rounds=6, queries_per_round=3, synthetic_rows=50, projection=QUICK)
    result = rap.run(curator, WORKLOAD, settings, seed=0, progress=seen.append)
    assert curator.remaining == 0
    assert len(result.measurements) == 18
    assert len({measurement.query for measurement in result.measurements}) == 18
    assert {measurement.rho for measurement in result.measurements} == {float(curator.rho / 36)}
    rounds = [step.done for step in seen if step.stage == "round"]
    assert rounds == [1, 2, 3, 4, 5, 6]
    assert max_error(result) < 0.05


@pytest.mark.slow
def test_the_settings_of_the_paper_can_be_had() -> None:
    given = {"rounds": 3, "queries_per_round": 3, "synthetic_rows": 20}
    settings = method_named("rap").settings(given, preset="paper")
    assert settings.projection == ProjectionSettings(
        optimizer="adam",
        learning_rate=1e-3,
        max_steps=5000,
        window=1,
        tolerance=1e-7,
        halvings=0,
        keep="last",
    )
    assert (settings.noise_floor, settings.initial_spread, settings.synthetic_rows) == (
        0.0,
        1.0,
        20,
    )
    curator = curator_on(small_codes(), epsilon=10.0)
    assert len(rap.run(curator, WORKLOAD, settings, seed=0).measurements) == 9
    with pytest.raises(SettingsError, match="no preset 'papers'"):
        method_named("rap").settings({}, preset="papers")


def test_the_accuracy_theorem_is_told_where_it_applies() -> None:
    """The formula of the paper with the figures of ADULT, worked out by hand: 8.30/221 + 1.05/31.6
    at ε = 1.
    """
    facts = {"epsilon": 1.0, "delta": 1e-9, "records": 48842}
    assert theorem_bound(onehot_size=588, k=3, synthetic_rows=1000, **facts) == pytest.approx(
        0.0707, abs=2e-4
    )
    one = {"rounds": 1, "synthetic_rows": 1000}
    assert "root mean square error at most" in (theorem_line("rap", one, WORKLOAD, **facts) or "")
    thresholds = Workload(DOMAIN, (Threshold(("a", "b"), 1),))
    for method, settings, workload, records in (
        ("adaptive", one, WORKLOAD, 9),
        ("rap", one | {"rounds": 2}, WORKLOAD, 9),
        ("rap", one, thresholds, 9),
        ("rap", one, WORKLOAD, None),
    ):
        assert (
            theorem_line(method, settings, workload, epsilon=1.0, delta=1e-9, records=records)
            is None
        )


@pytest.mark.parametrize(
    ("families", "spread"), [(all_kway(DOMAIN, 2), 1.0), (all_kway(DOMAIN, 4), 0.125)]
)
def test_rows_start_nearer_to_uniform_for_products_of_many_columns(
    families: Workload, spread: float
) -> None:
    assert rap.RapSettings().spread_for(families) == spread
    assert rap.RapSettings(initial_spread=0.7).spread_for(families) == 0.7


def test_every_query_may_be_selected_once() -> None:
    workload = Workload(DOMAIN, (Marginal(("a", "b")),))
    result = rap.run(
        curator_on(small_codes(), epsilon=10.0),
        workload,
        rap.RapSettings(rounds=2, queries_per_round=3, synthetic_rows=20, projection=QUICK),
        seed=0,
    )
    assert sorted(m.query.index for m in result.measurements) == list(range(6))


def test_one_round_measures_everything() -> None:
    curator = curator_on(small_codes(), epsilon=10.0)
    settings = rap.RapSettings(
        rounds=1, synthetic_rows=50, projection=ProjectionSettings(max_steps=100, window=20)
    )
    result = rap.run(curator, WORKLOAD, settings, seed=0)
    assert curator.remaining == 0
    assert max_error(result) < 0.05
    assert [measurement.marginal for measurement in result.measurements] == list(WORKLOAD)
    assert sum(measurement.rho for measurement in result.measurements) == pytest.approx(
        float(curator.rho)
    )


def test_the_number_of_records_is_paid_for_where_it_is_private() -> None:
    curator = curator_on(small_codes(), epsilon=10.0, relation=Relation.ADD_REMOVE)
    settings = rap.RapSettings(rounds=3, queries_per_round=3, synthetic_rows=50, projection=QUICK)
    result = rap.run(curator, WORKLOAD, settings, seed=0)
    assert curator.remaining == 0
    assert max_error(result) < 0.15


@pytest.mark.slow
def test_all_query_classes_together() -> None:
    families = (
        Threshold(("a", "b", "c"), 2),
        Range.prefixes(("d", "c"), ("c",)),
        Marginal(("a", "d")),
        Custom("b is c", ("b", "c"), lambda row: jnp.sum(row["b"] * row["c"][:3])),
    )
    settings = rap.RapSettings(rounds=3, queries_per_round=4, synthetic_rows=50, projection=QUICK)
    result = rap.run(
        curator_on(small_codes(), epsilon=10.0), Workload(DOMAIN, families), settings, seed=0
    )
    codes = small_codes()
    assert result.relaxed is not None
    (agree,) = answers(result.relaxed, families[3:])
    assert max_error(result, Workload(DOMAIN, families[:3])) < 0.1
    assert abs(float(agree[0]) - float(np.mean(codes.column("b") == codes.column("c")))) < 0.1


def test_same_seeds_give_the_same_rows() -> None:
    settings = rap.RapSettings(rounds=2, queries_per_round=2, synthetic_rows=20, projection=QUICK)
    first, second = (
        rap.run(curator_on(small_codes()), WORKLOAD, settings, seed=4).relaxed for _ in range(2)
    )
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.probabilities, second.probabilities)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"queries_per_round": 0},
        {"synthetic_rows": 0},
        {"noise_floor": -1.0},
        {"initial_spread": 0.0},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        rap.RapSettings(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_run_is_refused_before_anything_is_spent() -> None:
    curator = curator_on(small_codes())
    with pytest.raises(SettingsError, match="select 60, but the workload has 48"):
        rap.run(curator, WORKLOAD, rap.RapSettings(rounds=6, queries_per_round=10), seed=0)
    broken = Workload(DOMAIN, (Custom("twice", ("a",), lambda row: 2 * row["a"][0]),))
    with pytest.raises(WorkloadError, match="outside"):
        rap.run(curator, broken, rap.RapSettings(rounds=1), seed=0)
    assert curator.spent == 0


def test_a_run_that_diverges_says_what_was_spent() -> None:
    def explode(
        updates: optax.Updates, state: optax.EmptyState, params: object = None
    ) -> tuple[object, optax.EmptyState]:
        del params
        return updates * jnp.inf, state

    hopeless = ProjectionSettings(
        optimizer=optax.GradientTransformation(lambda _: optax.EmptyState(), explode)
    )
    settings = rap.RapSettings(
        rounds=2, queries_per_round=2, synthetic_rows=20, projection=hopeless
    )
    with pytest.raises(DivergedError, match=r"is spent; resume the run from its ledger"):
        rap.run(curator_on(small_codes()), WORKLOAD, settings, seed=0)
