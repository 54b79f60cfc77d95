"""What a method with a graphical model publishes: exact answers of the model, and records drawn
from it on request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Int
from dprap.domain import Domain
from dprap.mechanisms.cell_answers import cell_families
from dprap.mechanisms.result import MechanismResult
from dprap.queries import Marginal
from dprap.workload import Workload
from dprap_bench.mechanisms.graphical import GraphicalModel
from dprap_bench.mechanisms.signed_selection import as_relaxed

CodeMap = Int[np.ndarray, "codes"]
"""The merged code of each code of a column."""


class Model(Protocol):
    """A distribution over the records of a domain."""

    def fractions(self, marginal: Marginal) -> Answers:
        """Fractions of the cells of any marginal."""
        ...

    def sample(self, rows: int, rng: np.random.Generator) -> Int[np.ndarray, "records columns"]:
        """Independent records."""
        ...


@dataclass(frozen=True)
class MergedModel:
    """A model of a table with merged codes, on the domain before merging: merged codes share their
    records evenly.
    """

    model: GraphicalModel
    domain: Domain
    maps: Mapping[str, CodeMap]

    def fractions(self, marginal: Marginal) -> Answers:
        """Fractions of the cells of any marginal."""
        table = self.model.fractions(marginal).reshape(
            self.model.tree.domain.shape_of(marginal.columns)
        )
        for axis, name in enumerate(marginal.columns):
            codes = self.maps[name]
            shares = 1 / np.bincount(codes)[codes]
            table = table.take(codes, axis=axis) * shares.reshape(
                [-1 if at == axis else 1 for at in range(table.ndim)]
            )
        return table.ravel()

    def sample(self, rows: int, rng: np.random.Generator) -> Int[np.ndarray, "records columns"]:
        """Independent records."""
        records = self.model.sample(rows, rng)
        for position, name in enumerate(self.domain.names):
            # Sorted by new code, the old codes of each stand together.
            codes = self.maps[name]
            together = np.bincount(codes)
            first = np.cumsum(together) - together
            new = records[:, position]
            records[:, position] = np.argsort(codes, kind="stable")[
                first[new] + rng.integers(together[new])
            ]
        return records


def modelled_result(
    model: Model,
    workload: Workload,
    synthetic_rows: int,
    seed: int,
    measurements: tuple[Measurement, ...],
    records: float,
) -> MechanismResult:
    """Answers of the model to the workload, and synthetic records as relaxed rows if asked for."""
    answers = [
        np.asarray(
            family.answers(
                model.fractions(Marginal(family.columns)).reshape(
                    workload.domain.shape_of(family.columns)
                )
            )
        ).ravel()
        for family in cell_families(workload, "with a graphical model")
    ]
    relaxed = None
    if synthetic_rows:
        drawn = model.sample(synthetic_rows, np.random.default_rng(seed))
        relaxed = as_relaxed(workload.domain, drawn)
    return MechanismResult(relaxed, answers, measurements, records)
