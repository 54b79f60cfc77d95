"""Adam on the logits of rows, with a pull towards a prior: one step, given the gradient of a fit.

All that a step does beside the gradient is elementwise, or sums over the codes of a column. It goes
over the coordinates in chunks that stay in the cache, in memory that is used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from jaxtyping import Float32, Int64

from dprap.array_types import Relaxed
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.relaxed.rows import LOWEST_LOGIT

# How much of the moving averages of the gradient, and of its square, is new in a step. Adam's usual
# memory of a thousand steps keeps the large gradients of the beginning in mind, so that the steps
# stay small to the end. A memory of twenty steps came as near in a third of the steps.
_NEW_GRADIENT = 0.2
_NEW_SQUARE = 0.05
# Keeps a coordinate without gradient from a division by zero.
_SMALLEST_STEP_SIZE = 1e-12
# A step moves a logit by little more than the learning rate. Up to this rate exponentials of what
# were logarithms of probabilities stay within float32.
LARGEST_RATE = 10.0
# Numbers of a chunk: the seven arrays of a step then take less than 2 MB.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class FitSettings:
    """How `fit` goes.

    Args:
        prior: Logits to which the rows are pulled: one column for all rows, or one for each row.
        kl_weight: The weight of that pull, against half a chi-square.
        steps: How many steps are taken; all of them are.
        learning_rate: About how far a logit moves in a step.
        cool_down: In this last share of the steps the learning rate falls to zero.

    """

    prior: Relaxed
    kl_weight: float
    steps: int
    learning_rate: float
    cool_down: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= LARGEST_RATE:
            raise SettingsError(f"the learning rate of a fit must be above 0 and at most {LARGEST_RATE:g}.")


class Adam:
    """Moves logits, which are logarithms of probabilities, and these with them, in place."""

    def __init__(self, domain: Domain, logits: Relaxed, probabilities: Relaxed, settings: FitSettings) -> None:
        self._logits, self._probabilities, self._settings = logits, probabilities, settings
        self._prior = settings.prior
        self._first, self._second = np.zeros_like(logits), np.zeros_like(logits)
        self._chunks = list(_chunks(domain, logits.shape[1]))
        most = max(chunk.place.stop - chunk.place.start for chunk in self._chunks)
        self._scratch = np.empty((most, logits.shape[1]), np.float32)

    def step(self, gradient: Relaxed, number: int) -> None:
        """Make the step of this number, from 1 on; `gradient` is lost.

        Args:
            gradient: Of the distance from the targets, by probabilities.
            number: Of the step.

        """
        settings = self._settings
        rate = settings.learning_rate
        if settings.cool_down:
            rate *= min(1.0, (1 - number / (settings.steps + 1)) / settings.cool_down)
        rate /= 1 - (1 - _NEW_GRADIENT) ** number
        unbiased = np.float32(1 / (1 - (1 - _NEW_SQUARE) ** number))
        for chunk in self._chunks:
            self._to_logits(chunk, gradient[chunk.place])
            self._move(chunk, gradient[chunk.place], np.float32(rate), unbiased)
            self._normalise(chunk)

    def _to_logits(self, chunk: _Chunk, gradient: Relaxed) -> None:
        """Add the prior's pull, and turn the gradient into one by logits."""
        probabilities, scratch = self._probabilities[chunk.place], self._scratch[: len(gradient)]
        # The pull of KL(row ‖ prior), by probabilities, is the logit minus the prior's.
        np.subtract(self._logits[chunk.place], self._prior[chunk.place], out=scratch)
        scratch *= np.float32(self._settings.kl_weight)
        gradient += scratch
        gradient *= probabilities
        gradient -= np.multiply(probabilities, chunk.spread(chunk.sums(gradient)), out=scratch)

    def _move(self, chunk: _Chunk, gradient: Relaxed, rate: np.float32, unbiased: np.float32) -> None:
        first, second = self._first[chunk.place], self._second[chunk.place]
        scratch = np.subtract(gradient, first, out=self._scratch[: len(gradient)])
        scratch *= np.float32(_NEW_GRADIENT)
        first += scratch
        gradient *= gradient
        gradient -= second
        gradient *= np.float32(_NEW_SQUARE)
        second += gradient
        np.multiply(second, unbiased, out=scratch)
        np.sqrt(scratch, out=scratch)
        scratch += np.float32(_SMALLEST_STEP_SIZE)
        np.divide(first, scratch, out=scratch)
        scratch *= rate
        self._logits[chunk.place] -= scratch

    def _normalise(self, chunk: _Chunk) -> None:
        """Make the logits logarithms of probabilities again."""
        logits, probabilities = self._logits[chunk.place], self._probabilities[chunk.place]
        np.exp(logits, out=probabilities)
        totals = chunk.sums(probabilities)
        probabilities *= chunk.spread(1 / totals)
        logits -= chunk.spread(np.log(totals))
        np.maximum(logits, np.float32(LOWEST_LOGIT), out=logits)


@dataclass(frozen=True)
class _Chunk:
    """Coordinates of consecutive columns; `runs` are stretches of columns with as many codes."""

    place: slice
    sizes: Int64[np.ndarray, " columns"]
    runs: tuple[tuple[slice, int], ...]

    def sums(self, numbers: Relaxed) -> Float32[np.ndarray, "columns rows"]:
        """For every column, the sum over its codes."""
        parts = [numbers[run].reshape(-1, size, numbers.shape[1]).sum(axis=1) for run, size in self.runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def spread(self, of_columns: Float32[np.ndarray, "columns rows"]) -> Relaxed:
        """The number of every column, once for each of its codes."""
        return np.repeat(of_columns, self.sizes, axis=0)


def _chunks(domain: Domain, rows: int) -> Iterator[_Chunk]:
    """All coordinates, column by column, in chunks of about the same size."""
    start, sizes = 0, list[int]()
    for position, size in enumerate(domain.sizes):
        sizes.append(size)
        if sum(sizes) * rows >= _CHUNK or position == len(domain) - 1:
            stop = start + sum(sizes)
            yield _Chunk(slice(start, stop), np.array(sizes), tuple(_runs(sizes)))
            start, sizes = stop, []


def _runs(sizes: list[int]) -> Iterator[tuple[slice, int]]:
    start = 0
    for size, columns in groupby(sizes):
        stop = start + size * len(list(columns))
        yield slice(start, stop), size
        start = stop
