"""Logistic regressions on several tables: how often intervals of their coefficients hold the truth.

The example table is a sample of 10,000 records; a sample of a million stands for the population. A
run makes a release of the sample. `combined` analyses the tables of `Release.tables` and puts them
together with `dprap.combine`; `naive` analyses the one synthetic table as if its rows were people.
Both intervals, at 95%, are compared with the coefficients of the population and, without the
variance of sampling, with those of the sample (`records`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dprap.datasets import example, example_schema
from dprap.encoding import encode
from dprap.release.intervals.combine import combine
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.sources import MemorySource
from dprap.workload import all_kway
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.interval_coverage import code_digest

EPSILONS = (1.0, 10.0)
RECORDS = 10_000
POPULATION = 1_000_000
TABLES = 20
RUNS = 20
FIRST_SEED = 9_000
_Z = 1.959964


def cells(seeds: int | None) -> list[StudyCell]:
    """Every ε with its runs; each run has its own sample."""
    code = code_digest()
    return [
        StudyCell("regression_coverage", {"epsilon": epsilon, "tables": TABLES, "seed": seed, "code": code})
        for seed in range(FIRST_SEED, FIRST_SEED + min(RUNS, seeds or RUNS))
        for epsilon in EPSILONS
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:  # noqa: ARG001 - the table is made up
    """One release, its tables and the regressions on them."""
    sample = example(RECORDS, seed=facts["seed"])
    schema = example_schema()
    codes = encode(sample, schema)
    plan = make_plan(
        schema,
        RunOptions(
            epsilon=facts["epsilon"], workload=all_kway(schema.domain, 2, max_cells=RECORDS), seed=facts["seed"]
        ),
        records=RECORDS,
    )
    release = execute(plan, MemorySource(codes), insecure_noise_seed=facts["seed"])
    of_sample, _ = regression(sample.to_pandas())
    of_population = population_coefficients()
    naive, naive_variance = regression(release.table())
    fitted = [regression(table) for table in release.tables(facts["tables"])]
    estimates, variances = (np.array([each[part] for each in fitted]) for part in (0, 1))
    combined = combine(estimates, variances)
    records = combine(estimates, np.zeros_like(variances))
    half = _Z * np.sqrt(naive_variance)
    return {
        "coefficients": float(len(naive)),
        "combined_population": float(np.mean((combined.low <= of_population) & (of_population <= combined.high))),
        "naive_population": float(np.mean(np.abs(naive - of_population) <= half)),
        "combined_records": float(np.mean((records.low <= of_sample) & (of_sample <= records.high))),
        "combined_over_naive_width": float(np.median(combined.standard_error / np.sqrt(naive_variance))),
        "combined_rmse": float(np.sqrt(np.mean((combined.estimate - of_population) ** 2))),
        "naive_rmse": float(np.sqrt(np.mean((naive - of_population) ** 2))),
    }


@lru_cache(maxsize=1)
def population_coefficients() -> np.ndarray:
    """The coefficients of the population."""
    return regression(example(POPULATION, seed=1_234_567).to_pandas())[0]


def regression(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Whether income is above 40,000, by age, hours, education years and sex: coefficients and their variances."""
    known = table[["age", "hours", "education_years", "sex", "income"]].dropna()
    design = np.column_stack(
        [
            np.ones(len(known)),
            (known["age"].to_numpy(float) - 40) / 10,
            (known["hours"].to_numpy(float) - 40) / 10,
            (known["education_years"].to_numpy(float) - 12) / 3,
            (known["sex"] == "male").to_numpy(float),
        ]
    )
    outcome = (known["income"].to_numpy(float) > 40_000).astype(float)
    return logistic(design, outcome)


def logistic(design: np.ndarray, outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood by Newton's method: coefficients and the diagonal of the inverse information."""
    found = np.zeros(design.shape[1])
    for _ in range(30):
        expected = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        information = (design * (expected * (1 - expected))[:, None]).T @ design
        step = np.linalg.solve(information, design.T @ (outcome - expected))
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found, np.diag(np.linalg.inv(information))
