"""How often the accuracy certificate's bound holds: whole runs on small tables, each with fresh noise.

For every cell (method, records, ε, neighbour relation) it makes many releases and counts how often the bound is at least

* `larger`: the larger of the fit's and the saved table's true largest error, which is what is certified: nominally 95%;
* `fit`, `table`: each of the two alone, which can only be covered more often.

    python benchmarks/certificate_coverage.py --runs 400 --out benchmarks/results/certificate_coverage.json
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from datetime import UTC, datetime
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from dprap.encoding import Codes
from dprap.evaluate import exact_answers, published_answers
from dprap.plan import make_plan
from dprap.privacy import Neighbors, Relation, gaussian
from dprap.release import Release
from dprap.run import execute
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.version import __version__
from dprap.workload import all_kway

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
SETTINGS = {
    "adaptive": {
        "synthetic_rows": 12,
        "steps": 10,
        "final_steps": 20,
        "picks": 4,
        "rounds": 2,
        "one_way_share": 0.3,
        "sweep_share": 0.3,
    },
    "rap": {"rounds": 2, "queries_per_round": 4, "synthetic_rows": 12},
    "independent": {},
    "gaussian": {},
}
RECORDS = (200, 2_000)
EPSILONS = (0.5, 4.0)
NOMINAL = 0.95

# Releases of a cell at most: the seeds of two cells start this far apart.
MOST_RUNS = 400

# Shares of the budget are fixed above and tables of noise kept here, because making one takes longer than the rest of a run.
gaussian._cumulative_table = lru_cache(maxsize=64)(gaussian._cumulative_table.__wrapped__)  # noqa: SLF001


def table(records: int) -> MemorySource:
    """Records in which b follows a, c follows b, and d is a coin."""
    rng = np.random.default_rng(records)
    a = (rng.random(records) < 0.3).astype(int)
    b = np.where(rng.random(records) < 0.7, a, 2)
    c = np.where(rng.random(records) < 0.6, b, 3)
    domain = Schema.from_domain(SIZES).domain
    return MemorySource(Codes.of(domain, {"a": a, "b": b, "c": c, "d": rng.integers(0, 2, records)}))


def largest_errors_counts(release: Release, source: MemorySource, exact: list[np.ndarray]) -> tuple[float, float]:
    """True largest errors of the fitted answers and of the release's table, in counts; of the answers twice without rows."""
    families = release.workload.families

    def largest(published: object) -> float:
        found = published_answers(published, families)  # type: ignore[arg-type]
        return max(
            float(np.abs(truth * source.rows - np.float64(release.rows) * share).max())
            for truth, share in zip(exact, found, strict=True)
        )

    if release.relaxed is None:
        answers = largest(release.workload_shares)
        return answers, answers
    return largest(release.relaxed), largest(release.codes())


def cell(method: str, records: int, epsilon: float, relation: Relation, seeds: range) -> dict[str, object]:
    """Coverage over the runs of one cell."""
    schema = Schema.from_domain(SIZES)
    source = table(records)
    plan = make_plan(
        schema,
        epsilon=epsilon,
        delta=1e-6,
        rows=records,
        neighbors=Neighbors(relation),
        workload=all_kway(schema.domain, 2),
        method=method,
        settings=SETTINGS[method],
    )
    exact = list(exact_answers(source, plan.workload.families))
    covered = {"larger": 0, "fit": 0, "table": 0}
    table_is_worse = 0
    runs = len(seeds)
    for seed in seeds:
        release = execute(plan, source, insecure_noise_seed=seed)
        fit, drawn = largest_errors_counts(release, source, exact)
        bound = release.certificate.upper_bound_counts  # type: ignore[union-attr]
        for name, error in (("larger", max(fit, drawn)), ("fit", fit), ("table", drawn)):
            covered[name] += bound >= error
        table_is_worse += drawn > fit
    facts = {"method": method, "records": records, "epsilon": epsilon, "relation": relation.value, "runs": runs}
    has_table = method != "gaussian"
    return {
        **facts,
        "covered_larger": covered["larger"] / runs,
        "covered_fit": covered["fit"] / runs,
        "covered_table": covered["table"] / runs if has_table else None,
        "table_is_worse": table_is_worse / runs if has_table else None,
    }


def pooled(cells: list[dict[str, object]], **wanted: object) -> dict[str, object]:
    """Coverage over the cells with the wanted facts, with the standard error that the certified one would have at 95%."""
    chosen = [each for each in cells if all(each[name] == value for name, value in wanted.items())]
    runs = sum(int(each["runs"]) for each in chosen)  # type: ignore[call-overload]

    def mean(name: str) -> float | None:
        known = [each for each in chosen if each[name] is not None]
        weights = [each["runs"] for each in known]
        return float(np.average([each[name] for each in known], weights=weights)) if known else None  # type: ignore[arg-type]

    figures = {name: mean(name) for name in ("covered_larger", "covered_fit", "covered_table", "table_is_worse")}
    return {**wanted, "runs": runs, **figures, "standard_error": math.sqrt(NOMINAL * (1 - NOMINAL) / runs)}


def main() -> None:
    """Run the cells that the file does not hold yet, and keep the figures after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="Releases of each cell.")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/certificate_coverage.json"))
    given = parser.parse_args()
    cells = json.loads(given.out.read_text(encoding="utf-8"))["cells"] if given.out.exists() else []
    known = {(each["method"], each["records"], each["epsilon"], each["relation"]) for each in cells}
    for number, facts in enumerate(product(SETTINGS, RECORDS, EPSILONS, Relation)):
        if facts in known:
            continue
        # no two cells share a seed: with the same noise, scaled, their misses would come together
        cells.append(cell(*facts, seeds=range(number * MOST_RUNS, number * MOST_RUNS + min(given.runs, MOST_RUNS))))
        print(json.dumps(cells[-1]), flush=True)
        keep(cells, given.out)


def keep(cells: list[dict[str, object]], out: Path) -> None:
    """Write the cells and what they come to together."""
    present = {
        name: sorted({each[name] for each in cells}, key=str) for name in ("method", "records", "epsilon", "relation")
    }
    result = {
        "what": "coverage of the certificate's bound, nominally 95% for the larger of both errors",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "version": __version__,
        "nominal": NOMINAL,
        "pooled": [
            pooled(cells),
            *(pooled(cells, **{name: value}) for name, values in present.items() for value in values),
        ],
        "cells": cells,
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
