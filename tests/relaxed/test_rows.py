from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN as SMALL
from tests.mechanisms.small import curator_on, small_codes
from tests.relaxed.cases import DOMAIN
from tests.relaxed.jax import test_tied

from dprap.errors import SettingsError
from dprap.mechanisms import rap
from dprap.queries import Custom, Marginal
from dprap.relaxed import RelaxedDataset, answers
from dprap.relaxed.jax.projection import ProjectionSettings, QueryTargets, fit_queries
from dprap.relaxed.jax.start import devices_named, initialise, on_devices
from dprap.workload import Workload

FOUR_DEVICES = """
import json
from tests.relaxed.test_rows import fitted
print(json.dumps(fitted()))
"""


def fitted() -> tuple[int, list[list[float]]]:
    """How many devices a fit uses, and what whole runs of the paper's algorithm give, with
    selection and without.
    """
    families = (
        Marginal(("a", "b", "c")),
        Custom("even", ("b", "d"), lambda row: row["b"].argmax() == row["d"].argmax()),
    )
    workload = Workload(SMALL, families)
    projection = ProjectionSettings(max_steps=10, window=5)
    found = []
    for rounds in (2, 1):
        settings = rap.RapSettings(rounds, 3, 12, projection, device="cpu")
        relaxed = rap.run(
            curator_on(small_codes(), epsilon=10.0), workload, settings, seed=0
        ).relaxed
        assert relaxed is not None
        found += [shares.tolist() for shares in answers(relaxed, families)]
    targets = QueryTargets.of(test_tied.DOMAIN, test_tied.QUERIES, test_tied.WANTED)
    wide = fit_queries(
        initialise(test_tied.DOMAIN, 12, 0), targets, replace(projection, device="cpu")
    )
    found.append(wide.rows.probabilities.ravel().tolist())
    probabilities, _ = on_devices(initialise(SMALL, 12, 0), devices_named("cpu"))
    return len(probabilities.sharding.device_set), found


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_devices() -> None:
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", FOUR_DEVICES],
        env={**os.environ, **devices},
        capture_output=True,
        text=True,
        check=True,
    )
    four, fitted_on_four = json.loads(done.stdout)
    one, fitted_on_one = fitted()
    assert (one, four) == (1, 4)
    for these, those in zip(fitted_on_four, fitted_on_one, strict=True):
        np.testing.assert_allclose(these, those, atol=1e-5)


@pytest.mark.parametrize("name", ["gpu", "cpu:7", "cpu:-1", "cpu:x", "abacus"])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="JAX shows cpu:0"):
        rap.RapSettings(device=name).check(Workload(SMALL, (Marginal(("a",)),)))


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
