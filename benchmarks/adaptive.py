"""Error, CPU seconds and memory of the adaptive mechanism with its default settings, over ε, workloads and tables.

    python benchmarks/adaptive.py --data DIR --out benchmarks/results/adaptive.json [--only adult]

Exact accounting unless a case says tight, δ = 1/n², and 2% of ρ set aside for the certificate, as `dprap synth` does it. Every run has a process of
its own, so time and peak memory are its own. Errors are of the relaxed rows and of n rounded rows. The file is written
after every run, and runs that it holds already, by the same code of the mechanism, are not repeated.
Not private: the noise is seeded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import dprap.mechanisms.adaptive
import dprap.relaxed.fit
from dprap.bench.results import machine
from dprap.bench.seeded import seeded_curator
from dprap.bench.workloads import named_workload
from dprap.datasets.benchmark import load_benchmark
from dprap.encoding import Codes
from dprap.evaluate import Errors, evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.privacy import Accounting
from dprap.relaxed import round_rows
from dprap.sources import MemorySource

FIRST_SEED = 600  # smaller seeds were used while the mechanism was made
CERTIFICATE = Fraction(2, 100)
METRICS = ("max", "tv", "rounded_max", "rounded_tv", "cpu_seconds", "peak_mb")


@dataclass(frozen=True)
class Case:
    """A table, workload, ε, neighbour relation and accounting, and how many noise seeds it is run with."""

    data: str
    workload: str
    epsilon: float
    seeds: int = 5
    relation: str = "replace"
    accounting: Accounting = Accounting.EXACT

    @property
    def name(self) -> str:
        """The case in the results."""
        tight = "" if self.accounting is Accounting.EXACT else f" {self.accounting}"
        return f"{self.data} {self.workload} eps={self.epsilon:g} {self.relation}{tight}"


CASES = (
    Case("adult", "3way:64", 0.1, seeds=20),  # the worst cell varies much from draw to draw
    Case("adult", "5way:64", 0.1, seeds=60),  # and here it is near its target
    *(Case("adult", f"{k}way:64", 1.0) for k in (3, 5)),
    *(Case("adult", f"{k}way:64", 0.1, seeds=20, relation="add-remove") for k in (3, 5)),
    *(Case("adult", f"{k}way:64", 1.0, relation="add-remove") for k in (3, 5)),
    *(Case("adult", f"{k}way:64", epsilon, accounting=Accounting.TIGHT) for k in (3, 5) for epsilon in (0.1, 1.0)),
    *(Case("adult", f"{k}way:64", 0.05, seeds=20) for k in (3, 5)),  # where MST is near
    *(Case("adult", f"{k}way:64", epsilon) for epsilon in (0.25, 0.5) for k in (3, 5)),
    *(Case("nltcs", "3way:64", epsilon) for epsilon in (0.1, 1.0)),
    *(Case("adult-reduced", "3way:all", epsilon) for epsilon in (0.1, 1.0)),
    *(Case("loans", f"{k}way:64", epsilon, seeds=2) for k in (3, 5) for epsilon in (0.1, 1.0)),
    *(Case("adult", f"{k}way:all", 0.1) for k in (3, 5)),
    *(Case("adult", f"{k}way:all", 1.0, seeds=1) for k in (3, 5)),
    *(Case("loans", f"3way:{marginals}", epsilon, seeds=3) for marginals in (256, 1024) for epsilon in (1.0, 0.1)),
)
"""The most telling first."""


def measure(case: Case, seed: int, data: Path) -> dict[str, Any]:
    """One run, in a process of its own."""
    codes = load_benchmark(case.data, data)
    source = MemorySource(codes)
    workload = named_workload(case.workload, codes.domain, rows=codes.rows, data_dir=data)
    load_before = os.getloadavg()[0]
    wall, cpu = time.perf_counter(), time.process_time()
    curator = seeded_curator(
        source, epsilon=case.epsilon, seed=seed, relation=case.relation, accounting=case.accounting
    )
    curator.set_aside(curator.budget.rho * CERTIFICATE)
    result = run(curator, workload, AdaptiveSettings(), seed=seed)
    seconds = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert result.relaxed is not None
    assert curator.remaining == 0
    relaxed = evaluate(source, workload, result)
    drawn = round_rows(result.relaxed, seed, rows=codes.rows, method="systematic")
    rounded = evaluate(source, workload, Codes(codes.domain, drawn))
    return {
        "seed": seed,
        **_errors(relaxed),
        **{f"rounded_{name}": value for name, value in _errors(rounded).items()},
        **{name: round(value, 2) for name, value in seconds.items()},
        "peak_mb": round(peak),
        "queries": relaxed.queries,
        "marginals_measured": len(result.measurements),
        "load": round(load_before, 2),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": mechanism_digest(),
    }


def mechanism_digest() -> str:
    """Which version of the mechanism's and the fit's code ran."""
    package = Path(dprap.mechanisms.adaptive.__file__).parent
    files = [*sorted(package.glob("*.py")), Path(dprap.relaxed.fit.__file__)]
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=6).hexdigest()


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.csv, adult-domain.json and so on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="run only cases whose names contain one of these, by commas")
    parser.add_argument("--seeds", type=int, default=60, help="at most so many noise seeds a case")
    options = parser.parse_args()
    runs = json.loads(options.out.read_text())["runs"] if options.out.exists() else {}
    code = mechanism_digest()
    for case in CASES:
        if not any(part in case.name for part in options.only.split(",")):
            continue
        kept = [found for found in runs.get(case.name, []) if found["code"] == code]
        for seed in range(FIRST_SEED, FIRST_SEED + min(case.seeds, options.seeds)):
            if any(found["seed"] == seed for found in kept):
                continue
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
                kept.append(alone.submit(measure, case, seed, options.data).result())
            runs[case.name] = kept
            _keep(options.out, runs)
            print(case.name, {name: kept[-1][name] for name in ("seed", *METRICS)}, flush=True)


def _errors(errors: Errors) -> dict[str, float]:
    assert errors.tv is not None
    found = {"max": errors.max, "tv": errors.tv, "mean": errors.mean, "rmse": errors.rmse}
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def _keep(path: Path, runs: dict[str, list[dict[str, Any]]]) -> None:
    """Write all runs and their medians with what they were measured on; the old file stays until the new one is whole."""
    facts = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {name: version(name) for name in ("dprap", "numpy", "jax")},
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "cores_used": len(os.sched_getaffinity(0)),
        "certificate_share": float(CERTIFICATE),
        "medians": {
            name: {"runs": len(found), **{metric: median(each[metric] for each in found) for metric in METRICS}}
            for name, found in runs.items()
        },
        "runs": runs,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(facts, indent=1) + "\n")
    draft.replace(path)


if __name__ == "__main__":
    main()
