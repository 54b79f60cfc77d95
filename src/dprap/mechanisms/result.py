"""What every mechanism returns, and what it tells while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dprap.accounting import Measurement, QueryMeasurement
from dprap.array_types import Answers
from dprap.relaxed.rows import RelaxedDataset


@dataclass(frozen=True)
class MechanismResult:
    """What a mechanism publishes: rows or answers, and what they rest on.

    Args:
        relaxed: A relaxed data set, or None where there are answers only.
        answers: Fractions, one array for each family of the workload, or None where there are rows.
        measurements: Everything that was measured.
        records: The number of records by which counts were made fractions; None where none were.
        steps: The optimiser's steps, of all fits together.

    """

    relaxed: RelaxedDataset | None
    answers: list[Answers] | None
    measurements: tuple[Measurement | QueryMeasurement, ...]
    records: float | None = None
    steps: int = 0


@dataclass(frozen=True)
class Progress:
    """How far a run is, in public quantities: settings, and what noisy measurements say."""

    stage: str
    done: int
    total: int
    detail: str = ""


ProgressCallback: TypeAlias = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Ignore progress."""
