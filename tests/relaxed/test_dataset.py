from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.relaxed.cases import DOMAIN

from dprap.errors import SettingsError
from dprap.relaxed import RelaxedDataset, initialise

ON_DEVICES = """
import json, sys
import jax, numpy as np
from dprap.domain import Domain
from dprap.queries import Marginal, Query
from dprap.relaxed import ProjectionSettings, answers, initialise, project, shard_rows
from dprap.relaxed.batch import compile_queries

domain = Domain.of({"a": 2, "b": 3, "c": 4})
family = Marginal(("a", "b", "c"))
relaxed = shard_rows(initialise(domain, 12, jax.random.key(0)))
batch, places = compile_queries(domain, [Query(family, index) for index in (0, 5, 7)])
targets, weights = np.zeros(batch.size), np.zeros(batch.size)
targets[places], weights[places] = [0.3, 0.1, 0.2], 1
settings = ProjectionSettings(learning_rate=0.02, max_steps=40, window=20)
result = project(relaxed, batch, targets, weights, settings)
(fitted,) = answers(result.relaxed, [family])
devices = len(result.relaxed.probabilities.sharding.device_set)
print(json.dumps([devices, fitted.tolist()]))
"""


def run_on(devices: int) -> tuple[int, list[float]]:
    environment = {
        **os.environ,
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-c", ON_DEVICES], env=environment, capture_output=True, text=True, check=True
    )
    used, fitted = json.loads(done.stdout)
    return used, fitted


def test_results_do_not_depend_on_the_number_of_devices() -> None:
    one, fitted = run_on(1)
    two, fitted_on_two = run_on(2)
    assert (one, two) == (1, 2)
    np.testing.assert_allclose(fitted_on_two, fitted, atol=1e-5)


def test_initial_rows_are_distributions_and_differ_by_seed() -> None:
    first, second = (initialise(DOMAIN, 5, jax.random.key(seed)) for seed in (0, 1))
    for name in DOMAIN:
        np.testing.assert_allclose(np.asarray(first.block(name)).sum(axis=0), 1, atol=1e-6)
    assert not np.array_equal(first.probabilities, second.probabilities)
    assert first.rows == 5


def test_a_small_spread_starts_near_uniform() -> None:
    near, wide = (initialise(DOMAIN, 50, jax.random.key(0), spread=spread) for spread in (0.01, 1.0))
    for name in DOMAIN:
        even = 1 / DOMAIN.size(name)
        assert np.abs(np.asarray(near.block(name)) - even).max() <= 0.02
        assert np.asarray(wide.block(name)).std() >= np.asarray(near.block(name)).std()


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(SettingsError, match="at least one row"):
        initialise(DOMAIN, 0, jax.random.key(0))
    with pytest.raises(SettingsError, match="do not fit"):
        RelaxedDataset(DOMAIN, jnp.zeros((3, 2)), jnp.ones(2) / 2)
