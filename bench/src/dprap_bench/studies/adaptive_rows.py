"""What the adaptive mechanism costs after counting, on small and large tables: Parquet folders of the embedded example.

    python benchmarks/adaptive_rows.py --folder DIR --out benchmarks/results/adaptive_rows.json

CPU seconds, counting apart. How many marginals are worth measuring follows n√ρ, up to a limit: the first two results have the same n√ρ, the
first and the last the same ρ. Not private: the noise is seeded.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from counting import write_parquet
from dprap_bench.results import machine
from dprap.datasets.example import example_schema
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.privacy import Budget, Curator, Neighbors
from dprap.queries import Marginal
from dprap.sources import CellCounts, CountSource
from dprap.sources.open import open_source
from dprap.workload import random_kway

SMALL, LARGE = 48_842, 20_000_000
SMALL_RHO = Fraction(Budget.of(epsilon=1.0, delta=1e-10).rho)
CASES = (
    ("the same resolution n√ρ", SMALL, SMALL_RHO),
    ("the same resolution n√ρ", LARGE, SMALL_RHO * Fraction(SMALL, LARGE) ** 2),
    ("the same ρ", LARGE, SMALL_RHO),
)


def measure(what: str, rows: int, rho: Fraction, folder: Path) -> dict[str, Any]:
    """One run."""
    source = open_source(write_parquet(folder, rows), example_schema(), engine="files")
    workload = random_kway(source.domain, 3, 64, rows=SMALL)
    budget = Budget.of_rho(rho, delta=1e-10)
    curator = Curator(source, budget=budget, neighbors=Neighbors(), ledger=None, insecure_noise_seed=0)
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
        "what": what,
        "rows": rows,
        "rho": float(rho),
        "cpu_seconds_counting": round(counting, 1),
        "cpu_seconds_after_counting": round(cpu - counting, 1),
        "marginals_measured": len(result.measurements),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """All cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the tables are, or will be written")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    results = []
    for what, rows, rho in CASES:
        results.append(measure(what, rows, rho, options.folder))
        print(results[-1], flush=True)
    facts = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine()}
    options.out.write_text(json.dumps({**facts, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
