"""Adam on the logits of rows, with a pull towards a prior: one step, given the gradient of a fit.

All that a step does beside the gradient is elementwise, or sums over the codes of a column. It goes
over the coordinates in chunks that stay in the cache, in memory that is used again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from dprap.array_types import Float32, Relaxed
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.relaxed.rows import LOWEST_LOGIT

# How much of the moving averages of the gradient, and of its square, is new in a step. Adam's usual
# memory of a thousand steps keeps the large gradients of the beginning in mind, so that the steps
# stay small to the end. A memory of twenty steps came as near in a third of the steps.
_NEW_GRADIENT = 0.2
_NEW_SQUARE = 0.05
# Neighbours pull at each other as strongly as their departures differ, up to about a tenth. Ages
# change slowly throughout. Where one column all but determines another, departures have narrow
# peaks, which a pull that grew with the difference would flatten.
_EDGE = 0.1
# Keeps a coordinate without gradient from a division by zero.
_SMALLEST_STEP_SIZE = 1e-12
# A step moves a logit by little more than the learning rate. Up to this rate exponentials of what
# were logarithms of probabilities stay within float32.
LARGEST_RATE = 10.0
# Numbers of a chunk: the seven arrays of a step then take less than 2 MB.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Tie:
    """Neighbouring codes of a column that are alike.

    Args:
        start: The coordinate of the first code.
        weights: Of each code and the next: how strongly the one's departure from the prior is
            pulled to the other's where they hardly differ, in units of the pull to the prior.

    """

    start: int
    weights: Float32[np.ndarray, " links"]


@dataclass(frozen=True)
class FitSettings:
    """How `fit` goes.

    Args:
        prior: Logits to which the rows are pulled: one column for all rows, or one for each row.
        kl_weight: The weight of that pull, against half a chi-square.
        steps: How many steps are taken; all of them are.
        learning_rate: About how far a logit moves in a step.
        cool_down: In this last share of the steps the learning rate falls to zero.
        ties: Codes that are pulled to their neighbours as well.

    """

    prior: Relaxed
    kl_weight: float
    steps: int
    learning_rate: float
    cool_down: float = 0.0
    ties: tuple[Tie, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= LARGEST_RATE:
            raise SettingsError(
                f"the learning rate of a fit must be above 0 and at most {LARGEST_RATE:g}."
            )


class Adam:
    """Moves logits, which are logarithms of probabilities, and these with them, in place.

    Args:
        domain: The columns.
        logits: Logarithms of the probabilities.
        probabilities: Of every code in every row.
        gradient: Where the gradient by probabilities is put together for each step.
        settings: How the fit goes.

    """

    def __init__(
        self,
        domain: Domain,
        logits: Relaxed,
        probabilities: Relaxed,
        gradient: Relaxed,
        settings: FitSettings,
    ) -> None:
        self._logits, self._gradient, self._settings = logits, gradient, settings
        self._kl_weight = np.float32(settings.kl_weight)
        self._ties = [
            _Tied.of(tie, logits, gradient, settings.prior, self._kl_weight)
            for tie in settings.ties
        ]
        self._chunks = list(_chunks(domain, logits, probabilities, gradient))

    def begin(self) -> Float32[np.ndarray, " onehot"]:
        """Put the prior's pull into the gradient; what it has for a code in all rows alike is
        returned.

        The pull of KL(row ‖ prior), by probabilities, is the departure h: the logit minus the
        prior's. A tie of weight w adds the pull of w · KL(row ‖ what its neighbour suggests), the
        prior with the departure that the neighbour has now: w times the difference d of the two.
        Beyond an edge e the pull grows no more: it is w · d/√(1 + (d/e)²), the slope of a
        pseudo-Huber loss, which stays convex.
        """
        gradient, prior = self._gradient, self._settings.prior
        if prior.shape[1] == 1:
            np.multiply(self._logits, self._kl_weight, out=gradient)
            of_codes = np.asarray(prior[:, 0] * -self._kl_weight, np.float32)
        else:
            np.subtract(self._logits, prior, out=gradient)
            gradient *= self._kl_weight
            of_codes = np.zeros(len(gradient), np.float32)
        for tied in self._ties:
            tied.pull()
        return of_codes

    def step(self, of_codes: Float32[np.ndarray, " onehot"], number: int) -> None:
        """Make the step of this number, from 1 on; the gradient is lost.

        Args:
            of_codes: What is to be added to the gradient of each code, in every row.
            number: Of the step.

        """
        settings = self._settings
        rate = settings.learning_rate
        if settings.cool_down:
            rate *= min(1.0, (1 - number / (settings.steps + 1)) / settings.cool_down)
        # From the faded sums to unbiased averages.
        of_first = _NEW_GRADIENT / (1 - (1 - _NEW_GRADIENT) ** number)
        of_second = math.sqrt(_NEW_SQUARE / (1 - (1 - _NEW_SQUARE) ** number))
        factor, smallest = (
            np.float32(rate * of_first / of_second),
            np.float32(_SMALLEST_STEP_SIZE / of_second),
        )
        for chunk in self._chunks:
            np.add(chunk.gradient, of_codes[chunk.place, None], out=chunk.gradient)
            _to_logits(chunk)
            _move(chunk, factor, smallest)
            _normalise(chunk)


@dataclass(frozen=True)
class _Tied:
    """A tie with the arrays that it reads and writes."""

    logits: Relaxed
    prior: Relaxed
    gradient: Relaxed
    departures: Relaxed
    apart: Relaxed
    weights: Float32[np.ndarray, "links 1"]

    @classmethod
    def of(
        cls, tie: Tie, logits: Relaxed, gradient: Relaxed, prior: Relaxed, kl_weight: np.float32
    ) -> _Tied:
        place = slice(tie.start, tie.start + len(tie.weights) + 1)
        departures = np.empty_like(logits[place])
        return cls(
            logits[place],
            prior[place],
            gradient[place],
            departures,
            np.empty_like(departures[1:]),
            (kl_weight * tie.weights)[:, None],
        )

    def pull(self) -> None:
        """Add the pull of neighbours to the gradient."""
        departures, apart = self.departures, self.apart
        np.subtract(self.logits, self.prior, out=departures)
        np.subtract(departures[1:], departures[:-1], out=apart)
        loosened = np.square(apart, out=departures[1:])
        loosened *= np.float32(_EDGE**-2)
        loosened += np.float32(1)
        apart /= np.sqrt(loosened, out=loosened)
        apart *= self.weights
        self.gradient[1:] += apart
        self.gradient[:-1] -= apart


@dataclass(frozen=True)
class _Run:
    """Consecutive columns with as many codes: arrays of columns × codes × rows."""

    logits: Float32[np.ndarray, "columns codes rows"]
    probabilities: Float32[np.ndarray, "columns codes rows"]
    gradient: Float32[np.ndarray, "columns codes rows"]
    of_column: Float32[np.ndarray, "columns 1 rows"]
    """Memory for a number of each column in every row."""


@dataclass(frozen=True)
class _Chunk:
    """Coordinates of consecutive columns: arrays of codes × rows, and what a step remembers."""

    place: slice
    logits: Relaxed
    probabilities: Relaxed
    gradient: Relaxed
    # Sums that fade from step to step: the moving averages over the share that is new in a step.
    first: Relaxed
    second: Relaxed
    scratch: Relaxed
    # An array, because NumPy takes five times as long for the larger of an array and a number.
    lowest: Relaxed
    runs: tuple[_Run, ...]


def _to_logits(chunk: _Chunk) -> None:
    """Turn the gradient into one by logits: p · (g − Σ p·g)."""
    for run in chunk.runs:
        np.einsum("csr,csr->cr", run.gradient, run.probabilities, out=run.of_column[:, 0])
        np.subtract(run.gradient, run.of_column, out=run.gradient)
    np.multiply(chunk.gradient, chunk.probabilities, out=chunk.gradient)


def _move(chunk: _Chunk, factor: np.float32, smallest: np.float32) -> None:
    first, second, gradient, scratch = chunk.first, chunk.second, chunk.gradient, chunk.scratch
    first *= np.float32(1 - _NEW_GRADIENT)
    first += gradient
    gradient *= gradient
    second *= np.float32(1 - _NEW_SQUARE)
    second += gradient
    np.sqrt(second, out=scratch)
    scratch += smallest
    np.divide(first, scratch, out=scratch)
    scratch *= factor
    np.subtract(chunk.logits, scratch, out=chunk.logits)


def _normalise(chunk: _Chunk) -> None:
    """Make the logits logarithms of probabilities again."""
    np.exp(chunk.logits, out=chunk.probabilities)
    for run in chunk.runs:
        totals = np.add.reduce(run.probabilities, axis=1, keepdims=True, out=run.of_column)
        np.divide(run.probabilities, totals, out=run.probabilities)
        np.log(totals, out=totals)
        np.subtract(run.logits, totals, out=run.logits)
    np.maximum(chunk.logits, chunk.lowest, out=chunk.logits)


def _chunks(
    domain: Domain, logits: Relaxed, probabilities: Relaxed, gradient: Relaxed
) -> Iterator[_Chunk]:
    """All coordinates, column by column, in chunks of about the same size."""
    rows = logits.shape[1]
    places = list(_places(domain, rows))
    most = max(sum(sizes) for _, sizes in places)
    scratch, of_columns = np.empty((most, rows), np.float32), np.empty((most, 1, rows), np.float32)
    lowest = np.full((most, rows), LOWEST_LOGIT, np.float32)
    for start, sizes in places:
        place = slice(start, start + sum(sizes))
        codes = sum(sizes)
        runs = tuple(
            _Run(
                logits[place][run].reshape(-1, size, rows),
                probabilities[place][run].reshape(-1, size, rows),
                gradient[place][run].reshape(-1, size, rows),
                of_columns[: (run.stop - run.start) // size],
            )
            for run, size in _runs(sizes)
        )
        yield _Chunk(
            place,
            logits[place],
            probabilities[place],
            gradient[place],
            np.zeros((codes, rows), np.float32),
            np.zeros((codes, rows), np.float32),
            scratch[:codes],
            lowest[:codes],
            runs,
        )


def _places(domain: Domain, rows: int) -> Iterator[tuple[int, list[int]]]:
    """The first coordinate of each chunk, and the numbers of codes of its columns."""
    start, sizes = 0, list[int]()
    for position, size in enumerate(domain.sizes):
        sizes.append(size)
        if sum(sizes) * rows >= _CHUNK or position == len(domain) - 1:
            yield start, sizes
            start, sizes = start + sum(sizes), []


def _runs(sizes: list[int]) -> Iterator[tuple[slice, int]]:
    start = 0
    for size, columns in groupby(sizes):
        stop = start + size * len(list(columns))
        yield slice(start, stop), size
        start = stop
