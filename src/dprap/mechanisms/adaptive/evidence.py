"""What has been measured of one marginal, and how far to believe each cell of it.

A large marginal at small ε is mostly noise, and a fit that follows it cell by cell fits the noise. So a cell counts by how reliable its
departure from the earlier model is. Before the first measurement the model said x; suppose the truth departs from x with
variance c·x, as counts do, so that the noisy residual y − x has variance c·x + σ². The dispersion c is estimated by maximum likelihood, from the
marginal itself and, with the weight of one marginal more, from all that were measured together with it: one large marginal alone says
little about its c. The reliability of a cell is then v/(v + σ²) with v = 2c·x, and its weight in the fit that share of 1/σ². A residual beyond the
universal threshold √(2 ln d)·σ is no noise: there v is at least what the residual itself shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from dprap.array_types import Answers
from dprap.privacy import Measurement
from dprap.relaxed.soft_rows import Target

_LEAST_EXPECTED = 1e-2  # counts; an empty cell may turn out not to be
_DISPERSIONS = np.geomspace(0.1, 3000.0, 40)
_TRUST = 2.0
# Dispersions are multiplied by this: the worst cells, which depart more than the typical ones that c describes, gain by
# it, and the others lose little.
_LEVELS_PER_OCTAVE = 4  # expected counts are rounded to such powers of 2 where only their likelihood is asked for


@dataclass(frozen=True)
class Evidence:
    """Noisy counts of a marginal, repeated measurements combined by inverse variance, and what the model said before.

    `dispersion` is c with the trust put into it.
    """

    columns: tuple[str, ...]
    counts: Answers
    stddev_counts: float
    expected_counts: Answers
    dispersion: float

    def again(self, measurement: Measurement) -> Evidence:
        """The same marginal measured once more."""
        old, new = self.stddev_counts**-2, measurement.stddev_counts**-2
        counts = (old * self.counts + new * measurement.counts) / (old + new)
        return Evidence(self.columns, counts, (old + new) ** -0.5, self.expected_counts, self.dispersion)

    def target(self, records: float) -> Target:
        """What the rows should fit, as shares."""
        variance = self.stddev_counts**2
        squared = (self.counts - self.expected_counts) ** 2
        threshold = 2 * math.log(max(len(self.counts), 2)) * variance
        departure = np.maximum(self.dispersion * self.expected_counts, squared - threshold)
        weights = departure / (departure + variance) * (records**2 / variance)
        return Target(self.columns, (self.counts / records).astype(np.float32), weights.astype(np.float32))


def first_evidence(measured: Sequence[Measurement], expected_counts: Sequence[Answers]) -> list[Evidence]:
    """Marginals measured together for the first time, and what the model said of each before."""
    expected = [np.maximum(np.asarray(counts, np.float64), _LEAST_EXPECTED) for counts in expected_counts]
    own = [_log_likelihoods(item, counts) for item, counts in zip(measured, expected, strict=True)]
    together = np.mean(own, axis=0) if own else 0.0
    return [
        Evidence(
            item.marginal.columns,
            item.counts.astype(np.float64),
            item.stddev_counts,
            counts,
            _TRUST * float(_DISPERSIONS[np.argmax(likelihoods + together)]),
        )
        for item, counts, likelihoods in zip(measured, expected, own, strict=True)
    ]


def _log_likelihoods(measurement: Measurement, expected: Answers) -> Float64[np.ndarray, "dispersions"]:
    """Of every dispersion, up to a constant."""
    variance = measurement.stddev_counts**2
    levels, level_of = np.unique(np.rint(_LEVELS_PER_OCTAVE * np.log2(expected)), return_inverse=True)
    cells = np.bincount(level_of)
    squared = np.bincount(level_of, weights=(measurement.counts - expected) ** 2)
    variances = _DISPERSIONS[:, None] * 2.0 ** (levels / _LEVELS_PER_OCTAVE) + variance
    likelihoods: Float64[np.ndarray, "dispersions"] = -0.5 * (np.log(variances) @ cells + (1 / variances) @ squared)
    return likelihoods
