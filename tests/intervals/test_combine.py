"""Rubin's rules, against their formulas and against scipy."""

import numpy as np
import pytest
from scipy import stats

import dprap
from dprap.errors import SettingsError
from dprap.release.intervals.combine import student_quantile


@pytest.mark.parametrize("freedom", [1.5, 3, 19, 240, 30_000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_quantiles_of_students_t(freedom, level):
    assert student_quantile(freedom, level) == pytest.approx(
        stats.t.ppf((1 + level) / 2, freedom), rel=2e-3
    )


def test_the_parts_of_the_variance_add_up():
    estimates = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    variances = np.array([[0.5, 1.0]] * 3)
    combined = dprap.combine(estimates, variances)
    np.testing.assert_allclose(combined.estimate, [2.0, 5.0])
    np.testing.assert_allclose(combined.standard_error**2, [0.5 + 4 / 3 * 1.0, 1.0])
    np.testing.assert_allclose(combined.between, [(4 / 3) / (0.5 + 4 / 3), 0.0])
    assert combined.degrees_of_freedom[0] == pytest.approx(2 * (1 + 0.5 / (4 / 3)) ** 2)
    half = stats.t.ppf(0.975, combined.degrees_of_freedom[0]) * combined.standard_error[0]
    assert combined.high[0] - 2.0 == pytest.approx(half, rel=1e-3)


def test_intervals_hold_the_truth_as_often_as_they_say():
    # 2,000 draws of a mean that is known through a noisy table: 95% ± 2.5%, five standard errors
    rng = np.random.default_rng(5)
    truth = rng.normal(0, 1, 2_000)  # the estimate of the private table around the population's 0
    published = truth + rng.normal(0, 2, 2_000)  # what the release says of it
    estimates = published + rng.normal(0, 2, (20, 2_000))
    combined = dprap.combine(estimates, np.ones_like(estimates))
    covered = np.mean((combined.low <= 0) & (combined.high >= 0))
    assert 0.925 < covered < 0.975


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [
        ([1.0], [1.0]),
        ([1.0, 2.0], [1.0]),
        ([1.0, np.nan], [1.0, 1.0]),
        ([1.0, 2.0], [1.0, -1.0]),
        (1.0, 1.0),
    ],
)
def test_what_cannot_be_combined_is_refused(estimates, variances):
    with pytest.raises(SettingsError):
        dprap.combine(estimates, variances)
