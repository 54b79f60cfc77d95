"""Every column by itself: the product of noisy one-way marginals, as if the columns were unrelated."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.mechanisms.shared import count_records, distribution_of
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.relaxed.dataset import RelaxedDataset, uniform_weights
from dprap.workload import Workload


@dataclass(frozen=True)
class IndependentSettings:
    """`records_share` of the budget is spent on the number of records where that is private."""

    records_share: float = 0.01


def run(
    curator: Curator,
    workload: Workload,
    settings: IndependentSettings,
    *,
    seed: int,  # noqa: ARG001 - every method has the same signature; this one makes no public choices
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Measure all one-way marginals, not only the workload's, and publish one relaxed row."""
    records = count_records(curator, settings.records_share)
    progress(Progress("measure", 0, 1, f"{len(workload.domain)} columns"))
    measured = curator.measure([Marginal((name,)) for name in workload.domain.names], curator.remaining)
    progress(Progress("measure", 1, 1))
    row = np.concatenate([distribution_of(m, records.count) for m in measured])
    relaxed = RelaxedDataset(workload.domain, jnp.asarray(row[:, None], dtype=jnp.float32), uniform_weights(1))
    return MechanismResult(relaxed=relaxed, answers=None, measurements=(*records.measurements, *measured))
