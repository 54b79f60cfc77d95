"""The relaxed data set: rows that are product distributions over the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Float32, Relaxed
from dprap.domain import Domain
from dprap.errors import SettingsError

# Below this logit a probability is zero in float32 for all purposes, and could never come back.
LOWEST_LOGIT = -25.0


@dataclass(frozen=True)
class RelaxedDataset:
    """Rows whose columns are independent, each with its own distribution over the column's codes.

    Args:
        domain: The columns and their numbers of codes.
        probabilities: The probability of every one-hot coordinate in every row, float32.
        weights: How much each row counts; they sum to one.
        logits: Logarithms of the probabilities, where a fit moves these; they keep more digits of
            what is nearly zero. Nothing but a fit reads them, and no release holds them.

    Raises:
        SettingsError: if the shapes do not belong together.

    """

    domain: Domain
    probabilities: Relaxed
    weights: Float32[np.ndarray, " rows"]
    logits: Relaxed | None = None

    def __post_init__(self) -> None:
        if self.probabilities.shape != (self.domain.onehot_size, len(self.weights)):
            raise SettingsError(
                f"relaxed rows of shape {self.probabilities.shape} do not fit"
                f" {self.domain.onehot_size} one-hot coordinates and {len(self.weights)} row"
                " weights."
            )

    @classmethod
    def from_logits(cls, domain: Domain, logits: Relaxed) -> RelaxedDataset:
        """Rows of equal weight whose columns are the softmax of the given numbers."""
        logits = logits.astype(np.float32)
        probabilities = np.empty_like(logits)
        normalise_logits(column_slices(domain), logits, probabilities)
        return cls(domain, probabilities, uniform_weights(logits.shape[1]), logits)

    @property
    def rows(self) -> int:
        """Number of relaxed rows: the paper's n'."""
        return len(self.weights)

    def block(self, name: str) -> Relaxed:
        """Probabilities of one column's codes, codes by rows."""
        start = self.domain.offset(name)
        return self.probabilities[start : start + self.domain.size(name)]


def column_slices(domain: Domain) -> dict[str, slice]:
    """Where each column's block stands among the one-hot coordinates."""
    return {
        name: slice(offset, offset + size)
        for name, offset, size in zip(domain, domain.offsets, domain.sizes, strict=True)
    }


def normalise_logits(slices: Mapping[str, slice], logits: Relaxed, probabilities: Relaxed) -> None:
    """Make `probabilities` the softmax of every block of `logits`, and these its logarithm."""
    for block in slices.values():
        part = logits[block]
        part -= part.max(axis=0)
        np.exp(part, out=probabilities[block])
        total = probabilities[block].sum(axis=0)
        probabilities[block] /= total
        part -= np.log(total)
        np.maximum(part, LOWEST_LOGIT, out=part)


def uniform_weights(rows: int) -> Float32[np.ndarray, " rows"]:
    """Equal weights that sum to one."""
    return np.full(rows, 1 / rows, dtype=np.float32)
