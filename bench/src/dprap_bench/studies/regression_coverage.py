"""Logistic regressions on several tables: how often intervals of their coefficients hold the truth.

NLTCS stands for a population. A run makes a release of 10,000 records that are drawn from it with
replacement. Four regressions, each of one column by three others, are fitted

* `combined`: to the tables of `Release.tables`, put together with `dprap.combine`;
* `naive`: to the one synthetic table, as if its rows were people.

Both intervals, at 95%, are compared with the coefficients of the population and, without the
variance of sampling, with those of the sample (`records`). In the case `measured` the workload has
the four columns of every regression together; in the case `modelled` it has their pairs alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes
from dprap.products import product
from dprap.queries import Marginal
from dprap.release.intervals.combine import combine
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.interval_coverage import code_digest

CASES = ("measured", "modelled")
EPSILONS = (0.3, 1.0)
RECORDS = 10_000
TABLES = 20
RUNS = 20
FIRST_SEED = 9_000
_Z = 1.959964
# The first column of each is explained by the others: columns 1 to 16, far apart and without
# overlap.
_REGRESSIONS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))


def cells(seeds: int | None) -> list[StudyCell]:
    """Every case and ε; each run has its own sample."""
    code = code_digest()
    runs = min(RUNS, seeds or RUNS)
    return [
        StudyCell(
            "regression_coverage",
            {
                "case": case,
                "epsilon": epsilon,
                "tables": TABLES,
                "seed": FIRST_SEED,
                "runs": runs,
                "code": code,
            },
        )
        for case in CASES
        for epsilon in EPSILONS
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """Releases, their tables and the regressions on them."""
    population = load_benchmark("nltcs", data_dir)
    names = population.domain.names
    asked = [tuple(names[place] for place in places) for places in _REGRESSIONS]
    truth = np.concatenate([regression(population, columns)[0] for columns in asked])
    found = [
        _one(population, asked, truth, facts, seed)
        for seed in range(facts["seed"], facts["seed"] + facts["runs"])
    ]
    return {"coefficients": float(len(truth) * len(found))} | {
        name: float(np.mean([each[name] for each in found])) for name in found[0]
    }


def _one(
    population: Codes,
    asked: Sequence[tuple[str, ...]],
    truth: np.ndarray,
    facts: Mapping[str, Any],
    seed: int,
) -> dict[str, float]:
    domain = population.domain
    chosen = np.random.default_rng(seed).integers(0, population.rows, RECORDS)
    sample = Codes.of(domain, {name: population.column(name)[chosen] for name in domain.names})
    schema = Schema.from_domain(dict(zip(domain.names, domain.sizes, strict=True)))
    sets = [
        part
        for columns in asked
        for part in combinations(columns, 4 if facts["case"] == "measured" else 2)
    ]
    workload = Workload(domain, tuple(Marginal(columns) for columns in sets))
    plan = make_plan(
        schema, RunOptions(epsilon=facts["epsilon"], workload=workload, seed=seed), records=RECORDS
    )
    release = execute(plan, MemorySource(sample), insecure_noise_seed=seed)
    of_sample = np.concatenate([regression(sample, columns)[0] for columns in asked])
    naive, naive_variance = _all(release.codes(), asked)
    fitted = [
        _all(Codes.of(domain, {name: table[name].to_numpy() for name in domain.names}), asked)
        for table in release.tables(facts["tables"])
    ]
    estimates, variances = (np.array([each[part] for each in fitted]) for part in (0, 1))
    combined = combine(estimates, variances)
    records = combine(estimates, np.zeros_like(variances))
    return {
        "combined_population": float(np.mean((combined.low <= truth) & (truth <= combined.high))),
        "naive_population": float(np.mean(np.abs(naive - truth) <= _Z * np.sqrt(naive_variance))),
        "combined_records": float(
            np.mean((records.low <= of_sample) & (of_sample <= records.high))
        ),
        "combined_over_naive_width": float(
            np.median(combined.standard_error / np.sqrt(naive_variance))
        ),
        "combined_rmse": float(np.sqrt(np.mean((combined.estimate - truth) ** 2))),
        "naive_rmse": float(np.sqrt(np.mean((naive - truth) ** 2))),
    }


def _all(codes: Codes, asked: Sequence[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of all regressions, and their variances."""
    found = [regression(codes, columns) for columns in asked]
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def regression(codes: Codes, columns: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The first column by the others: coefficients and their variances."""
    outcome, *others = (codes.column(name).astype(np.float64) for name in columns)
    return logistic(np.column_stack([np.ones(codes.rows), *others]), outcome)


def logistic(design: np.ndarray, outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood by Newton's method: coefficients and the diagonal of the inverse
    information.
    """
    found = np.zeros(design.shape[1])
    for _ in range(30):
        expected = 1 / (1 + np.exp(-np.clip(product(design, found), -30, 30)))
        information = product((design * (expected * (1 - expected))[:, None]).T, design)
        step = np.linalg.solve(information, product(design.T, outcome - expected))
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found, np.diag(np.linalg.inv(information))
