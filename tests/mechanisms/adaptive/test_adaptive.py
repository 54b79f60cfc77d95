"""The adaptive mechanism: what it spends, what it believes, and that it learns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dprap.accounting import Budget, Measurement, Neighbors, Relation
from dprap.counting import CellCounts
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, Rules, run
from dprap.mechanisms.adaptive.choosing import choose, score_of
from dprap.mechanisms.adaptive.evidence import Evidence, first_evidence
from dprap.mechanisms.adaptive.smoothing import smooth
from dprap.mechanisms.adaptive.spending import after_columns, rho_of_columns
from dprap.mechanisms.adaptive.spending_steps import Choose, MeasureWorkload, Pool
from dprap.mechanisms.independent import IndependentSettings
from dprap.mechanisms.independent import run as run_independent
from dprap.mechanisms.record_count import estimate_records
from dprap.mechanisms.result import silent
from dprap.privacy import Curator
from dprap.queries import Marginal, Threshold
from dprap.relaxed import answers
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway

DOMAIN = Domain.of({"a": 4, "b": 4, "c": 3, "d": 2})
FAST = AdaptiveSettings(synthetic_rows=40, steps=40, final_steps=80)
RELATIONS = [Neighbors(Relation.REPLACE), Neighbors(Relation.ADD_REMOVE)]


def source(rows: int = 4000) -> MemorySource:
    """b follows a, c follows both: a product of columns is far off."""
    generator = np.random.default_rng(0)
    a = generator.integers(0, 4, rows)
    b = np.where(generator.random(rows) < 0.8, a, generator.integers(0, 4, rows))
    c = (a + b) % 3
    d = generator.integers(0, 2, rows)
    return MemorySource(Codes.of(DOMAIN, {"a": a, "b": b, "c": c, "d": d}))


def rounds_of(steps) -> list[Choose]:
    return [step for step in steps if isinstance(step, Choose)]


def curator(neighbors: Neighbors, *, seed: int = 1, epsilon: float = 1.0) -> Curator:
    budget = Budget.of(epsilon=epsilon, delta=1e-7)
    return Curator(
        source(), budget=budget, neighbors=neighbors, ledger=None, insecure_noise_seed=seed
    )


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_spends_the_whole_budget_to_the_last_digit(neighbors):
    keeper = curator(neighbors)
    result = run(keeper, all_kway(DOMAIN, 3), FAST, seed=0)
    assert keeper.spent == keeper.budget.rho
    assert result.relaxed is not None
    assert {len(m.marginal.columns) for m in result.measurements} >= {1, 2}


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_learns_what_independent_columns_cannot(neighbors):
    workload = all_kway(DOMAIN, 3)
    fitted = evaluate(source(), workload, run(curator(neighbors), workload, FAST, seed=0))
    product = run_independent(
        curator(neighbors), workload, IndependentSettings(), seed=0, progress=silent
    )
    unrelated = evaluate(source(), workload, product)
    assert fitted.tv < unrelated.tv / 3
    assert fitted.max < unrelated.max / 3


def test_workload_of_single_columns_needs_no_rounds():
    keeper = curator(RELATIONS[0])
    result = run(keeper, all_kway(DOMAIN, 1), FAST, seed=0)
    assert keeper.spent == keeper.budget.rho
    assert all(len(m.marginal.columns) == 1 for m in result.measurements)


def test_thresholds_are_answered_through_their_marginals():
    keeper = curator(RELATIONS[0])
    workload = Workload(DOMAIN, (Threshold(("a", "b", "c"), 2),))
    errors = evaluate(source(), workload, run(keeper, workload, FAST, seed=0))
    assert errors.max < 0.1


def test_same_seeds_same_rows():
    first, second = (
        run(curator(RELATIONS[0]), all_kway(DOMAIN, 2), FAST, seed=3) for _ in range(2)
    )
    assert first.relaxed is not None
    assert second.relaxed is not None
    np.testing.assert_array_equal(first.relaxed.probabilities, second.relaxed.probabilities)


@pytest.mark.parametrize("objective", ["largest_errors", "max", "mean"])
@pytest.mark.parametrize("rho", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1)])
def test_schedule_adds_up_and_grows_with_the_budget(rho, objective):
    settings = AdaptiveSettings(objective=objective)
    neighbors = Neighbors()
    columns = rho_of_columns(
        all_kway(DOMAIN, 3), settings, rho=rho, records=1e5, neighbors=neighbors
    )
    assert 0 < columns <= rho / 3
    steps = after_columns(
        all_kway(DOMAIN, 3), settings, rho=rho, left=rho - columns, records=1e5, neighbors=neighbors
    )
    assert sum(step.rho for step in steps) == rho - columns
    assert all(step.marginals and step.rho for step in steps if isinstance(step, MeasureWorkload))
    assert {m for m in rounds_of(steps)[0].pool.candidates if len(m.columns) == 2} == set(
        all_kway(DOMAIN, 2)
    )
    assert sum(each.picks for each in rounds_of(steps)) >= len(DOMAIN) // 2


def test_rounds_stay_as_few_as_asked_for_where_candidates_are_few():
    workload = all_kway(Domain.of({"a": 4, "b": 4, "c": 3}), 2)
    settings, neighbors, rho = AdaptiveSettings(rounds=2), Neighbors(), Fraction(1)
    steps = after_columns(workload, settings, rho=rho, left=rho, records=1e4, neighbors=neighbors)
    assert len(rounds_of(steps)) == 2
    assert all(each.picks <= 3 for each in rounds_of(steps))
    assert sum(step.rho for step in steps) == rho


@pytest.mark.parametrize("usual", [0.01, 0.2, 0.99])
def test_choosing_gets_its_share_of_every_pick(usual):
    rho = Fraction(1, 1000)
    settings = AdaptiveSettings(selection_share=usual, sweep_share=0.0)
    steps = after_columns(
        all_kway(DOMAIN, 3), settings, rho=rho, left=rho, records=1e5, neighbors=Neighbors()
    )
    assert rounds_of(steps)
    for each in rounds_of(steps):
        assert each.rho_each / (each.rho_each + each.measure_rho_each) == Fraction(usual)


@pytest.mark.parametrize("seed", range(5))
def test_picks_of_a_round_have_no_pair_of_columns_in_common_while_there_are_others(seed):
    keeper = curator(RELATIONS[0], seed=seed)
    candidates = [Marginal(tuple(columns)) for columns in ("ab", "abc", "abd", "cd")]
    estimates = [np.zeros(marginal.size(DOMAIN)) for marginal in candidates]
    price = keeper.remaining / 10
    step = Choose(Pool((), (), 1.0, {}), 4, price, price)
    chosen = choose(keeper, candidates, estimates, step, AdaptiveSettings(objective="mean"))
    assert sorted(chosen) == [0, 1, 2, 3]
    assert 3 in chosen[:2]
    assert keeper.spent == 4 * price


WIDE_DOMAIN = Domain.of(dict.fromkeys("abcd", 4) | {"e": 64, "f": 4})


@pytest.mark.parametrize(
    ("objective", "marginal", "sharp_first"),
    [
        ("largest_errors", Marginal(("e", "f")), True),
        ("largest_errors", Marginal(("a", "b", "c", "d"), (None, None, None, (0, 1, 2, 3))), False),
        ("max", Marginal(("e", "f")), True),
        ("mean", Marginal(("e", "f")), False),
    ],
)
def test_what_is_a_little_wrong_everywhere_comes_after_a_sharp_relation_unless_broad_or_the_mean_is_asked_for(
    objective, marginal, sharp_first
):
    stddev_counts = 100.0
    settings = AdaptiveSettings(objective=objective)
    score = score_of([marginal], [1.0], WIDE_DOMAIN, stddev_counts, settings).on_grid(1)
    cells = marginal.size(WIDE_DOMAIN)
    sharp = np.zeros(cells)
    sharp[:4] = 10 * stddev_counts
    wide = np.full(cells, stddev_counts)
    nothing = np.zeros(cells, np.int64)
    assert (score.of(0, nothing, sharp) > score.of(0, nothing, wide)) == sharp_first


def test_evidence_combines_by_inverse_variance():
    first = Measurement(Marginal(("d",)), np.array([10, 20]), 1.0, 0.5)
    second = Measurement(Marginal(("d",)), np.array([16, 14]), 2.0, 0.125)
    (item,) = first_evidence([first], [np.array([12.0, 18.0])])
    combined = item.again(second)
    np.testing.assert_allclose(combined.counts, [(10 + 16 / 4) / 1.25, (20 + 14 / 4) / 1.25])
    assert combined.stddev_counts == pytest.approx(1.25**-0.5)


def measured(counts, stddev: float) -> Measurement:
    return Measurement(Marginal(("a",)), np.rint(counts).astype(np.int64), stddev, 0.5)


def test_evidence_trusts_clear_departures_and_doubts_noise():
    generator = np.random.default_rng(0)
    quiet = np.full(4000, 50.0)
    noisy = quiet + generator.normal(0, 30, 4000)
    noisy[7] += 1000
    (item,) = first_evidence([measured(noisy, 30.0)], [quiet])
    weights = item.target(1000.0).weights
    full = 1000.0**2 / 30.0**2
    assert weights[7] > 0.9 * full
    assert np.delete(weights, 7).mean() < 0.1 * full
    (flat,) = first_evidence([measured(quiet, 30.0)], [quiet])
    assert flat.target(1000.0).weights.max() < 0.1 * full, (
        "no departure at all: the model before stands"
    )
    np.testing.assert_allclose(item.target(1000.0, shrink=False).weights, full, rtol=1e-6)


def departing(
    generator: np.random.Generator, expected: np.ndarray, dispersion: float
) -> tuple[np.ndarray, Measurement]:
    truth = expected + generator.normal(0, np.sqrt(dispersion * expected))
    return truth, measured(truth + generator.normal(0, 80.0, len(expected)), 80.0)


def test_dispersion_is_learned_from_the_marginal_and_from_those_measured_with_it():
    generator = np.random.default_rng(0)
    expected = generator.gamma(0.3, 2000.0, 4000) + 0.1
    _, noisy = departing(generator, expected, 20.0)
    (alone,) = first_evidence([noisy], [expected])
    known = Evidence(
        alone.marginal,
        alone.counts,
        80.0,
        expected,
        np.tile(np.arange(20) == 7.0, (10, 1)).astype(float),
    )
    assert known.dispersion == pytest.approx(16.2, rel=0.01)
    weights, ideal = alone.target(1000.0).weights, known.target(1000.0).weights
    assert np.corrcoef(weights, ideal)[0, 1] > 0.9
    small = Measurement(Marginal(("b",)), np.array([100, 300]), 80.0, 0.5)
    (unsure,) = first_evidence([small], [np.array([120.0, 280.0])])
    _, lifted = first_evidence([noisy, small], [expected, np.array([120.0, 280.0])])
    assert lifted.dispersion > 2 * unsure.dispersion


def test_weights_shrink_as_the_best_linear_estimate_would():
    """Shrunk by the learned weights, residuals come nearer to the truth than raw or ignored ones
    do, tails included.
    """
    generator = np.random.default_rng(1)
    expected = generator.gamma(0.3, 2000.0, 4000) + 0.1
    dispersions = np.where(generator.random(4000) < 0.02, 3000.0, 1.0)
    truth = expected + generator.normal(0, np.sqrt(dispersions * expected))
    noisy = measured(truth + generator.normal(0, 80.0, 4000), 80.0)
    (item,) = first_evidence([noisy], [expected])
    reliability = item.target(1.0).weights * 80.0**2
    ideal = dispersions * expected / (dispersions * expected + 80.0**2)

    def loss(shares: np.ndarray) -> float:
        return float(np.mean((expected + shares * (noisy.counts - expected) - truth) ** 2))

    assert loss(reliability) < 0.6 * min(loss(np.zeros(4000)), loss(np.ones(4000)))
    assert loss(reliability) < 2 * loss(ideal)


def test_a_fit_afresh_starts_where_the_first_one_did():
    """With one fit there is nothing to forget; with two the second goes on from the first, or does
    not.
    """
    workload = all_kway(DOMAIN, 2)
    always = {"afresh_from_codes": 0}

    def rows(rounds: int, rules: dict[str, int]) -> np.ndarray:
        settings = AdaptiveSettings(
            synthetic_rows=10,
            steps=5,
            final_steps=5,
            rounds=rounds,
            picks=4,
            sweep_share=0.0,
            jitter=0.5,
            rules=rules,
        )
        return run(curator(RELATIONS[0]), workload, settings, seed=0).relaxed.probabilities

    np.testing.assert_array_equal(rows(1, always), rows(1, {"afresh_up_to_picks": 0}))
    assert np.abs(rows(2, always) - rows(2, {"afresh_up_to_picks": 0})).max() > 0.01


def test_former_word_of_an_objective_is_understood():
    assert AdaptiveSettings(objective="blend") == AdaptiveSettings(objective="largest_errors")


def test_rules_come_as_plain_data_too():
    changed = AdaptiveSettings(rules={"smooth_columns": False, "cells_that_count": 4})
    assert changed.rules == Rules(smooth_columns=False, cells_that_count=4)


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_a_result_says_its_records_and_steps(neighbors):
    result = run(curator(neighbors), all_kway(DOMAIN, 3), FAST, seed=0)
    assert result.steps >= 80
    assert (result.steps - 80) % 40 == 0
    if neighbors.rows_are_public:
        assert result.records == 4000
    else:
        # Five sums of noisy counts agree on n to a few standard deviations: false alarm below 1e-6
        # at 5 sigma.
        one_way = [m for m in result.measurements if len(m.marginal.columns) <= 1]
        stddev = sum(1 / (len(m.counts) * m.stddev_counts**2) for m in one_way) ** -0.5
        assert result.records == estimate_records(one_way)
        assert abs(result.records - 4000) < 5 * stddev


def test_smoothing_takes_noise_out_of_ordered_codes_and_leaves_the_rest():
    codes = np.arange(100)
    slow = 800 * np.exp(-(((codes - 30) / 25) ** 2))
    slow[60] += 5000
    rough = np.random.default_rng(1).permutation(slow)
    noise = np.random.default_rng(2).normal(0, 300, (20, 100))

    def error(truth) -> float:
        return float(
            np.mean([np.abs(smooth(truth + each, 300.0**2) - truth).sum() for each in noise])
        )

    as_measured = float(np.abs(noise).sum(axis=1).mean())
    assert error(slow) < 0.5 * as_measured
    assert error(rough) < 1.05 * as_measured
    assert abs(smooth(slow + noise[0], 300.0**2)[60] - slow[60]) < 1500, "a spike stays"


def test_sweep_comes_with_the_resolution_and_not_for_too_many_marginals():
    neighbors = Neighbors()

    def swept(rho: Fraction, workload: Workload) -> Fraction:
        steps = after_columns(
            workload, AdaptiveSettings(), rho=rho, left=rho, records=1e5, neighbors=neighbors
        )
        return (
            sum((step.rho for step in steps if isinstance(step, MeasureWorkload)), Fraction(0))
            / rho
        )

    few, many = all_kway(DOMAIN, 3), all_kway(DOMAIN, 2)
    shares = [swept(Fraction(rho), few) for rho in ("1e-7", "1e-5", "1e-3")]
    # None, then 95% since there is nothing to choose among so few, then what the resolution says: a
    # little less.
    assert shares[0] == 0
    assert min(shares[1:]) > Fraction(4, 5)
    assert swept(Fraction("3e-6"), many) < swept(Fraction("3e-6"), few)


def test_everything_large_is_kept_out_of_schedule():
    wide = Domain.of({"zip": 50_000, "code": 1001, "sex": 2})
    steps = after_columns(
        all_kway(wide, 2, max_cells=10**8),
        AdaptiveSettings(),
        rho=Fraction(1, 10),
        left=Fraction(1, 10),
        records=1e7,
        neighbors=Neighbors(),
    )
    swept = [
        marginal
        for step in steps
        if isinstance(step, MeasureWorkload)
        for marginal in step.marginals
    ]
    candidates = rounds_of(steps)[0].pool.candidates
    assert Marginal(("zip", "code")) not in (*candidates, *swept)
    assert Marginal(("zip", "sex")) in candidates


@pytest.mark.parametrize(
    "bad",
    [
        {"objective": "best"},
        {"synthetic_rows": 0},
        {"rounds": 0},
        {"selection_share": 1.0},
        {"learning_rate": 11.0},
        {"sweep_share": 1.0},
        {"kl": -1.0},
        {"one_way_share": 0.99},
        {"rules": {"no_such_rule": 1}},
        {"rules": {"most_rounds": 0}},
        {"rules": {"most_rounds": None}},
        {"rules": {"long_from_codes": "many"}},
        {"rules": ["shrink_cells"]},
        {"rules": {"least_sweep": 1.5}},
        {"rules": {"sweep_rest": 0.0}},
        {"rules": {"cells_per_resolution": 0.0}},
        {"rules": {"columns_spread_equally": 1.0}},
        {"rules": {"jitter": float("nan")}},
        {"rules": {"least_for_columns": 0.9}},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(SettingsError):
        AdaptiveSettings(**bad)


@dataclass(frozen=True)
class ManyTimes:
    """Counts of a table in which every record stands many times, as an engine would give them."""

    once: MemorySource
    times: int

    @property
    def domain(self) -> Domain:
        return self.once.domain

    @property
    def rows(self) -> int:
        return self.times * self.once.rows

    def fingerprint(self) -> str:
        return f"{self.times} times {self.once.fingerprint()}"

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        return [
            replace(found, counts=found.counts.astype(np.int64) * self.times)
            for found in self.once.count(marginals)
        ]


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_ten_billion_records_are_chosen_measured_and_certified(neighbors):
    """Counts beyond 2^32: noise stays as it is, so that what is measured is nearly exact."""
    many = ManyTimes(source(), 2_500_000)
    assert many.rows == 10**10
    budget = Budget.of(epsilon=1.0, delta=1e-21)
    keeper = Curator(many, budget=budget, neighbors=neighbors, ledger=None, insecure_noise_seed=2)
    keeper.set_aside(budget.rho / 10)
    workload = all_kway(DOMAIN, 2)
    result = run(keeper, workload, FAST, seed=0)
    for item in result.measurements:
        if item.marginal.groups is None:
            (exact,) = many.count([item.marginal])
            # 7 standard deviations: a false alarm in one of 10^11 cells
            assert np.abs(item.counts - exact.dense()).max() < 7 * item.stddev_counts
    assert result.relaxed is not None
    shares = list(answers(result.relaxed, workload.families))
    keeper.set_aside(0)
    certificate = keeper.certify(
        workload.families, [each * 1e10 for each in shares], rho=keeper.remaining
    )
    worst = max(
        np.abs(1e10 * each - exact.dense()).max()
        for each, exact in zip(shares, many.count(workload.families), strict=True)
    )
    assert certificate.upper_bound_counts >= 0.999 * worst
    assert worst < 0.02 * many.rows
