"""Error, CPU seconds and memory of the adaptive mechanism with its default settings, over ε,
workloads and tables.

Exact accounting unless a case says tight, δ = 1/n², and 2% of ρ set aside for the certificate, as
`dprap synth` does it. Errors are of the relaxed rows and, as `rounded`, of the n records that are
published. A cell names the code of the mechanism that it ran, so a changed mechanism is measured
again. Gaussian noise, MST and AIM stand beside it at large ε.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import dprap.mechanisms.adaptive
import dprap.relaxed
from dprap.accounting import Accounting
from dprap.datasets.benchmark import load_benchmark
from dprap.errors import SettingsError
from dprap.evaluate import Errors, evaluate
from dprap.mechanisms.registry import method_named
from dprap.sources import MemorySource
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.seeded import seeded_curator
from dprap_bench.synthetic import published_table
from dprap_bench.timing import timed
from dprap_bench.workloads import named_workload

# Smaller seeds were used while the mechanism was made.
FIRST_SEED = 9300
CERTIFICATE = Fraction(2, 100)


@dataclass(frozen=True)
class Case:
    """A table, workload, ε, neighbour relation and accounting, and how many noise seeds it is run
    with.
    """

    data: str
    workload: str
    epsilon: float
    seeds: int = 5
    relation: str = "replace"
    accounting: Accounting = Accounting.EXACT
    method: str = "adaptive"


CASES = (
    *(  # README's row: peers have this accounting
        Case("adult", f"{k}way:64", epsilon, seeds=10, accounting=Accounting.TIGHT)
        for k in (3, 5)
        for epsilon in (0.1, 1.0)
    ),
    *(Case("adult", "3way:64", epsilon, seeds=10) for epsilon in (10.0, 3.0, 1.0, 0.1)),
    *(
        Case(data, workload, epsilon, seeds=seeds, method=method)
        for data, workload in (
            *(("adult", "3way:64"), ("nltcs", "3way:64")),
            *(("adult-reduced", "3way:all"), ("loans", "3way:64")),
        )
        for method, seeds in (("gaussian", 10), ("mst", 3), ("aim", 3))
        for epsilon in (3.0, 10.0)
    ),
    *(Case("adult", "5way:64", epsilon, seeds=10) for epsilon in (0.1, 1.0)),
    *(
        Case("adult", f"{k}way:64", e, seeds=10, relation="add-remove")
        for k in (3, 5)
        for e in (0.1, 1.0)
    ),
    *(
        Case("adult", "3way:64", epsilon, seeds=10, relation="add-remove")
        for epsilon in (3.0, 10.0)
    ),
    *(Case("adult", f"{k}way:64", 0.05, seeds=20) for k in (3, 5)),  # where MST is near
    *(Case("adult", f"{k}way:64", epsilon) for epsilon in (0.25, 0.5) for k in (3, 5)),
    *(Case("nltcs", "3way:64", epsilon) for epsilon in (0.1, 1.0, 3.0, 10.0)),
    *(Case("adult-reduced", "3way:all", epsilon) for epsilon in (0.1, 1.0, 3.0, 10.0)),
    *(Case("loans", "3way:64", epsilon, seeds=3) for epsilon in (0.1, 1.0, 3.0, 10.0)),
    *(Case("loans", "5way:64", epsilon, seeds=2) for epsilon in (0.1, 1.0)),
    *(Case("adult", f"{k}way:all", 0.1) for k in (3, 5)),
    *(Case("adult", f"{k}way:all", 1.0, seeds=1) for k in (3, 5)),
    *(
        Case("loans", f"3way:{marginals}", epsilon, seeds=3)
        for marginals in (256, 1024)
        for epsilon in (1.0, 0.1)
    ),
)
"""The most telling first."""


def cells(seeds: int | None) -> list[StudyCell]:
    """Every case with its noise seeds."""
    code = mechanism_digest()
    return [
        StudyCell(
            "adaptive",
            {
                "data": case.data,
                "workload": case.workload,
                "epsilon": case.epsilon,
                "relation": case.relation,
                "accounting": case.accounting.value,
                "seed": seed,
                **({"code": code} if case.method == "adaptive" else {"method": case.method}),
            },
        )
        for case in CASES
        for seed in range(FIRST_SEED, FIRST_SEED + min(case.seeds, seeds or case.seeds))
    ]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:
    """One run."""
    codes = load_benchmark(facts["data"], data_dir)
    source = MemorySource(codes)
    workload = named_workload(facts["workload"], codes.domain, rows=codes.rows)
    load_before = os.getloadavg()[0]
    seed = facts["seed"]
    method = method_named(facts.get("method", "adaptive"))
    with timed() as seconds:
        curator = seeded_curator(
            source,
            epsilon=facts["epsilon"],
            seed=seed,
            relation=facts["relation"],
            accounting=Accounting(facts["accounting"]),
        )
        curator.set_aside(curator.budget.rho * CERTIFICATE)
        result = method.run(curator, workload, method.settings({}), seed=seed)
    if curator.remaining != 0:
        raise SettingsError("the mechanism did not spend its budget.")
    fitted = evaluate(source, workload, result)
    figures = {
        **_errors(fitted),
        **seconds,
        "queries": fitted.queries,
        "marginals_measured": len(result.measurements),
    }
    if result.relaxed is not None:
        with timed() as drawing:
            table = published_table(result, workload, rows=codes.rows, seed=seed)
        rounded = evaluate(source, workload, table)
        figures |= {f"rounded_{name}": value for name, value in _errors(rounded).items()}
        figures["rounding_cpu_seconds"] = drawing["cpu_seconds"]
    return {**figures, "load": load_before}


def mechanism_digest() -> str:
    """Which version of the mechanism's code and of the relaxed rows' runs."""
    folders = [
        Path(folder)
        for package in (dprap.mechanisms.adaptive, dprap.relaxed)
        for folder in package.__path__
    ]
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=6).hexdigest()


def _errors(errors: Errors) -> dict[str, float | None]:
    return {"max": errors.max, "tv": errors.tv, "mean": errors.mean, "rmse": errors.rmse}
