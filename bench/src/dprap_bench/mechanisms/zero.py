"""The paper's yardstick: answer every query with zero. Looks at nothing and spends nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Neighbors
from dprap.mechanisms.outline import PlannedStep
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.result import MechanismResult, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.workload import Workload


@dataclass(frozen=True)
class ZeroSettings:
    """Nothing to set."""


def outline(
    workload: Workload,  # noqa: ARG001 - every method has the same signature; this one depends on nothing
    settings: ZeroSettings,  # noqa: ARG001
    *,
    budget_rho: Fraction,  # noqa: ARG001
    neighbors: Neighbors,  # noqa: ARG001
    rows: int | None,  # noqa: ARG001
) -> list[PlannedStep]:
    """Nothing."""
    return []


def run(
    curator: Curator,  # noqa: ARG001 - every method has the same signature; this one looks at nothing
    workload: Workload,
    settings: ZeroSettings,  # noqa: ARG001
    *,
    seed: int,  # noqa: ARG001
    progress: ProgressCallback = silent,  # noqa: ARG001
) -> MechanismResult:
    """Answer zero."""
    return MechanismResult(
        relaxed=None, answers=[np.zeros(size) for size in workload.sizes], measurements=()
    )


MECHANISM = Mechanism(run, outline, ZeroSettings, "answers every query with zero; a yardstick")
