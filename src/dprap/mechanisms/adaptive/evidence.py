"""What has been measured of one marginal, and how far to believe each cell of it.

A large marginal at small ε is mostly noise, and a fit that follows it cell by cell fits the noise. So a cell counts by how reliable its
departure from the earlier model is. Before the first measurement the model said x; suppose the truth departs from x with
variance c·x, as counts do, and estimate c from the noisy residuals by moments: c = (Σ(y − x)² − dσ²)/Σx. The
reliability of a cell is then v/(v + σ²) with v = c·x, and its weight in the fit that share of 1/σ². A residual beyond the universal
threshold √(2 ln d)·σ is no noise: there v is at least what the residual itself shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Answers
from dprap.privacy import Measurement
from dprap.relaxed.soft_rows import Target

_LEAST_EXPECTED = 1e-2  # counts; an empty cell may turn out not to be


@dataclass(frozen=True)
class Evidence:
    """Noisy counts of a marginal, repeated measurements combined by inverse variance, and what the model said before."""

    columns: tuple[str, ...]
    counts: Answers
    stddev_counts: float
    expected_counts: Answers

    @classmethod
    def first(cls, measurement: Measurement, expected_counts: Answers) -> Evidence:
        """A marginal measured for the first time."""
        counts = measurement.counts.astype(np.float64)
        return cls(measurement.marginal.columns, counts, measurement.stddev_counts, expected_counts)

    def again(self, measurement: Measurement) -> Evidence:
        """The same marginal measured once more."""
        old, new = self.stddev_counts**-2, measurement.stddev_counts**-2
        counts = (old * self.counts + new * measurement.counts) / (old + new)
        return Evidence(self.columns, counts, (old + new) ** -0.5, self.expected_counts)

    def target(self, records: float) -> Target:
        """What the rows should fit, as shares."""
        cells, variance = len(self.counts), self.stddev_counts**2
        expected = np.maximum(self.expected_counts, _LEAST_EXPECTED)
        squared = (self.counts - expected) ** 2
        dispersion = max((squared.sum() - variance * cells) / expected.sum(), 1.0)
        departure = np.maximum(dispersion * expected, squared - 2 * math.log(max(cells, 2)) * variance)
        weights = departure / (departure + variance) * (records**2 / variance)
        return Target(self.columns, (self.counts / records).astype(np.float32), weights.astype(np.float32))
