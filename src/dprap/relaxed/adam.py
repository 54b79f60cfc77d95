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
            pulled to the other's, in units of the pull to the prior.

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
    """Moves logits, which are logarithms of probabilities, and these with them, in place."""

    def __init__(
        self, domain: Domain, logits: Relaxed, probabilities: Relaxed, settings: FitSettings
    ) -> None:
        self._logits, self._probabilities, self._settings = logits, probabilities, settings
        # Sums that fade from step to step: the moving averages over the share that is new in a
        # step.
        self._first, self._second = np.zeros_like(logits), np.zeros_like(logits)
        self._chunks = list(_chunks(domain, logits.shape[1]))
        most = max(chunk.place.stop - chunk.place.start for chunk in self._chunks)
        self._scratch = np.empty((most, logits.shape[1]), np.float32)

    def begin(self, gradient: Relaxed) -> Float32[np.ndarray, " onehot"]:
        """Put the prior's pull into `gradient`; what it has for a code in all rows alike is
        returned.

        The pull of KL(row ‖ prior), by probabilities, is the departure h: the logit minus the
        prior's. A tie of weight w adds the pull of w · KL(row ‖ what its neighbour suggests), the
        prior with the departure that the neighbour has now: w times the difference of the two.
        """
        kl_weight, prior = np.float32(self._settings.kl_weight), self._settings.prior
        if prior.shape[1] == 1:
            np.multiply(self._logits, kl_weight, out=gradient)
            of_codes = np.asarray(prior[:, 0] * -kl_weight, np.float32)
        else:
            np.subtract(self._logits, prior, out=gradient)
            gradient *= kl_weight
            of_codes = np.zeros(len(gradient), np.float32)
        for tie in self._settings.ties:
            place = slice(tie.start, tie.start + len(tie.weights) + 1)
            apart = np.diff(self._logits[place] - prior[place], axis=0)
            apart *= (kl_weight * tie.weights)[:, None]
            gradient[place][1:] += apart
            gradient[place][:-1] -= apart
        return of_codes

    def step(
        self, gradient: Relaxed, of_codes: Float32[np.ndarray, " onehot"], number: int
    ) -> None:
        """Make the step of this number, from 1 on; `gradient` is lost.

        Args:
            gradient: Of pull and distance from the targets, by probabilities.
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
            part = gradient[chunk.place]
            part += of_codes[chunk.place, None]
            self._to_logits(chunk, part)
            self._move(chunk, part, factor, smallest)
            self._normalise(chunk)

    def _to_logits(self, chunk: _Chunk, gradient: Relaxed) -> None:
        """Turn the gradient into one by logits: p · (g − Σ p·g)."""
        probabilities = self._probabilities[chunk.place]
        for run, size in chunk.runs:
            of_run = gradient[run].reshape(-1, size, gradient.shape[1])
            of_run -= np.einsum("csr,csr->cr", of_run, probabilities[run].reshape(of_run.shape))[
                :, None
            ]
        gradient *= probabilities

    def _move(
        self, chunk: _Chunk, gradient: Relaxed, factor: np.float32, smallest: np.float32
    ) -> None:
        first, second = self._first[chunk.place], self._second[chunk.place]
        first *= np.float32(1 - _NEW_GRADIENT)
        first += gradient
        gradient *= gradient
        second *= np.float32(1 - _NEW_SQUARE)
        second += gradient
        scratch = np.sqrt(second, out=self._scratch[: len(gradient)])
        scratch += smallest
        np.divide(first, scratch, out=scratch)
        scratch *= factor
        self._logits[chunk.place] -= scratch

    def _normalise(self, chunk: _Chunk) -> None:
        """Make the logits logarithms of probabilities again."""
        logits, probabilities = self._logits[chunk.place], self._probabilities[chunk.place]
        np.exp(logits, out=probabilities)
        for run, size in chunk.runs:
            of_run = probabilities[run].reshape(-1, size, logits.shape[1])
            totals = of_run.sum(axis=1, keepdims=True)
            of_run /= totals
            logits[run].reshape(of_run.shape)[...] -= np.log(totals)
        np.maximum(logits, np.float32(LOWEST_LOGIT), out=logits)


@dataclass(frozen=True)
class _Chunk:
    """Coordinates of consecutive columns; `runs` are stretches of columns with as many codes."""

    place: slice
    runs: tuple[tuple[slice, int], ...]


def _chunks(domain: Domain, rows: int) -> Iterator[_Chunk]:
    """All coordinates, column by column, in chunks of about the same size."""
    start, sizes = 0, list[int]()
    for position, size in enumerate(domain.sizes):
        sizes.append(size)
        if sum(sizes) * rows >= _CHUNK or position == len(domain) - 1:
            stop = start + sum(sizes)
            yield _Chunk(slice(start, stop), tuple(_runs(sizes)))
            start, sizes = stop, []


def _runs(sizes: list[int]) -> Iterator[tuple[slice, int]]:
    start = 0
    for size, columns in groupby(sizes):
        stop = start + size * len(list(columns))
        yield slice(start, stop), size
        start = stop
