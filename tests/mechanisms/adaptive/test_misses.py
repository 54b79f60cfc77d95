"""Cells that the last fit misses by more than noise explains."""

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.mechanisms.adaptive.misses import misses_of
from dprap.queries import Marginal
from dprap.relaxed.gradient import Target
from dprap.relaxed.rows import RelaxedDataset, uniform_weights

DOMAIN = Domain.of({"a": 2, "b": 2})
EVEN = RelaxedDataset(DOMAIN, np.full((4, 3), 0.5, np.float32), uniform_weights(3))


def target(shares, weights) -> Target:
    return Target(Marginal(("a", "b")), np.array(shares, np.float32), np.array(weights, np.float32))


def test_only_missed_cells_count_more_by_how_far_they_are_missed():
    # Rows say a quarter each. Weights are of a standard deviation of .01, but for a cell that is
    # hardly believed.
    measured = target([0.33, 0.22, 0.25, 0.20], [1e4, 1e4, 1e4, 1e2])
    found = misses_of(EVEN, [measured], [measured], limit=4.0)
    assert found.largest == pytest.approx(8)
    assert found.misfit == pytest.approx(64 + 9 + 0 + 0.25, rel=1e-4)
    (emphasised,) = found.emphasised
    np.testing.assert_allclose(emphasised.weights / measured.weights, [4, 1, 1, 1], rtol=1e-4)
    np.testing.assert_array_equal(emphasised.shares, measured.shares)


def test_emphasis_adds_up_while_misses_are_measured_by_the_noise_alone():
    measured = target([0.33, 0.22, 0.25, 0.20], [1e4, 1e4, 1e4, 1e2])
    first = misses_of(EVEN, [measured], [measured], limit=4.0)
    second = misses_of(EVEN, [measured], first.emphasised, limit=4.0)
    assert (second.misfit, second.largest) == (first.misfit, first.largest)
    np.testing.assert_allclose(
        second.emphasised[0].weights / measured.weights, [16, 1, 1, 1], rtol=1e-4
    )
