"""Intervals of counts, means, quantiles, differences and ratios."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.release.made import made_release

from dprap.errors import WorkloadError
from dprap.release.intervals.basis import Basis, Grounds
from dprap.release.intervals.compound import (
    difference,
    of_one_table,
    product,
    quantile,
    ratio,
    share,
)
from dprap.release.intervals.error_table import LEVELS, Curve, ErrorTable, Kind
from dprap.release.intervals.interval import Interval, count_intervals, mean_interval

Z = stats.norm.ppf((1 + np.array(LEVELS)) / 2)


def release_with(stddev=10.0, *, kinds=tuple(Kind), bases=tuple(Basis)[:-1]):
    curves = [
        Curve(
            kind=kind,
            columns=columns,
            basis=basis,
            sizes=[1.0, 1000.0],
            quantiles=[(stddev * Z).tolist()] * 2,
        )
        for kind in kinds
        for columns in (1, 2, 3, 4)
        for basis in bases
    ]
    return replace(made_release(), errors=ErrorTable(replicates=1, curves=curves))


def test_counts_have_the_width_of_their_errors_within_what_a_count_can_be():
    low, high = count_intervals(release_with(), ("age",), np.array([5.0, 400.0]))
    assert (low.low, low.standard_error) == (0.0, pytest.approx(10.0, rel=1e-3))
    assert (high.low, high.high) == (381.0, 419.0)  # the whole numbers in 400 ± 19.6
    assert high.basis is Basis.MEASURED
    assert high.times(0.001).low == pytest.approx(0.381)


def test_ends_of_counts_are_whole_numbers_and_hold_what_the_interval_held():
    # half widths of .392: 2.1 holds 2 alone, .3 holds 0 alone; 2.5 holds no whole number
    found = count_intervals(release_with(0.2), ("age",), np.array([2.1, 0.3, 2.5, 3.7]))
    assert [(each.low, each.high) for each in found] == [(2, 2), (0, 0), (2, 3), (4, 4)]
    (mean,) = count_intervals(release_with(0.2), ("age",), np.array([2.5]), population=True)
    assert (mean.low % 1, mean.high % 1) != (0, 0)  # a population's expected number is not whole


@pytest.mark.parametrize("rows", [3000, 1_000_000_000])
@pytest.mark.parametrize("population", [False, True])
def test_all_records_are_exactly_as_many_as_there_are(rows, population):
    """The rows of a fit are floats: their shares add up to 1 but for some 10⁻⁷."""
    for drift in (-3e-7, 0.0, 3e-7):
        counts = np.array([rows * (1 + drift)])
        (found,) = count_intervals(
            replace(release_with(), rows=rows), (), counts, population=population
        )
        assert (found.estimate, found.low, found.high) == (rows, rows, rows)
        assert found.standard_error == 0
    everybody = replace(release_with(), rows=rows).ask("", population=population)
    assert (everybody.interval.low, everybody.interval.high) == (rows, rows)
    nobody = replace(release_with(), rows=rows).ask("age > 1000")
    assert (nobody.interval.low, nobody.interval.high) == (0, 0)


def test_population_adds_sampling():
    (plain,) = count_intervals(release_with(), ("age",), np.array([400.0]))
    (wide,) = count_intervals(release_with(), ("age",), np.array([400.0]), population=True)
    assert wide.standard_error == pytest.approx(np.sqrt(plain.standard_error**2 + 400 * 0.6))


def test_what_is_modelled_without_calibration_has_no_interval():
    release = release_with(bases=(Basis.MEASURED,))
    (found,) = count_intervals(release, ("age", "smoker"), np.array([400.0]))
    assert (found.low, found.known) == (None, False)
    assert found.basis.modelled
    assert "no interval" in str(found)


def test_means_scale_with_the_spread():
    found = mean_interval(
        release_with(0.1), ("age",), 4.0, group_count=100.0, spread=2.0, column_spread=2.0
    )
    assert found.standard_error == pytest.approx(0.2, rel=1e-3)
    wide = mean_interval(
        release_with(0.1),
        ("age",),
        4.0,
        group_count=100.0,
        spread=2.0,
        column_spread=2.0,
        population=True,
    )
    assert wide.standard_error == pytest.approx(np.hypot(0.2, 0.2), rel=1e-3)
    # a group that seems to have one value alone is taken to have lost others: half of a hundred
    # records are the column's
    lost = mean_interval(
        release_with(0.1), ("age",), 4.0, group_count=100.0, spread=0.0, column_spread=2.0
    )
    assert lost.standard_error == pytest.approx(0.2 / np.sqrt(2), rel=1e-3)


def interval(estimate, error):
    half = 1.959964 * error
    return Interval(estimate, estimate - half, estimate + half, error, 0.95, Basis.MEASURED)


def test_differences_and_ratios():
    assert difference(interval(50, 3), interval(30, 4)).standard_error == pytest.approx(5.0)
    assert ratio(interval(50, 3), interval(100, 4)).standard_error == pytest.approx(
        np.hypot(3, 2) / 100, rel=0.01
    )
    assert not ratio(interval(50, 3), interval(100, 60)).known  # the second may be 0
    assert not ratio(replace(interval(50, 3), standard_error=None), interval(100, 4)).known
    # of two groups that are everybody, one has too many what the other lacks
    assert of_one_table(40, 60, 100) == -1.0
    apart = difference(interval(40, 3), interval(60, 3), correlation=-1.0)
    assert apart.standard_error == pytest.approx(6.0)
    opposed = ratio(interval(400, 3), interval(600, 3), correlation=-1.0)
    assert opposed.standard_error == pytest.approx(3 / 600 + 400 * 3 / 600**2, rel=0.01)
    # a share f of N has the error ((1 − f)·error of the part − f·error of the rest)/N
    assert share(interval(25, 4), interval(75, 8)).standard_error == pytest.approx(
        np.hypot(0.75 * 4, 0.25 * 8) / 100
    )
    assert share(interval(99, 3), interval(1, 3)).high == 1.0
    none = replace(interval(1, 1), low=None, high=None, standard_error=None)
    assert not difference(none, interval(1, 1)).known


def test_products_and_ratios_of_what_is_not_negative_are_not_negative():
    count, mean = replace(interval(0.1, 0.5), low=0.0), replace(interval(13.0, 113.0), low=0.0)
    assert product(count, mean).low == 0.0
    assert product(count, mean).high == pytest.approx(1.3 + 1.96 * np.hypot(6.5, 11.3), rel=1e-3)
    # a mean that may be negative makes a sum that may be
    assert product(replace(interval(100.0, 1.0), low=98.0), interval(-3.0, 5.0)).low < 0
    assert ratio(replace(interval(2.0, 3.0), low=0.0), interval(100.0, 4.0)).low == 0.0
    assert ratio(interval(2.0, 3.0), interval(100.0, 4.0)).low < 0


def test_a_quantile_lies_where_the_share_below_may_be_the_one_asked_for():
    found = quantile(lambda probability: 1000 * probability**2, interval(0.5, 0.05))
    assert found.estimate == 250
    assert (found.low, found.high) == (
        pytest.approx(1000 * 0.402**2, rel=1e-3),
        pytest.approx(1000 * 0.598**2, rel=1e-3),
    )


def test_questions_about_numbers_and_comparisons_have_intervals():
    release = release_with(0.1)
    median = release.ask("median age where sex = F")
    assert median.all.interval.low <= median.all.value <= median.all.interval.high
    assert any(
        line.startswith("interval: ") and "but no sampling" in line for line in median.lines()
    )
    assert "std. error" in median.lines()[0]
    mean_difference = release.ask(
        "difference of mean age between sex = F versus sex = M where smoker = true"
    )
    first, second, both = mean_difference.figures
    assert both.value == pytest.approx(first.value - second.value)
    errors = [
        first.interval.at_places[1].standard_error,
        second.interval.at_places[0].standard_error,
    ]
    assert both.interval.at_places[1].standard_error == pytest.approx(np.hypot(*errors))
    ratios = release.ask("ratio of count between smoker = true vs smoker = false").figures
    assert ratios[2].value == pytest.approx(ratios[0].value / ratios[1].value)
    assert release.ask("ratio between smoker = true vs smoker = false").figures == ratios
    among = release.ask("share of smoker = true among sex = F").all
    counts = [release.ask(text).count for text in ("smoker = true and sex = F", "sex = F")]
    assert among.value == pytest.approx(counts[0] / counts[1])
    assert among.interval.low < among.value < among.interval.high
    shares = release.ask(
        "difference of share of smoker = true between sex = F versus sex = M"
    ).figures
    assert shares[0].value == pytest.approx(among.value)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("difference of mean age", "between two groups"),
        ("difference between sex = F", "between two groups"),
        ("difference of mean age between sex = F", "between two groups"),
        ("ratio of correlation between sex = F vs sex = M", "one of count, share"),
        ("difference of mean hired between sex = F vs sex = M", "dates are not compared"),
        ("difference of mean age between sex = F vs", "no condition after vs"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(question, says):
    with pytest.raises(WorkloadError, match=says):
        release_with().ask(question)


def test_a_condition_that_leaves_nothing_out_is_no_condition():
    release = release_with()
    whole, plain = (release.ask(text).interval for text in ("sex = F and age in 0..11", "sex = F"))
    assert (whole.basis, whole.standard_error) == (plain.basis, plain.standard_error)
    assert whole.low == pytest.approx(plain.low)


def test_an_answer_with_its_interval_in_words_and_as_data():
    release = release_with()
    answered = release.ask("sex = F", by=["age"])
    lines = answered.lines()
    assert "95% interval" in lines[0]
    assert any(line.startswith("interval: measured; it holds noise") for line in lines)
    assert answered.as_data()["groups"][0]["interval"]["level"] == 0.95
    assert "sampling from a population" in " ".join(release.ask("sex = F", population=True).lines())
    without = made_release().ask("age in 4..7 and smoker = true")
    assert any("no interval" in line for line in without.lines())


def test_a_column_that_no_measurement_has_leaves_an_answer_without_interval():
    """Nothing says how far off a column is that nobody measured; the intervals of pairs are far too
    narrow for it.
    """
    measured = frozenset({frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"})})
    grounds = Grounds(measured, measured, measured)
    assert grounds.basis_of(["a", "b"]) is Basis.MEASURED
    for asked in (["c"], ["a", "c"], ["a", "b", "c"]):
        assert grounds.basis_of(asked) is Basis.UNSEEN
    curves = [
        Curve(kind=Kind.CELL, columns=2, basis=basis, sizes=[1.0], quantiles=[[1.0] * 6])
        for basis in Basis
        if basis is not Basis.UNSEEN
    ]
    assert (
        ErrorTable(replicates=1, curves=curves).half_widths(
            Kind.CELL, (2,), Basis.UNSEEN, np.ones(1), 0.95
        )
        is None
    )


def test_ratios_of_unsure_numbers_hold_the_truth_as_often_as_they_say():
    """A share of .95 has a standard error of .005 here."""
    rng = np.random.default_rng(0)
    draws = rng.normal((100, 60), (10, 9), (2_000, 2))
    found = [
        ratio(
            *(
                Interval(value, value, value, error, 0.95, Basis.MEASURED)
                for value, error in zip(pair, (10, 9), strict=True)
            )
        )
        for pair in draws
    ]
    held = [each.low <= 100 / 60 <= each.high for each in found if each.known]
    assert len(held) > 1_900
    assert 0.93 < np.mean(held) < 0.97
    # nearer to 0 than two half widths: no interval, though Fieller's method would give one
    near = [Interval(each, each, each, 10.0, 0.95, Basis.MEASURED) for each in (100.0, 39.0, 40.0)]
    assert not ratio(near[0], near[1]).known
    assert ratio(near[0], near[2]).known
