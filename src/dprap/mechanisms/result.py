"""What every mechanism returns, and what it tells while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias, TypeVar

from dprap.accounting import Measurement, QueryMeasurement
from dprap.array_types import Answers
from dprap.relaxed.rows import RelaxedDataset

Item = TypeVar("Item")


@dataclass(frozen=True)
class Prediction:
    """What the rows said of a marginal before it was measured: an honest test of the model.

    Both are noisy or made of noisy results, so they may be published.
    """

    expected_counts: Answers
    measured: Measurement


@dataclass(frozen=True)
class MechanismResult:
    """What a mechanism publishes: rows or answers, and what they rest on.

    Args:
        relaxed: A relaxed data set, or None where there are answers only.
        answers: Fractions, one array for each family of the workload, or None where there are rows.
        measurements: Everything that was measured.
        records: The number of records by which counts were made fractions; None where none were.
        steps: The optimiser's steps, of all fits together.
        predictions: What was predicted before it was measured. None for a mechanism whose errors
            are not to be calibrated by runs on its own table; its answers then have no intervals.
    """

    relaxed: RelaxedDataset | None
    answers: list[Answers] | None
    measurements: tuple[Measurement | QueryMeasurement, ...]
    records: float | None = None
    steps: int = 0
    predictions: tuple[Prediction, ...] | None = None


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


class Paced:
    """Hands progress on at most every few seconds, so that every step of a loop may report.

    Args:
        progress: Who is told.
        seconds: The least time between two reports.
        clock: Seconds that never go back; those of the machine, unless given.

    """

    def __init__(
        self,
        progress: ProgressCallback,
        *,
        seconds: float = 2.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._progress, self._seconds = progress, seconds
        self._clock = monotonic if clock is None else clock
        self._last = self._clock()

    def __call__(self, progress: Progress) -> None:
        """Report, unless the last report was a moment ago."""
        if self._clock() - self._last >= self._seconds:
            self._progress(progress)
            self._last = self._clock()

    def each(
        self, items: Iterable[Item], stage: str, total: int, detail: str = ""
    ) -> Iterator[Item]:
        """The items as they are; each is reported once it was used."""
        for done, item in enumerate(items, start=1):
            yield item
            self(Progress(stage, done, total, detail))
