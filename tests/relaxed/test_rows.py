from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.relaxed.cases import DOMAIN

from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Marginal, Query
from dprap.relaxed import RelaxedDataset, answers
from dprap.relaxed.jax.projection import ProjectionSettings, QueryTargets, fit_queries
from dprap.relaxed.jax.start import initialise, on_devices

TWO_DEVICES = """
import json
from tests.relaxed.test_rows import fitted
print(json.dumps(fitted()))
"""


def fitted() -> tuple[int, list[float]]:
    """How many devices a fit uses, and what it gives."""
    domain = Domain.of({"a": 2, "b": 3, "c": 4})
    family = Marginal(("a", "b", "c"))
    relaxed = initialise(domain, 12, 0)
    targets = QueryTargets.of(domain, [Query(family, index) for index in (0, 5, 7)], [0.3, 0.1, 0.2])
    result = fit_queries(relaxed, targets, ProjectionSettings(learning_rate=0.02, max_steps=40, window=20))
    (answered,) = answers(result.rows, [family])
    probabilities, _ = on_devices(relaxed)
    return len(probabilities.sharding.device_set), answered.tolist()


def test_results_do_not_depend_on_the_number_of_devices() -> None:
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], env={**os.environ, **devices}, capture_output=True, text=True, check=True
    )
    two, fitted_on_two = json.loads(done.stdout)
    one, fitted_on_one = fitted()
    assert (one, two) == (1, 2)
    np.testing.assert_allclose(fitted_on_two, fitted_on_one, atol=1e-5)


def test_initial_rows_are_distributions_and_differ_by_seed() -> None:
    first, second = (initialise(DOMAIN, 5, seed) for seed in (0, 1))
    for name in DOMAIN:
        np.testing.assert_allclose(np.asarray(first.block(name)).sum(axis=0), 1, atol=1e-6)
    assert not np.array_equal(first.probabilities, second.probabilities)
    assert first.rows == 5


def test_a_small_spread_starts_near_uniform() -> None:
    near, wide = (initialise(DOMAIN, 50, 0, spread=spread) for spread in (0.01, 1.0))
    for name in DOMAIN:
        even = 1 / DOMAIN.size(name)
        assert np.abs(np.asarray(near.block(name)) - even).max() <= 0.02
        assert np.asarray(wide.block(name)).std() >= np.asarray(near.block(name)).std()


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(SettingsError, match="at least one row"):
        initialise(DOMAIN, 0, 0)
    with pytest.raises(SettingsError, match="do not fit"):
        RelaxedDataset(DOMAIN, np.zeros((3, 2)), np.ones(2) / 2)


def test_logits_and_probabilities_of_rows_belong_together() -> None:
    raw = np.random.default_rng(0).normal(0, 3, (DOMAIN.onehot_size, 6))
    rows = RelaxedDataset.from_logits(DOMAIN, raw)
    for name in DOMAIN:
        np.testing.assert_allclose(rows.block(name).sum(axis=0), 1, atol=1e-6)
    assert rows.logits is not None
    np.testing.assert_allclose(np.exp(rows.logits), rows.probabilities, rtol=1e-5)
    start = DOMAIN.offset("b")
    block = np.exp(raw[start : start + DOMAIN.size("b")])
    np.testing.assert_allclose(rows.block("b"), block / block.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(rows.weights, 1 / 6)
