"""What each lever of the adaptive mechanism does: ADULT, 64 marginals, one lever changed at a time.

    python benchmarks/adaptive_ablation.py --data DIR --out benchmarks/results/adaptive_ablation.json [--only 5way] [--seeds 20]

Median error of the relaxed rows over noise seeds; everything else as in `adaptive.py`. Single queries instead of whole marginals is
the method `rap`, whose figures `rap_accuracy.py` makes. Not private: the noise is seeded.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import Any
from unittest.mock import patch

import numpy as np

from dprap_bench.results import machine
from dprap_bench.seeded import seeded_curator
from dprap_bench.workloads import named_workload
from dprap.datasets.benchmark import load_benchmark
from dprap.evaluate import evaluate
from dprap.mechanisms.adaptive import AdaptiveSettings, run
from dprap.mechanisms.adaptive.evidence import Evidence
from dprap.mechanisms.adaptive.schedule import MOST_CELLS
from dprap.privacy import Accounting
from dprap.relaxed.soft_rows import SoftRows, Target
from dprap.sources import MemorySource

FIRST_SEED = 200
CASES = (("3way:64", 0.1), ("3way:64", 1.0), ("5way:64", 0.1))


def believe_every_cell() -> AbstractContextManager[Any]:
    """Weights by the noise alone."""
    trusting = Evidence.target

    def target(item: Evidence, records: float) -> Target:
        wanted = trusting(item, records)
        return replace(wanted, weights=np.full_like(wanted.weights, (records / item.stddev_counts) ** 2))

    return patch.object(Evidence, "target", target)


def leave_columns_rough() -> AbstractContextManager[Any]:
    """Columns as measured."""
    return patch("dprap.mechanisms.adaptive.mechanism.smooth", lambda counts, _: counts)


def no_groups() -> AbstractContextManager[Any]:
    """Candidates over single codes alone."""
    return patch("dprap.mechanisms.adaptive.mechanism.with_groups", lambda schedule, *_: schedule.candidates)


def none_broad() -> AbstractContextManager[Any]:
    """No marginals of several columns in few groups each."""
    return patch("dprap.mechanisms.adaptive.groups._all_columns_merged", lambda *_: ())


def all_cells_count() -> AbstractContextManager[Any]:
    """Choose by all errors of a marginal, not by the largest."""
    return patch("dprap.mechanisms.adaptive.mechanism._CELLS_THAT_COUNT", MOST_CELLS)


def go_on() -> AbstractContextManager[Any]:
    """The last fit is no fresh start."""
    return patch.object(SoftRows, "restart", lambda _: None)


@dataclass(frozen=True)
class Lever:
    """One change to the default."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    change: Callable[[], AbstractContextManager[Any]] = nullcontext
    accounting: Accounting = Accounting.EXACT


LEVERS = (
    Lever("default"),
    Lever("score: largest cell error", {"objective": "max"}),
    Lever("score: all errors above half the noise", change=all_cells_count),
    Lever("score: all errors above a quarter of the noise", {"objective": "mean"}),
    Lever("no groups of codes", change=no_groups),
    Lever("no broad marginals", change=none_broad),
    Lever("columns: 10% of ρ", {"one_way_share": 0.1}),
    Lever("columns: 50% of ρ", {"one_way_share": 0.5}),
    Lever("columns as measured, not smoothed", change=leave_columns_rough),
    Lever("no sweep", {"sweep_share": 0.0}),
    Lever("sweep always, 80%", {"sweep_share": 0.8}),
    Lever("10 picks", {"picks": 10}),
    Lever("40 picks", {"picks": 40}),
    Lever("all picks in one round", {"rounds": 1}),
    Lever("every cell believed alike", change=believe_every_cell),
    Lever("no pull to independent columns", {"kl": 0.0}),
    Lever("fit five times as long", {"steps": 750, "final_steps": 1500}),
    Lever("last fit goes on from the rounds before", {"jitter": 0.3}, go_on),
    Lever("zCDP's accounting (tight)", accounting=Accounting.TIGHT),
    Lever("the paper's accounting", accounting=Accounting.PAPER),
)


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="run only what has one of these in 'LEVER, WORKLOAD', by semicolons")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    runs = json.loads(options.out.read_text())["runs"] if options.out.exists() else []
    codes = load_benchmark("adult", options.data)
    source = MemorySource(codes)
    workloads = {name: named_workload(name, codes.domain, rows=codes.rows, data_dir=options.data) for name, _ in CASES}
    done = {(*_case(found), found["seed"]) for found in runs}
    for lever, (name, epsilon) in product(LEVERS, CASES):
        if not any(part in f"{lever.name}, {name}" for part in options.only.split(";")):
            continue
        workload = workloads[name]
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
            if (lever.name, name, epsilon, seed) in done:
                continue
            curator = seeded_curator(source, epsilon=epsilon, seed=seed, accounting=lever.accounting)
            curator.set_aside(curator.budget.rho * 2 / 100)
            started = time.process_time()
            with lever.change():
                result = run(curator, workload, AdaptiveSettings(**lever.settings), seed=seed)
            cpu_seconds = round(time.process_time() - started, 1)
            errors = evaluate(source, workload, result)
            assert errors.tv is not None
            found = {"max": float(f"{errors.max:.4g}"), "tv": float(f"{errors.tv:.4g}"), "cpu_seconds": cpu_seconds}
            runs.append({"lever": lever.name, "workload": name, "epsilon": epsilon, "seed": seed, **found})
            _keep(options.out, runs)
        print(lever.name, name, epsilon, _medians(runs, (lever.name, name, epsilon)), flush=True)


def _case(found: dict[str, Any]) -> tuple[str, str, float]:
    return found["lever"], found["workload"], found["epsilon"]


def _medians(runs: list[dict[str, Any]], case: tuple[str, str, float]) -> dict[str, float]:
    same = [found for found in runs if _case(found) == case]
    of_each = {metric: median(found[metric] for found in same) for metric in ("max", "tv", "cpu_seconds")}
    return {"draws": len(same), **of_each, "mean_max": float(f"{mean(found['max'] for found in same):.4g}")}


def _keep(path: Path, runs: list[dict[str, Any]]) -> None:
    cases = dict.fromkeys(map(_case, runs))
    medians = [
        {"lever": lever, "workload": name, "epsilon": epsilon, **_medians(runs, (lever, name, epsilon))}
        for lever, name, epsilon in cases
    ]
    facts = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(), "medians": medians}
    path.write_text(json.dumps({**facts, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
