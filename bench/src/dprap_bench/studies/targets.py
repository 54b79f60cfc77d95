"""What `--target` does for a model of the target, and what it costs the workload: three tables,
with a target and without.

* `adult` and `loans`: the tables of the study `models`; income, and whether a loan was repaid.
* `nltcs`: sixteen binary columns; whether somebody needs help with bathing. Every fourth record is
  kept for the test.

All pairs are asked about, at ε = 1, δ = 1/n², and numbers have bounds and no bins. Models are
trained on the published table and tested on records that no release saw. `max` and `tv` are errors
of the published table on the workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dprap
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import encode
from dprap.evaluate import compare
from dprap.evaluate.answer_shares import exact_answers, published_answers
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.models import Task, adult_task, area_under_curve, loans_task

# Smaller seeds were used while mixing beside triples was tried out.
SEEDS = tuple(range(9700, 9705))
TARGETS = {"adult": "income", "loans": "repaid", "nltcs": "bathing"}


def cells(seeds: int | None) -> list[StudyCell]:
    """Every table with its target and without, and models of the private records themselves."""
    return [
        StudyCell("targets", {"data": data, "trained_on": trained_on, "epsilon": 1.0, "seed": seed})
        for seed in SEEDS[:seeds]
        for data in TARGETS
        for trained_on in ("private records", "no target", "target")
        if seed == SEEDS[0] or trained_on != "private records"
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """Area under the ROC curve of both models, and errors of the table."""
    made = {"adult": adult_task, "loans": loans_task, "nltcs": _nltcs_task}
    task = made[facts["data"]](data_dir)
    column, positive = task.targets[TARGETS[facts["data"]]]
    train, figures = task.train, {}
    if facts["trained_on"] != "private records":
        target = column if facts["trained_on"] == "target" else None
        release = dprap.synthesize(
            task.train,
            task.bounds,
            epsilon=facts["epsilon"],
            delta=1 / len(task.train) ** 2,
            kway=2,
            target=target,
            insecure_noise_seed=facts["seed"],
        )
        train = pd.DataFrame(release.table())
        source = MemorySource(encode(task.train, release.schema))
        families = release.workload.families
        truth = list(exact_answers(source, families))
        errors = compare(families, truth, published_answers(release.codes(), families))
        figures = {"max": errors.max, "tv": errors.tv}
    models = {
        f"{model}_auc": area_under_curve(model, train, task, column, positive)
        for model in ("boosting", "logistic")
    }
    return {**models, **figures}


def _nltcs_task(data_dir: Path) -> Task:
    codes = load_benchmark("nltcs", data_dir)
    table = pd.DataFrame({name: codes.column(name).astype(np.int64) for name in codes.domain.names})
    held_out = np.arange(len(table)) % 4 == 3
    schema = Schema.of(
        {"columns": {name: {"type": "categorical", "values": [0, 1]} for name in codes.domain}}
    )
    train, test = (table[part].reset_index(drop=True) for part in (~held_out, held_out))
    return Task(train, test, schema, schema, (), {"bathing": ("bathing", lambda each: each == 1)})
