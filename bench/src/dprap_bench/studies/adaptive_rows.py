"""What the adaptive mechanism costs after counting, on small and large tables: Parquet folders of
the embedded example.

CPU seconds, counting apart. How many marginals are worth measuring follows n√ρ, up to a limit: the
first two cells have the same n√ρ, the first and the last the same ρ. The tables are made in the
data folder where they are missing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dprap.accounting import Budget, Neighbors
from dprap.counting import CellCounts
from dprap.datasets.example import example_schema
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.sources import CountSource
from dprap.sources.open import open_source
from dprap.workload import random_kway
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.studies.example_tables import write_parquet
from dprap_bench.timing import peak_mb

SMALL, LARGE = 48_842, 20_000_000
DELTA = 1e-10


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - time hardly depends on the noise
    """The same resolution on both tables, and the same ρ."""
    rho = Fraction(Budget.of(epsilon=1.0, delta=DELTA).rho)
    cases = (
        ("the same resolution n√ρ", SMALL, rho),
        ("the same resolution n√ρ", LARGE, rho * Fraction(SMALL, LARGE) ** 2),
        ("the same ρ", LARGE, rho),
    )
    return [
        StudyCell("adaptive_rows", {"what": what, "rows": rows, "rho": float(rho_of_case)})
        for what, rows, rho_of_case in cases
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One run."""
    source = open_source(write_parquet(data_dir, facts["rows"]), example_schema(), engine="files")
    workload = random_kway(source.domain, 3, 64, rows=SMALL)
    budget = Budget.of_rho(Fraction(facts["rho"]), delta=DELTA)
    curator = Curator(
        source, budget=budget, neighbors=Neighbors(), ledger=None, insecure_noise_seed=0
    )
    counting = 0.0

    def timed_count(this: CountSource, families: Sequence[Marginal]) -> list[CellCounts]:
        nonlocal counting
        started = time.process_time()
        counted = count(this, families)
        counting += time.process_time() - started
        return counted

    count = type(source).count
    started = time.process_time()
    with patch.object(type(source), "count", timed_count):
        result = run(curator, workload, AdaptiveSettings(), seed=0)
    cpu = time.process_time() - started
    return {
        "cpu_seconds_counting": counting,
        "cpu_seconds_after_counting": cpu - counting,
        "marginals_measured": len(result.measurements),
        "peak_mb": peak_mb(),
    }
