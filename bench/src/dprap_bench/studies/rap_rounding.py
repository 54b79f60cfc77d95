"""What rounding to whole records adds to the maximum error of RAP on ADULT, by method and number of
records.

For every number of records: the largest change of any answer by rounding, and the maximum error
before and after. Medians of three drawings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dprap.accounting import Accounting
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes
from dprap.evaluate import evaluate, exact_answers
from dprap.mechanisms import rap
from dprap.relaxed import answers, round_rows
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator
from dprap_bench.workloads import named_workload

DRAWINGS = 3


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - one run, rounded three times
    """Both ways of rounding, to few records and to as many as there are."""
    return [
        StudyCell(
            "rap_rounding", {"epsilon": epsilon, "rounds": rounds, "method": method, "rows": rows}
        )
        for epsilon, rounds in ((1.0, 25), (0.1, 5))
        for method in ("independent", "systematic")
        for rows in (1000, 5000, 48_842)
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One run of RAP, the same for all cells of an ε, and its roundings."""
    codes = load_benchmark("adult", data_dir)
    source = MemorySource(codes)
    workload = named_workload("3way:64", codes.domain, rows=codes.rows)
    settings = rap.RapSettings(rounds=facts["rounds"], queries_per_round=5)
    curator = seeded_curator(source, epsilon=facts["epsilon"], seed=0, accounting=Accounting.PAPER)
    result = rap.run(curator, workload, settings, seed=0)
    relaxed = result.relaxed
    if relaxed is None:
        raise AssertionError("RAP returns relaxed rows")
    unrounded = list(answers(relaxed, workload.families))
    changes, errors = [], []
    for seed in range(DRAWINGS):
        drawn = round_rows(relaxed, seed, rows=facts["rows"], method=facts["method"])
        rounded = Codes(codes.domain, drawn)
        of_rounded = exact_answers(MemorySource(rounded), workload.families)
        changes.append(
            max(float(np.abs(a - b).max()) for a, b in zip(of_rounded, unrounded, strict=True))
        )
        errors.append(evaluate(source, workload, rounded).max)
    return {
        "largest_change": float(np.median(changes)),
        "max_error_before": evaluate(source, workload, result).max,
        "max_error_after": float(np.median(errors)),
    }
