"""What a method with a graphical model publishes: exact answers of the model, and records drawn from it on request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.mechanisms.graphical import GraphicalModel
from dprap.mechanisms.result import MechanismResult
from dprap.mechanisms.shared import cell_families
from dprap.mechanisms.signed import as_relaxed
from dprap.privacy import Measurement
from dprap.queries import Marginal
from dprap.workload import Workload


@dataclass(frozen=True)
class ModelOutput:
    """`synthetic_rows` records are drawn as well; none by default, because the answers do not need them."""

    synthetic_rows: int = 0


def modelled_result(
    model: GraphicalModel,
    workload: Workload,
    output: ModelOutput,
    seed: int,
    measurements: tuple[Measurement, ...],
) -> MechanismResult:
    """Answers of the model to the workload, and synthetic records as relaxed rows if asked for."""
    answers = [
        np.asarray(
            family.answers(model.fractions(Marginal(family.columns)).reshape(workload.domain.shape_of(family.columns)))
        ).ravel()
        for family in cell_families(workload, "with a graphical model")
    ]
    relaxed = None
    if output.synthetic_rows:
        drawn = model.sample(output.synthetic_rows, np.random.default_rng(seed))
        relaxed = as_relaxed(workload.domain, drawn)
    return MechanismResult(relaxed, answers, measurements)
