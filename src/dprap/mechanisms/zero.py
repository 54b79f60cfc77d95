"""The paper's yardstick: answer every query with zero. Looks at nothing and spends nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.mechanisms.result import MechanismResult, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.workload import Workload


@dataclass(frozen=True)
class ZeroSettings:
    """Nothing to set."""


def run(
    curator: Curator,  # noqa: ARG001 - every method has the same signature; this one looks at nothing
    workload: Workload,
    settings: ZeroSettings,  # noqa: ARG001
    *,
    seed: int,  # noqa: ARG001
    progress: ProgressCallback = silent,  # noqa: ARG001
) -> MechanismResult:
    """Answer zero."""
    return MechanismResult(relaxed=None, answers=[np.zeros(size) for size in workload.sizes], measurements=())
