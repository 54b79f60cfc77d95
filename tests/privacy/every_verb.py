"""A mechanism that uses every verb of the curator, on every kind of query that the verb takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dprap.mechanisms.result import MechanismResult, Progress
from dprap.privacy import Score
from dprap.queries import Marginal, Query


@dataclass(frozen=True)
class Settings:
    """Nothing can be chosen."""


def run(
    curator: Any, workload: Any, settings: Settings, *, seed: int, progress: Any
) -> MechanismResult:
    domain, families = workload.domain, workload.families
    part = curator.rho / 10
    name = domain.names[-1]
    groups = Marginal((name,), ((0, 3),))
    partitions = [Marginal(domain.names[:2]), Marginal((domain.names[0], name), (None, (0, 2, 5)))]
    zeros = [np.zeros(partition.size(domain)) for partition in partitions]
    total, coarse = curator.measure([Marginal(()), groups], part, [1, 3])
    progress(
        Progress(
            "verbs", 1, 6, f"about {total.counts[0]} records, {coarse.counts.tolist()} in groups"
        )
    )
    picked = curator.select(partitions, zeros, k=1, rho=part)
    scored = curator.select(
        partitions, zeros, k=2, rho=part, score=Score(cell=0.5, l1=0.5, threshold_counts=2.0)
    )
    measured = curator.measure([partitions[position] for position in picked + scored[:1]], part)
    progress(Progress("verbs", 3, 6, f"{picked} {scored}"))
    nothing = [np.zeros(family.size(domain)) for family in families]
    known = [Query(families[0], 0)]
    queries = curator.select_queries(families, nothing, k=2, rho=part, exclude=known)
    answers = curator.measure_queries([*known, *queries], part)
    every_other = tuple(tuple(range(first, domain.size(name), 2)) for first in (0, 1))
    halves = curator.measure([Marginal((name,), (every_other,))], part)[0]
    progress(
        Progress("verbs", 5, 6, f"{[str(query) for query in queries]} {halves.counts.tolist()}")
    )
    rows = max(1, int(total.counts[0]))
    shares = [np.clip(counts / rows, 0, 1) for _, counts, _ in curator.measure_all(families, part)]
    certificate = curator.certify(families, [share * rows for share in shares], rho=part)
    progress(Progress("verbs", 6, 6, f"{certificate.upper_bound_counts:.3f}"))
    return MechanismResult(
        relaxed=None, answers=shares, measurements=(total, coarse, *measured, *answers)
    )
