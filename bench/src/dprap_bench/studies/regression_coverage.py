"""Logistic regressions on several tables: how often intervals of their coefficients hold the truth.

A run makes a release of 10,000 records that are drawn from a population. The regressions of a case
are fitted

* `combined`: to the tables of `Release.tables`, put together with `dprap.combine`;
* `naive`: to the one synthetic table, as if its rows were people.

Both intervals, at 95%, are compared with the coefficients of the population and, without the
variance of sampling, with those of the sample (`records`). The cases:

* `measured`: four regressions of one column of NLTCS by three others, each with its four columns
  together in the workload; NLTCS is the population, and records are drawn with replacement;
* `modelled`: the same, where the workload has their pairs alone;
* `smoker`: the example of the documentation, who smokes by years of education, sex and marriage, on
  the example's records; the population is a long table of it;
* `income`: the documentation's warning, an income above 40,000 by age, hours, years and sex: nobody
  who does not work has it, and what noise puts into such empty cells decides the slopes.

A cell is five runs; cells of one case, ε and version of the program are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dprap.datasets import example, example_schema
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import encode
from dprap.products import product
from dprap.queries import Marginal
from dprap.release.intervals import posterior
from dprap.release.intervals.combine import combine
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.interval_coverage import code_digest, digest_of

EPSILONS = {
    "measured": (0.3, 1.0),
    "modelled": (0.3, 1.0),
    "smoker": (0.3, 1.0),
    "income": (10.0,),
}
"""The cases and the ε of each."""

RECORDS = 10_000
TABLES = 20
RUNS = 20
RUNS_OF_CELL = 5
# Smaller seeds were used while the method was made, or looked at before it was mended.
FIRST_SEED = 9_740
_Z = 1.959964
# The first column of each is explained by the others: columns 1 to 16, far apart and without
# overlap.
_REGRESSIONS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
# Records of the example's population, and its seed, which no sample has.
_POPULATION, _POPULATION_SEED = 400_000, 1

Fitted = tuple[np.ndarray, np.ndarray]
"""Coefficients and their variances."""


@dataclass(frozen=True)
class Case:
    """A population, what is asked of a release, and the analysis."""

    schema: Schema
    workload: Workload
    population: pd.DataFrame
    sample: Callable[[int], pd.DataFrame]
    analyse: Callable[[pd.DataFrame], Fitted]


def cells(seeds: int | None) -> list[StudyCell]:
    """Every case and ε, in parts of a few runs; each run has its own sample."""
    code = f"{code_digest()}-{digest_of(posterior)}"
    return [
        StudyCell(
            "regression_coverage",
            {
                "case": case,
                "epsilon": epsilon,
                "tables": TABLES,
                "seed": FIRST_SEED + before,
                "runs": RUNS_OF_CELL,
                "code": code,
            },
        )
        for before in range(0, min(RUNS, seeds or RUNS), RUNS_OF_CELL)
        for case, epsilons in EPSILONS.items()
        for epsilon in epsilons
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """Releases, their tables and the regressions on them."""
    name = facts["case"]
    case = _example(name) if name in ("smoker", "income") else _nltcs(name, data_dir)
    truth = case.analyse(case.population)[0]
    found = [
        _one(case, truth, facts, seed)
        for seed in range(facts["seed"], facts["seed"] + facts["runs"])
    ]
    return {"coefficients": float(len(truth) * len(found))} | {
        figure: float(np.mean([each[figure] for each in found])) for figure in found[0]
    }


def _one(case: Case, truth: np.ndarray, facts: Mapping[str, Any], seed: int) -> dict[str, float]:
    sample = case.sample(seed)
    plan = make_plan(
        case.schema,
        RunOptions(epsilon=facts["epsilon"], workload=case.workload, seed=seed),
        records=RECORDS,
    )
    source = MemorySource(encode(sample, case.schema))
    release = execute(plan, source, insecure_noise_seed=seed)
    of_sample = case.analyse(sample)[0]
    naive, naive_variance = case.analyse(release.table())
    fitted = [case.analyse(table) for table in release.tables(facts["tables"])]
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


def _nltcs(name: str, data_dir: Path) -> Case:
    codes = load_benchmark("nltcs", data_dir)
    domain = codes.domain
    population = pd.DataFrame({each: codes.column(each) for each in domain.names})
    asked = [tuple(domain.names[place] for place in places) for places in _REGRESSIONS]

    def sample(seed: int) -> pd.DataFrame:
        chosen = np.random.default_rng(seed).integers(0, len(population), RECORDS)
        return population.iloc[chosen].reset_index(drop=True)

    def analyse(table: pd.DataFrame) -> Fitted:
        found = [
            logistic(table[list(others)].to_numpy(float), table[outcome].to_numpy(float))
            for outcome, *others in asked
        ]
        coefficients, variances = zip(*found, strict=True)
        return np.concatenate(coefficients), np.concatenate(variances)

    sets = [
        part for columns in asked for part in combinations(columns, 4 if name == "measured" else 2)
    ]
    return Case(
        Schema.from_domain(dict(zip(domain.names, domain.sizes, strict=True))),
        Workload(domain, tuple(map(Marginal, sets))),
        population,
        sample,
        analyse,
    )


def _example(name: str) -> Case:
    schema = example_schema()
    used, sets_of = (
        (("marital", "sex", "education", "education_years", "smoker"), 3)
        if name == "smoker"
        else (("age", "sex", "education", "education_years", "hours", "income"), 2)
    )
    sets = tuple(map(Marginal, combinations(used, sets_of)))
    return Case(
        schema,
        Workload(schema.domain, sets),
        example(_POPULATION, seed=_POPULATION_SEED).to_pandas(),
        lambda seed: example(RECORDS, seed=seed).to_pandas(),
        _smoker if name == "smoker" else _income,
    )


def _smoker(table: pd.DataFrame) -> Fitted:
    known = table[["education_years", "sex", "marital", "smoker"]].dropna()
    years = (known["education_years"].to_numpy(float) - 12) / 3
    men, married = known["sex"] == "male", known["marital"] == "married"
    return logistic(np.column_stack([years, men, married]), known["smoker"].to_numpy(float))


def _income(table: pd.DataFrame) -> Fitted:
    known = table[["age", "hours", "education_years", "sex", "income"]].dropna()
    numbers = known[["age", "hours", "education_years"]].to_numpy(float)
    covariates = np.column_stack([(numbers - [40, 40, 12]) / [10, 10, 3], known["sex"] == "male"])
    return logistic(covariates, (known["income"] > 40_000).to_numpy(float))


def logistic(covariates: np.ndarray, outcome: np.ndarray) -> Fitted:
    """Maximum likelihood by Newton's method: coefficients, a constant first, and the diagonal of
    the inverse information.
    """
    design = np.column_stack([np.ones(len(covariates)), covariates])
    found = np.zeros(design.shape[1])
    for _ in range(30):
        expected = 1 / (1 + np.exp(-np.clip(product(design, found), -30, 30)))
        information = product((design * (expected * (1 - expected))[:, None]).T, design)
        step = np.linalg.solve(information, product(design.T, outcome - expected))
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found, np.diag(np.linalg.inv(information))


def as_table(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Kept records as lines of a table, cells of one case, ε and version put together."""
    alike: dict[tuple[int, float, str], list[Mapping[str, Any]]] = {}
    for each in records:
        cell = each["cell"]
        place = (list(EPSILONS).index(cell["case"]), -cell["epsilon"], cell["code"])
        alike.setdefault(place, []).append(each)
    heads = ("case, ε", "runs, coefficients", "combined", "naive", "combined, about the records")
    lines = [f"| {' | '.join(heads)} | width, combined over naive |", "|---" * 6 + "|"]
    for place in sorted(alike):
        parts = [(each["cell"]["runs"], each["figures"]) for each in alike[place]]
        runs = sum(number for number, _ in parts)
        mean = {
            name: sum(number * figures[name] for number, figures in parts) / runs
            for name in parts[0][1]
        }
        coefficients = sum(figures["coefficients"] for _, figures in parts)
        lines.append(
            f"| {list(EPSILONS)[place[0]]}, {-place[1]:g} | {runs}, {coefficients:.0f} |"
            f" {mean['combined_population']:.3f} | {mean['naive_population']:.3f} |"
            f" {mean['combined_records']:.3f} | {mean['combined_over_naive_width']:.1f} |"
        )
    return lines
