"""What each lever of the adaptive mechanism does: ADULT, 64 marginals, one lever changed at a time.

Error of the relaxed rows; everything else as in the study `adaptive`. Single queries instead of
whole marginals is the method `rap`, whose figures the study `rap_accuracy` has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from dprap.accounting import Accounting
from dprap.datasets.benchmark import load_benchmark
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator
from dprap_bench.studies.adaptive import CERTIFICATE
from dprap_bench.timing import timed
from dprap_bench.workloads import named_workload

FIRST_SEED = 200
DRAWS = 3
CASES = (("3way:64", 0.1), ("3way:64", 1.0), ("5way:64", 0.1))


@dataclass(frozen=True)
class Lever:
    """One change to the default."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    accounting: Accounting = Accounting.EXACT


LEVERS = (
    Lever("default"),
    Lever("score: largest cell error", {"objective": "max"}),
    Lever("score: all errors above half the noise", {"rules": {"cells_that_count": 2**20}}),
    Lever("score: all errors above a quarter of the noise", {"objective": "mean"}),
    Lever("no groups of codes", {"rules": {"group_codes": False, "broad_from_columns": None}}),
    Lever("no broad marginals", {"rules": {"broad_from_columns": None}}),
    Lever("columns: 10% of ρ", {"one_way_share": 0.1}),
    Lever("columns: 50% of ρ", {"one_way_share": 0.5}),
    Lever("columns as measured, not smoothed", {"rules": {"smooth_columns": False}}),
    Lever("no sweep", {"sweep_share": 0.0}),
    Lever("sweep always, 80%", {"sweep_share": 0.8}),
    Lever("10 picks", {"picks": 10}),
    Lever("40 picks", {"picks": 40}),
    Lever("all picks in one round", {"rounds": 1}),
    Lever("every cell believed alike", {"rules": {"shrink_cells": False}}),
    Lever("no pull to independent columns", {"kl": 0.0}),
    Lever("fit five times as long", {"steps": 750, "final_steps": 1500}),
    Lever("last fit goes on from the rounds before", {"rules": {"afresh_up_to_picks": 0}}),
    Lever("zCDP's accounting (tight)", accounting=Accounting.TIGHT),
    Lever("the paper's accounting", accounting=Accounting.PAPER),
)


def cells(seeds: int | None) -> list[StudyCell]:
    """Every lever on every case."""
    return [
        StudyCell(
            "adaptive_ablation",
            {"lever": lever.name, "workload": name, "epsilon": epsilon, "seed": seed},
        )
        for lever, (name, epsilon) in product(LEVERS, CASES)
        for seed in range(FIRST_SEED, FIRST_SEED + (seeds or DRAWS))
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One run with one lever changed."""
    (lever,) = (each for each in LEVERS if each.name == facts["lever"])
    codes = load_benchmark("adult", data_dir)
    source = MemorySource(codes)
    workload = named_workload(facts["workload"], codes.domain, rows=codes.rows)
    curator = seeded_curator(
        source, epsilon=facts["epsilon"], seed=facts["seed"], accounting=lever.accounting
    )
    curator.set_aside(curator.budget.rho * CERTIFICATE)
    with timed() as seconds:
        result = run(curator, workload, AdaptiveSettings(**lever.settings), seed=facts["seed"])
    errors = evaluate(source, workload, result)
    return {"max": errors.max, "tv": errors.tv, **seconds}
