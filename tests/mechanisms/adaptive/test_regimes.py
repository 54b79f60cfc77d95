"""What the mechanism buys in extreme regimes: one marginal, nothing but columns, weights and
targets.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.mechanisms.adaptive.test_adaptive import DOMAIN, FAST, RELATIONS, curator, source

from dprap.accounting import Budget, Measurement, Neighbors
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, Rules, run
from dprap.mechanisms.adaptive.column_estimate import estimate_column
from dprap.mechanisms.adaptive.evidence import first_evidence
from dprap.mechanisms.adaptive.one_marginal import rows_of_cells
from dprap.mechanisms.adaptive.spending import shares_of_columns, spending, walk
from dprap.mechanisms.adaptive.spending_steps import (
    Choose,
    MeasureColumns,
    MeasureOne,
    MeasureWorkload,
)
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.relaxed import cell_table
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway, weighted


def steps_of(workload, *, records, rho=Fraction(1, 100), settings=FAST, public=False):
    taken = []

    def take(step):
        taken.append(step)
        return float(records)

    walk(spending(workload, settings, rho=rho, neighbors=Neighbors(), public=public), take)
    return taken


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_one_marginal_that_answers_the_workload_gets_nearly_everything(neighbors):
    workload = Workload(DOMAIN, (Marginal(("a", "b")), Marginal(("b",))))
    keeper = curator(neighbors)
    result = run(keeper, workload, FAST, seed=0)
    assert keeper.spent == keeper.budget.rho
    assert len(result.measurements[-1].marginal.columns) == 2
    assert result.measurements[-1].rho > 0.9 * float(keeper.budget.rho)
    # The noise of a cell, 13 or 9 counts of 4,000: without shrinking or fitting, a maximum of about
    # three times that.
    assert (
        evaluate(source(), workload, result).max < 5 * result.measurements[-1].stddev_counts / 4000
    )
    assert result.relaxed.weights.sum() == pytest.approx(1, abs=1e-5)


def test_a_relation_over_many_hidden_cells_is_kept():
    """A correlation of .5 over 480 cells of six records each, with noise of seven in each.

    Cell by cell it would be shrunk to less than half.
    """
    rng = np.random.default_rng(1)
    first = rng.integers(0, 12, 3_000)
    second = np.where(rng.random(3_000) < 0.5, first * 10 // 12, rng.integers(0, 10, 3_000))
    columns = {"a": first, "b": second, "c": rng.integers(0, 4, 3_000)}
    domain = Domain.of({"a": 12, "b": 10, "c": 4})
    keeper = Curator(
        MemorySource(Codes.of(domain, columns)),
        budget=Budget.of(epsilon=1.0, delta=1e-7),
        neighbors=Neighbors(),
        ledger=None,
        insecure_noise_seed=1,
    )
    keeper.prepare([Marginal(tuple("abc"))])
    relaxed = run(keeper, all_kway(domain, 3), AdaptiveSettings(), seed=0).relaxed
    pair = np.asarray(cell_table(relaxed, ("a", "b")), np.float64)
    means = [(pair.sum(axis=1 - axis) * np.arange(pair.shape[axis])).sum() for axis in (0, 1)]
    apart = [np.arange(size) - mean for size, mean in zip(pair.shape, means, strict=True)]
    spread = [((pair.sum(axis=1 - axis)) * apart[axis] ** 2).sum() ** 0.5 for axis in (0, 1)]
    kept = (pair * np.outer(*apart)).sum() / np.prod(spread)
    assert kept == pytest.approx(np.corrcoef(first, second)[0, 1], abs=0.1)


def test_a_public_table_or_a_second_marginal_needs_rows_that_are_fitted():
    pair = Workload(DOMAIN, (Marginal(("a", "b")),))
    assert any(isinstance(step, MeasureOne) for step in steps_of(pair, records=4000))
    assert not any(
        isinstance(step, MeasureOne) for step in steps_of(pair, records=4000, public=True)
    )
    assert not any(
        isinstance(step, MeasureOne) for step in steps_of(all_kway(DOMAIN, 2), records=4000)
    )


def test_where_noise_hides_pairs_the_columns_get_everything_and_rows_are_their_product():
    few, many = (steps_of(all_kway(DOMAIN, 2), records=records) for records in (60, 60_000))
    assert [type(step) for step in few if step.rho] == [MeasureColumns]
    assert any(isinstance(step, Choose) for step in many)
    keeper = curator(RELATIONS[0], epsilon=0.01)
    result = run(keeper, all_kway(DOMAIN, 2), FAST, seed=0)
    assert keeper.spent == keeper.budget.rho
    assert result.relaxed.rows == 1


def test_more_families_over_the_same_columns_do_not_leave_columns_alone():
    """120 triples of ten columns have 45 pairs, which are worth what they are as a workload."""
    domain = Domain.of({f"c{number}": 64 for number in range(10)})
    pairs, triples = (steps_of(all_kway(domain, k), records=1_700) for k in (2, 3))
    assert any(isinstance(step, Choose) for step in pairs)
    assert any(isinstance(step, Choose) for step in triples)


def test_the_workload_is_measured_whole_where_as_many_marginals_would_be_chosen_as_there_are():
    pairs = all_kway(Domain.of(dict.fromkeys("abcdef", 4)), 2)
    # ρ = 1/100 is noise of 10 counts: the 15 pairs have a resolution of r = records / 39.
    swept = {
        records: sum(
            float(step.rho)
            for step in steps_of(pairs, records=records)
            if isinstance(step, MeasureWorkload)
        )
        for records in (2_000, 5_000, 20_000)
    }
    assert swept[2_000] == 0
    assert swept[5_000] > 0.8 * 0.01
    assert swept[20_000] > 0
    # With 3-way marginals of many columns few of very many are worth choosing.
    many = all_kway(Domain.of(dict.fromkeys("abcdefghijkl", 4)), 3)
    assert not any(isinstance(step, MeasureWorkload) for step in steps_of(many, records=15_000))


def test_columns_that_noise_hides_are_shrunk_to_equal_shares_and_others_stay():
    counts = np.array([9_000, 1_000])
    clear = estimate_column(counts, 1.0, 10_000.0, Rules())
    hidden = estimate_column(counts, 1e6, 10_000.0, Rules())
    np.testing.assert_allclose(clear.shares, [0.9, 0.1], atol=1e-4)
    np.testing.assert_allclose(hidden.shares, [0.5, 0.5], atol=1e-3)


def test_cells_below_the_noise_stay_with_the_columns_and_cells_above_it_are_believed():
    expected = np.full(2_000, 5.0)
    expected[:2] = 3_000
    noisy = expected + np.random.default_rng(0).normal(0, 100, 2_000)
    noisy[:2] += [2_000, -2_000]
    (evidence,) = first_evidence([Measurement(Marginal(("a",)), noisy, 100.0, 0.1)], [expected])
    counts = evidence.posterior_counts(0.1)
    assert counts.sum() == pytest.approx(expected.sum())
    # Five standard deviations of noise.
    assert np.abs(counts[:2] - [5_000, 1_000]).max() < 500
    assert np.abs(counts[2:] - 5).mean() < 2.5


def test_few_cells_are_believed_by_the_noise_that_their_interaction_has():
    """Two related columns of two codes, with noise of .08 of the records: noisy cells made a
    distribution are off by .08 at the worst.

    The four cells have one interaction between them, with half the noise of a cell. By the noise of
    a cell it would be taken for chance: .125 at the worst.
    """
    domain, truth = Domain.of({"a": 2, "b": 2}), np.array([0.45, 0.05, 0.05, 0.45])
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(200):
        measured = Measurement(Marginal(("a", "b")), 1000 * truth + rng.normal(0, 80, 4), 80.0, 0.1)
        rows = rows_of_cells(domain, measured, (), 1000.0, Rules(), {})
        cells = np.einsum("ar,br,r->ab", rows.block("a"), rows.block("b"), rows.weights).ravel()
        errors.append(np.abs(cells - truth).max())
    # The mean of 200 has a standard error of about .003.
    assert np.mean(errors) < 0.095


def test_cells_far_above_the_noise_are_taken_as_measured():
    domain = Domain.of({"a": 2, "b": 2})
    counts = np.array([45_000, 5_000, 5_000, 45_000]) + np.array([9.0, -7.0, 8.0, -10.0])
    rows = rows_of_cells(
        domain, Measurement(Marginal(("a", "b")), counts, 10.0, 0.1), (), 100_000.0, Rules(), {}
    )
    cells = (
        100_000 * np.einsum("ar,br,r->ab", rows.block("a"), rows.block("b"), rows.weights).ravel()
    )
    # Half a standard deviation; believing .99 of departures of thousands of standard deviations
    # would be off by two.
    assert np.abs(cells - counts).max() < 5


def test_no_cell_is_moved_further_than_noise_goes():
    expected = np.full(40, 100.0)
    noisy = expected + np.where(np.arange(40) == 7, 80.0, 0.0) - 2.0
    (evidence,) = first_evidence([Measurement(Marginal(("a",)), noisy, 20.0, 0.1)], [expected])
    # √(2 ln 40) = 2.7 standard deviations of 20, and what all cells together give back.
    assert evidence.posterior_counts(0.001)[7] > 178 - 2.8 * 20


def test_a_column_that_no_query_asks_about_gets_less_than_any_other_of_its_size():
    domain = Domain.of(dict.fromkeys("abcd", 10))
    shares = shares_of_columns(all_kway(Domain.of(dict.fromkeys("abcd", 10)), 2), Rules())
    assert shares == pytest.approx([0.25] * 4)
    asked = Workload(domain, (Marginal(("a", "b")), Marginal(("a", "c")), Marginal(("b", "c"))))
    a, b, c, outside = shares_of_columns(asked, Rules())
    assert a == b == c > 3 * outside > 0
    assert a + b + c + outside == pytest.approx(1)


def test_weights_of_the_workload_count_in_choosing_and_in_the_sweep():
    domain = Domain.of(dict.fromkeys("abcd", 3))
    workload = weighted(
        domain,
        [(Marginal(("a", "b")), 8.0), (Marginal(("b", "c")), 1.0), (Marginal(("c", "d")), 1.0)],
    )
    steps = steps_of(workload, records=1_000_000)
    (pool,) = {id(step.pool): step.pool for step in steps if isinstance(step, Choose)}.values()
    assert pool.importance_of["a", "b"] == 1
    assert pool.importance_of["c", "d"] == 1 / 8
    (sweep,) = (step for step in steps if isinstance(step, MeasureWorkload))
    assert dict(zip(sweep.marginals, sweep.shares, strict=True))[Marginal(("a", "b"))] == 1
    assert min(sweep.shares) == pytest.approx(1 / 4)


def test_relations_of_a_target_are_candidates_and_count_more():
    domain = Domain.of(dict.fromkeys("abcd", 3))
    workload = Workload(domain, (Marginal(("a", "b")), Marginal(("b", "c"))))
    settings = AdaptiveSettings(targets=("d",))
    steps = steps_of(workload, records=20_000, settings=settings)
    pool = next(step.pool for step in steps if isinstance(step, Choose))
    assert {Marginal(("a", "d")), Marginal(("b", "c", "d"))} <= set(pool.closure)
    assert pool.importance_of["a", "d"] == 1
    assert pool.importance_of["a", "b"] == Rules().beside_target


def test_a_target_that_a_sweep_above_the_noise_measures_changes_nothing():
    """With many records every cell of the sweep stands above its noise; with fewer it does not."""
    domain = Domain.of(dict.fromkeys("abcd", 20))
    workload = Workload(domain, tuple(Marginal((first, "d")) for first in "abc"))
    settings = AdaptiveSettings(targets=("d",))
    for records, changes in ((1_000_000, False), (2_000, True)):
        plain, targeted = (
            next(step.pool for step in steps if isinstance(step, Choose))
            for steps in (
                steps_of(workload, records=records),
                steps_of(workload, records=records, settings=settings),
            )
        )
        assert (plain != targeted) == changes


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_a_marginal_of_all_columns_says_them_too_and_gets_everything(neighbors):
    domain = Domain.of({"a": 4, "b": 3})
    codes = Codes(
        domain,
        tuple(np.random.default_rng(3).integers(0, size, 4000, np.uint8) for size in domain.sizes),
    )
    keeper = Curator(
        MemorySource(codes),
        budget=Budget.of(epsilon=1.0, delta=1e-6),
        neighbors=neighbors,
        ledger=None,
        insecure_noise_seed=1,
    )
    result = run(keeper, Workload(domain, (Marginal(("a", "b")),)), FAST, seed=0)
    assert keeper.spent == keeper.budget.rho
    assert [
        len(item.marginal.columns) for item in result.measurements if item.marginal.columns
    ] == [2]
    # Twelve cells are hopeless beside seven codes only if noise hides both.
    hopeless = Workload(Domain.of({"a": 90, "b": 90}), (Marginal(("a", "b")),))
    (columns,) = (
        step for step in steps_of(hopeless, records=1000) if isinstance(step, MeasureColumns)
    )
    assert columns.rho > Fraction(1, 200)


def test_a_code_that_stands_out_is_neither_smoothed_away_nor_shrunk():
    rng = np.random.default_rng(4)
    truth = np.full(100, 0.05 / 99)
    truth[0] = 0.95
    noisy = 1000 * (truth + rng.normal(0, 0.15, (40, 100)))

    def error(rules):
        found = [estimate_column(counts, 150.0, 1000.0, rules).shares for counts in noisy]
        assert all(shares.sum() == pytest.approx(1) for shares in found)
        return np.median([abs(shares[0] - 0.95) for shares in found])

    # Twice the noise of .15 at most: projecting takes that of the others from it.
    assert error(Rules()) < 0.3
    assert error(Rules(outstanding=99)) > 0.4


def long_tail(codes=16):
    """Shares that rise, fall and thin out, and a code of missing values behind them."""
    shares = np.exp(-0.5 * ((np.log(np.arange(1, codes + 1)) - 1.5) / 0.35) ** 2)
    return np.append(0.9 * shares / shares.sum(), 0.1)


def test_the_end_of_an_ordered_column_is_not_made_of_the_positive_half_of_noise():
    rng = np.random.default_rng(8)
    truth = long_tail()
    noisy = 20_000 * truth + rng.normal(0, 100, (200, 17))

    def last_code(ordered):
        found = [
            estimate_column(counts, 100.0, 20_000.0, Rules(), ordered=ordered).shares[15]
            for counts in noisy
        ]
        return np.mean(found) - truth[15]

    # The seed is fixed. The positive half of the noise has a mean of σ/√(2π): 40 records, .002 of
    # all, of which smoothing leaves more than a half. A tail leaves the last codes what is
    # positive of their sum, most of it in the first of them.
    without_order = last_code(None)
    assert without_order > 0.001
    assert last_code(16) < 0.6 * without_order


def test_a_tail_keeps_what_was_measured_of_it_and_falls():
    truth = long_tail()
    rng = np.random.default_rng(9)
    for _ in range(50):
        counts = 20_000 * truth + rng.normal(0, 100, 17)
        wanted = estimate_column(counts, 100.0, 20_000.0, Rules(), ordered=16).wanted
        measured = counts / 20_000
        run = next(
            length
            for length in range(16)
            if measured[15 - length] > 0.01
            or measured[15 - length : 16].sum() > 0.01 * np.sqrt(length + 1)
        )
        tail = wanted[16 - run : 16]  # of no code, if the last one stands above the noise
        # The shares are shrunk by 1/(1 + (2σ/n)²) at the end, a part in ten thousand.
        assert tail.sum() == pytest.approx(measured[16 - run : 16].sum(), abs=1e-4)
        assert (np.diff(tail) <= 1e-12).all()


def test_a_tail_whose_noise_adds_up_to_nothing_has_shares_all_the_same():
    """Whole counts that add up to 0 add up to 10^-20 as shares: of 2,000 such tails no share is
    lost.
    """
    rng = np.random.default_rng(3)
    positive = 0
    for _ in range(2_000):
        noise = rng.integers(-20, 21, 4)
        counts = np.array([900, 600, 400, *noise, -noise.sum()])
        records = float(rng.integers(1_000, 9_000))
        positive += 0 < (counts[3:] / records).sum() < 1e-15
        shares = estimate_column(counts, 60.0, records, Rules(), ordered=8).shares
        assert shares.sum() == pytest.approx(1)
    assert positive > 100


def test_a_tail_whose_counts_add_up_to_nothing_is_flat():
    # 2 − 3 + 1 = 0, but as shares of 7,000 records they leave 5e-20 by rounding
    counts = np.array([900.0, 800.0, 700.0, 600.0, 2.0, -3.0, 1.0])
    assert 0 < (counts[4:] / 7_000).sum() < 1e-15
    found = estimate_column(counts, 3.0, 7_000.0, Rules(), ordered=7)
    assert np.isfinite(found.shares).all()
    np.testing.assert_allclose(found.wanted[4:], 0.0, atol=1e-6)


def test_missing_values_are_no_neighbours_of_the_last_code():
    def ends(missing, ordered):
        counts = np.append(np.linspace(2_000, 0, 16), missing)
        return estimate_column(counts, 60.0, 20_000.0, Rules(), ordered=ordered).wanted[12:16]

    # What all codes are shrunk towards, by a part in thirty thousand, is their mean.
    np.testing.assert_allclose(ends(300.0, 16), ends(0.0, 16), atol=1e-6)
    assert np.abs(ends(300.0, None) - ends(0.0, None)).max() > 1e-4


def test_a_column_that_noise_hides_has_no_end_and_one_that_rises_keeps_its_last_code():
    hidden = estimate_column(np.zeros(20), 100.0, 1_000.0, Rules(), ordered=20).shares
    assert np.ptp(hidden) < 1e-9
    rising = np.arange(20.0) ** 2
    found = estimate_column(rising * 10, 30.0, rising.sum() * 10, Rules(), ordered=20).shares
    np.testing.assert_allclose(found[-3:], (rising / rising.sum())[-3:], rtol=0.1)


def test_the_truth_misfits_by_its_noise_alone():
    rng = np.random.default_rng(5)
    expected = rng.gamma(0.5, 200.0, 20_000)
    # Most cells depart from what is expected as samples do, some wildly.
    truth = np.maximum(
        expected
        + rng.normal(size=20_000)
        * np.sqrt(expected * rng.choice([0.5, 300.0], 20_000, p=[0.8, 0.2])),
        0,
    )
    noisy = np.rint(truth + rng.normal(0, 20, 20_000)).astype(np.int64)
    (evidence,) = first_evidence([Measurement(Marginal(("a",)), noisy, 20.0, 1.0)], [expected])
    records = truth.sum()
    target = evidence.target(records)
    found = float((target.weights * (target.shares - truth / records) ** 2).sum())
    assert found < 10_000
    # Cells that count are a few thousand, so the chi-square has a standard deviation of about 2%;
    # bins are coarse.
    assert evidence.misfit_of_truth == pytest.approx(found, rel=0.1)
