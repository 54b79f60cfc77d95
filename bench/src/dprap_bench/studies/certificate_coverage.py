"""How often the accuracy certificate's bound holds: whole runs on small tables, each with fresh
noise.

For every method, number of records, ε and neighbour relation it makes many releases and counts how
often the bound is at least

* `larger`: the larger of the fit's and the saved table's true largest error, which is what is
  certified: nominally 95%;
* `fit`, `table`: each of the two alone, which can only be covered more often.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dprap.accounting import Neighbors, Relation
from dprap.encoding import Codes
from dprap.evaluate import exact_answers, published_answers
from dprap.privacy import discrete_gaussian
from dprap.queries import Halfspace
from dprap.release import Release
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
SETTINGS: dict[str, dict[str, Any]] = {
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
    "rap++": {"rounds": 2, "queries_per_round": 4, "synthetic_rows": 24},
    "independent": {},
    "gaussian": {},
}
RECORDS = (200, 2_000)
EPSILONS = (0.5, 4.0)

# Releases of a cell, and of one method, size, ε and relation at most: their seeds start this far
# apart.
RUNS, MOST_RUNS = 100, 400


def cells(seeds: int | None) -> list[StudyCell]:
    """Releases of every method, size, ε and relation, `MOST_RUNS` unless fewer are asked for, in
    cells of `RUNS`.

    No two cells share a seed: with the same noise, scaled, their misses would come together.
    """
    groups = enumerate(product(SETTINGS, RECORDS, EPSILONS, Relation))
    wanted = min(seeds or MOST_RUNS, MOST_RUNS)
    return [
        StudyCell(
            "certificate_coverage",
            {
                "method": method,
                "records": records,
                "epsilon": epsilon,
                "relation": relation.value,
                "first_seed": number * MOST_RUNS + done,
                "runs": min(RUNS, wanted - done),
            },
        )
        for number, (method, records, epsilon, relation) in groups
        for done in range(0, wanted, RUNS)
    ]


def workload(method: str, schema: Schema) -> Workload:
    """All pairs of columns; for `rap++` also halfspaces, without which it does nothing."""
    pairs = all_kway(schema.domain, 2)
    if method != "rap++":
        return pairs
    halfspaces = Halfspace(("b", "c", "a"), by=("a",), count=10)
    return Workload(schema.domain, (*pairs.families, halfspaces))


def table(records: int) -> MemorySource:
    """Records in which b follows a, c follows b, and d is a coin."""
    rng = np.random.default_rng(records)
    a = (rng.random(records) < 0.3).astype(int)
    b = np.where(rng.random(records) < 0.7, a, 2)
    c = np.where(rng.random(records) < 0.6, b, 3)
    domain = Schema.from_domain(SIZES).domain
    return MemorySource(
        Codes.of(domain, {"a": a, "b": b, "c": c, "d": rng.integers(0, 2, records)})
    )


def largest_errors_counts(
    release: Release, source: MemorySource, exact: list[np.ndarray]
) -> tuple[float, float]:
    """True largest errors of the fitted answers and of the release's table, in counts; of the
    answers twice without rows.
    """
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


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:  # noqa: ARG001 - the tables are made up
    """Coverage over the runs of one cell."""
    # Shares of the budget are fixed above and tables of noise kept here: making one takes longer
    # than the rest of a run.
    discrete_gaussian._cumulative_table = lru_cache(maxsize=64)(  # noqa: SLF001
        discrete_gaussian._cumulative_table.__wrapped__  # noqa: SLF001
    )
    schema = Schema.from_domain(SIZES)
    source = table(facts["records"])
    plan = make_plan(
        schema,
        RunOptions(
            epsilon=facts["epsilon"],
            delta=1e-6,
            neighbors=Neighbors(Relation(facts["relation"])),
            workload=workload(facts["method"], schema),
            method=facts["method"],
            settings=SETTINGS[facts["method"]],
            intervals="no",
        ),
        records=facts["records"],
    )
    exact = list(exact_answers(source, plan.workload.families))
    covered = {"larger": 0, "fit": 0, "table": 0}
    table_is_worse = 0
    runs = facts["runs"]
    for seed in range(facts["first_seed"], facts["first_seed"] + runs):
        release = execute(plan, source, insecure_noise_seed=seed)
        fit, drawn = largest_errors_counts(release, source, exact)
        bound = release.certificate.upper_bound_counts  # type: ignore[union-attr]
        for name, error in (("larger", max(fit, drawn)), ("fit", fit), ("table", drawn)):
            covered[name] += bound >= error
        table_is_worse += drawn > fit
    has_table = facts["method"] != "gaussian"
    return {
        "covered_larger": covered["larger"] / runs,
        "covered_fit": covered["fit"] / runs,
        "covered_table": covered["table"] / runs if has_table else None,
        "table_is_worse": table_is_worse / runs if has_table else None,
    }
