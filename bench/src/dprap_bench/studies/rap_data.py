"""Integer-coded benchmark tables and the paper's workloads, for the benchmarks of RAP."""

from __future__ import annotations

import json
import platform
import resource
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.queries import Marginal, Threshold
from dprap.relaxed import RelaxedDataset, answers
from dprap.sources import MemorySource
from dprap.workload import Workload
from dprap.workload.kway import random_kway


def load(folder: Path, name: str) -> Codes:
    """A table of integer codes, `name`.csv, with its domain sizes, `name`-domain.json."""
    domain = Domain.of(json.loads((folder / f"{name}-domain.json").read_text()))
    table = pd.read_csv(folder / f"{name}.csv")
    return Codes.of(domain, {column: table[column].to_numpy() for column in domain})


def paper_workload(codes: Codes, k: int, marginals: int, *, at_least: int | None = None) -> Workload:
    """The paper's workload of k-way marginals, or thresholds over the same columns."""
    workload = random_kway(codes.domain, k, marginals, rows=codes.rows)
    if at_least is None:
        return workload
    return Workload(codes.domain, tuple(Threshold(family.columns, at_least) for family in workload.families))


def exact(codes: Codes, workload: Workload) -> list[np.ndarray]:
    """True answers as fractions."""
    marginals = [Marginal(family.columns) for family in workload.families]
    found = []
    for family, counts in zip(workload.families, MemorySource(codes).count(marginals), strict=True):
        table = counts.dense()
        found.append(family.answers(table.reshape(codes.domain.shape_of(family.columns))).ravel() / codes.rows)
    return found


def max_error(relaxed: RelaxedDataset, workload: Workload, truth: list[np.ndarray]) -> float:
    pairs = zip(answers(relaxed, workload.families), truth, strict=True)
    return max(float(np.abs(fractions - exactly).max()) for fractions, exactly in pairs)


def keep(path: Path, results: Any) -> None:
    """Write results with what they were measured on."""
    facts = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "results": results,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n")
