"""What each departure of `rap` from the paper's literal settings does, on ADULT's 64 random
marginals.

A cell has one departure and all draws, so that a program is compiled once. Its figures are medians
and extremes of the maximum error over the draws. `paper` has none of the departures, `default` all
of them, and each other cell all but one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dprap.accounting import Accounting
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes
from dprap.evaluate import evaluate
from dprap.mechanisms import rap
from dprap.relaxed import RelaxedDataset, round_rows
from dprap.relaxed.exchange import draw_jointly
from dprap.relaxed.jax.projection import PAPER, ProjectionSettings
from dprap.sources import MemorySource
from dprap.workload import Workload
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator
from dprap_bench.timing import timed
from dprap_bench.workloads import named_workload

FIRST_SEED = 400
DRAWS = 20
ROWS = 100
"""Relaxed rows: errors hardly depend on their number from 100 on, and time does."""

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "optimiser: Adam, .001": {
        "projection": ProjectionSettings(optimizer="adam", learning_rate=1e-3)
    },
    "ends at the first step without gain, last rows": {
        "projection": ProjectionSettings(window=1, halvings=0, keep="last")
    },
    "no end at the noise": {"noise_floor": 0.0},
    "rows start within ±1": {"initial_spread": 1.0},
    "accounting: exact": {},
    "certificate: 2% of ρ": {},
    "paper": {"projection": PAPER, "noise_floor": 0.0, "initial_spread": 1.0},
}
"""Cell to settings.

`accounting: exact` is the default's accounting; all others have the paper's. `certificate` leaves
the default's share of ρ to the certificate; no other has one.
"""

CERTIFICATE_SHARE = Fraction(2, 100)
"""What `dprap synth` keeps for a certificate unless told otherwise."""

ROUNDINGS = ("independent", "systematic", "joint")


def cells(seeds: int | None) -> list[StudyCell]:
    """Each departure on three-way and five-way marginals; where rows start on five-way ones alone,
    because the default starts three-way ones as the paper does; each way of rounding where little
    noise hides it.
    """
    draws = seeds or DRAWS
    return [
        StudyCell(
            "rap_departures",
            {
                "departure": departure,
                "workload": workload,
                "epsilon": epsilon,
                "rounds": rounds,
                "draws": draws,
            },
        )
        for workload in ("3way:64", "5way:64")
        for epsilon, rounds in ((0.1, 5), (1.0, 10))
        for departure in (*SETTINGS, *(f"rounding: {way}" for way in ROUNDINGS))
        if (workload, epsilon) == ("3way:64", 1.0) or not departure.startswith("rounding")
        if workload == "5way:64" or not departure.startswith("rows start")
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """All draws of one departure, K = 5."""
    codes = load_benchmark("adult", data_dir)
    source = MemorySource(codes)
    workload = named_workload(facts["workload"], codes.domain, rows=codes.rows)
    departure = facts["departure"]
    rounding = departure.removeprefix("rounding: ") if departure.startswith("rounding") else None
    settings = rap.RapSettings(
        rounds=facts["rounds"],
        queries_per_round=5,
        synthetic_rows=ROWS,
        **SETTINGS.get(departure, {}),
    )
    accounting = Accounting.EXACT if departure.startswith("accounting") else Accounting.PAPER
    share = CERTIFICATE_SHARE if departure.startswith("certificate") else Fraction(0)
    errors, steps, seconds = [], [], []
    for seed in range(FIRST_SEED, FIRST_SEED + facts["draws"]):
        curator = seeded_curator(
            source,
            epsilon=facts["epsilon"],
            seed=seed,
            accounting=accounting,
        )
        curator.set_aside(curator.rho * share)
        with timed() as cost:
            result = rap.run(curator, workload, settings, seed=seed)
        published: Any = result
        if rounding is not None and result.relaxed is not None:
            published = Codes(
                codes.domain, _rounded(result.relaxed, workload, rounding, codes.rows, seed)
            )
        errors.append(evaluate(source, workload, published).max)
        steps.append(result.steps)
        seconds.append(cost["cpu_seconds"])
    return {
        "max": median(errors),
        "max_low": min(errors),
        "max_high": max(errors),
        "steps": median(steps),
        "cpu_seconds": median(seconds),
    }


def _rounded(relaxed: RelaxedDataset, workload: Workload, way: str, rows: int, seed: int) -> Any:
    if way == "joint":
        chunks = draw_jointly(relaxed, [family.columns for family in workload.families], rows, seed)
        return tuple(np.concatenate(parts) for parts in zip(*chunks, strict=True))
    return round_rows(
        relaxed, seed, rows=rows, method="independent" if way == "independent" else "systematic"
    )
