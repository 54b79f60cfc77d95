"""What every mechanism returns, and what it tells while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dprap.array_types import Answers
from dprap.privacy import Measurement, QueryMeasurement
from dprap.relaxed.dataset import RelaxedDataset


@dataclass(frozen=True)
class MechanismResult:
    """A relaxed data set, or answers as fractions, one array a family of the workload; and what was measured."""

    relaxed: RelaxedDataset | None
    answers: list[Answers] | None
    measurements: tuple[Measurement | QueryMeasurement, ...]


@dataclass(frozen=True)
class Progress:
    """How far a run is. Holds public quantities only: settings, and what follows from noisy measurements."""

    stage: str
    done: int
    total: int
    detail: str = ""


ProgressCallback: TypeAlias = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Ignore progress."""
