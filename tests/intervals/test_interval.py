"""Intervals of counts, means, quantiles, differences and ratios."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.release.made import made_release

from dprap.release.intervals.basis import Basis
from dprap.release.intervals.error_table import LEVELS, Curve, ErrorTable, Kind
from dprap.release.intervals.interval import (
    Interval,
    count_intervals,
    difference,
    mean_interval,
    quantile_interval,
    ratio,
)

Z = stats.norm.ppf((1 + np.array(LEVELS)) / 2)


def release_with(stddev=10.0, *, kinds=tuple(Kind), bases=tuple(Basis)):
    curves = [
        Curve(kind=kind, columns=columns, basis=basis, sizes=[1.0, 1000.0], quantiles=[(stddev * Z).tolist()] * 2)
        for kind in kinds
        for columns in (1, 2, 3, 4)
        for basis in bases
    ]
    return replace(made_release(), errors=ErrorTable(replicates=1, curves=curves))


def test_counts_have_the_width_of_their_errors_within_what_a_count_can_be():
    low, high = count_intervals(release_with(), ("age",), np.array([5.0, 400.0]))
    assert (low.low, low.standard_error) == (0.0, pytest.approx(10.0, rel=1e-3))
    assert (high.low, high.high) == (pytest.approx(380.4, abs=0.1), pytest.approx(419.6, abs=0.1))
    assert high.basis is Basis.MEASURED
    assert high.times(0.001).low == pytest.approx(0.3804, abs=1e-4)


def test_population_adds_sampling():
    (plain,) = count_intervals(release_with(), ("age",), np.array([400.0]))
    (wide,) = count_intervals(release_with(), ("age",), np.array([400.0]), population=True)
    assert wide.standard_error == pytest.approx(np.sqrt(plain.standard_error**2 + 400 * 0.6))


def test_what_is_modelled_without_calibration_has_no_interval():
    release = release_with(bases=(Basis.MEASURED,))
    (found,) = count_intervals(release, ("age", "smoker"), np.array([400.0]))
    assert (found.basis, found.low, found.known) == (Basis.MODEL, None, False)
    assert "no interval" in str(found)


def test_means_scale_with_the_spread():
    found = mean_interval(release_with(0.1), ("age",), 4.0, group_count=100.0, spread=2.0)
    assert found.standard_error == pytest.approx(0.2, rel=1e-3)
    wide = mean_interval(release_with(0.1), ("age",), 4.0, group_count=100.0, spread=2.0, population=True)
    assert wide.standard_error == pytest.approx(np.hypot(0.2, 0.2), rel=1e-3)


def interval(estimate, error):
    half = 1.959964 * error
    return Interval(estimate, estimate - half, estimate + half, error, 0.95, Basis.MEASURED)


def test_differences_and_ratios():
    assert difference(interval(50, 3), interval(30, 4)).standard_error == pytest.approx(5.0)
    assert ratio(interval(50, 3), interval(100, 4)).standard_error == pytest.approx(np.hypot(3, 2) / 100)
    whole = ratio(interval(99, 3), interval(100, 3), part=True)
    assert whole.high <= 1.0
    assert whole.standard_error < 0.031
    none = replace(interval(1, 1), low=None, high=None, standard_error=None)
    assert not difference(none, interval(1, 1)).known


def test_a_quantile_lies_where_the_share_below_may_be_the_one_asked_for():
    def share_below(value):
        return interval(value / 100, 0.05)

    found = quantile_interval(share_below, list(range(101)), probability=0.5)
    assert (found.estimate, found.low, found.high) == (50, 41, 60)


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
