"""What has been measured of one marginal, and how much to trust each cell of it.

A large marginal at small ε is mostly noise, and a fit that follows it cell by cell fits the noise.
Model: truth − prediction ~ N(0, c·x) for a prediction of x records, as counts vary; noise adds σ².
A cell's weight in the fit is E[c·x/(c·x + σ²) | residual]/σ².

Most cells of a table depart little and a few depart wildly, so the dispersion c is not one number.
Each cell has its own, drawn from a mixture over a grid of dispersions (`shrinkage`). Where cells
are many, there is one mixture for each band of expected counts: large cells are often off by a
share of themselves, which says nothing of small ones. The mixtures are fitted to the marginal
itself and, with the same weight, to all that were measured together with it: one marginal alone
says little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Float64, Int64
from dprap.mechanisms.adaptive.shrinkage import fit_mixtures, posterior
from dprap.products import product
from dprap.queries import Marginal
from dprap.relaxed.gradient import Target

# In counts. An empty cell may turn out not to be empty.
_LEAST_EXPECTED = 1e-2
# Sampling alone gives a dispersion of 1; the grid goes from a tenth of that to cells that have
# nothing to do with what was expected.
_DISPERSIONS = np.geomspace(0.1, 1e5, 20)
# An early stop: one round more would still move a share by about 0.003, and the mixture stays
# broad. All figures of the mechanism were made with this number.
_EXPECTATION_MAXIMISATIONS = 40
# Cells with nearly the same expected count and nearly the same surprise share a bin, which makes a
# million of them cheap.
_LEVELS_PER_OCTAVE = 4
_SURPRISES_PER_STDDEV = 8
# A residual of more standard deviations says no more than one of so many.
_LARGEST_SURPRISE = 12.0
_SURPRISES = int(_SURPRISES_PER_STDDEV * _LARGEST_SURPRISE) + 1
# In standard deviations: noise alone goes so far in one of two million cells.
_CERTAIN = 5.0
# Cells below zero are set to zero, and what that adds is taken from the others, so many times.
_CLIPS = 20
# Bands are of expected counts over the variance of the noise, from 2^-24 on, the last one open.
_LOWEST_OCTAVE = -24
_OCTAVES_PER_BAND = 3
_BANDS = 10
# Fewer cells measured together share one mixture: bands of them would say little each.
_CELLS_FOR_BANDS = 100_000
# Marginals whose mixtures are fitted together, by products of matrices: a few arrays of some MB.
_FITTED_TOGETHER = 128

Bins = Int64[np.ndarray, " bins"]
OfDispersions = Float64[np.ndarray, "bins dispersions"]
Mixtures = Float64[np.ndarray, "bands dispersions"]


@dataclass(frozen=True)
class Evidence:
    """Noisy counts of a marginal, and what the model said before.

    Repeated measurements are combined by inverse variance.

    `mixtures` are the shares of cells with each of the dispersions, in each band.
    """

    marginal: Marginal
    counts: Answers
    stddev_counts: float
    expected_counts: Answers
    mixtures: Mixtures

    def again(self, measurement: Measurement) -> Evidence:
        """The same marginal measured once more."""
        old, new = self.stddev_counts**-2, measurement.stddev_counts**-2
        counts = (old * self.counts + new * measurement.counts) / (old + new)
        return Evidence(
            self.marginal, counts, (old + new) ** -0.5, self.expected_counts, self.mixtures
        )

    def target(self, records: float, *, shrink: bool = True) -> Target:
        """What the rows should fit, as shares; without `shrink` all cells count alike."""
        full = (records / self.stddev_counts) ** 2
        weights = (self._believed if shrink else np.ones(len(self.counts))) * full
        return Target(
            self.marginal, (self.counts / records).astype(np.float32), weights.astype(np.float32)
        )

    def posterior_counts(self, dependence: float) -> Answers:
        """The posterior mean of every cell, given that all cells add up to what was expected.

        Noisy cells that cannot be told from expected ones say little about large dispersions. But
        these are rare: if departures add up to `dependence`, in total variation distance, the
        typical dispersion is c₀ = (2·dependence·Σx / .8·Σ√x)², and a dispersion of c > c₀ is the
        less likely by c₀/c. A departure that noise cannot explain is believed wholly: the posterior
        mean of a large number is the number itself.

        Empirical Bayes does well on average and may do badly on the few cells that differ from all
        others. So no cell is moved by more than √(2 ln cells) standard deviations, the largest that
        noise is in so many: a limited translation, which bounds what such cells lose.
        """
        expected, departures = self.expected_counts, self.counts - self.expected_counts
        mean_departure = 2 * dependence * expected.sum() / np.sqrt(expected).sum()
        typical = (mean_departure / math.sqrt(2 / math.pi)) ** 2
        tempered = self.mixtures * np.minimum(1.0, typical / _DISPERSIONS)
        believed = self._reliability(tempered / tempered.sum(axis=1, keepdims=True))
        believed[np.abs(departures) > _CERTAIN * self.stddev_counts] = 1.0
        furthest = math.sqrt(2 * math.log(max(len(expected), 2))) * self.stddev_counts
        # Believed σ² is the posterior variance: whoever is certain of a cell does not move it.
        counts = self.counts - np.clip((1 - believed) * departures, -furthest, furthest)
        for _ in range(_CLIPS):
            free = counts > 0
            excess = counts[free].sum() - expected.sum()
            total = believed[free].sum()
            if total <= 0:
                break
            counts = np.where(free, counts - believed * excess / total, 0.0)
        return np.asarray(np.maximum(counts, 0.0))

    @cached_property
    def misfit_of_truth(self) -> float:
        """The chi-square that the truth is expected to have by its noise, with the weights of the
        target.

        It is the sum of E[r | d] · E[z² | d] over the cells, with r the reliability, d the residual
        and z the noise, both in units of σ. Given the dispersion, z has mean (1 − r)·d and variance
        r.
        """
        bins, cells = np.unique(
            _bin_of(self.counts, self.expected_counts, self.stddev_counts), return_counts=True
        )
        belongs, believed = _reliability_of_bins(bins, self.mixtures)
        surprises = (bins % _SURPRISES)[:, None] / _SURPRISES_PER_STDDEV
        noise = (belongs * (believed + ((1 - believed) * surprises) ** 2)).sum(axis=1)
        return float((cells * (belongs * believed).sum(axis=1) * noise).sum())

    @cached_property
    def _believed(self) -> Float64[np.ndarray, " cells"]:
        """The reliability of every cell. Each later fit asks for it again."""
        return self._reliability(self.mixtures)

    def _reliability(self, mixtures: Mixtures) -> Float64[np.ndarray, " cells"]:
        """The posterior mean of c·x/(c·x + σ²) of every cell."""
        bins, bin_of = np.unique(
            _bin_of(self.counts, self.expected_counts, self.stddev_counts), return_inverse=True
        )
        belongs, believed = _reliability_of_bins(bins, mixtures)
        reliability: Float64[np.ndarray, " bins"] = (belongs * believed).sum(axis=1)
        return reliability[bin_of]

    @property
    def dispersion(self) -> float:
        """The typical dispersion, over the expected records."""
        cells = _bin_of(self.counts, self.expected_counts, self.stddev_counts)
        shares = (
            np.bincount(_bands(cells), weights=self.expected_counts, minlength=_BANDS)
            / self.expected_counts.sum()
        )
        return float(np.exp(product(product(shares, self.mixtures), np.log(_DISPERSIONS))))


def first_evidence(
    measured: Sequence[Measurement], expected_counts: Sequence[Answers]
) -> list[Evidence]:
    """Marginals measured together for the first time, and what the model said of each before."""
    if not measured:
        return []
    expected = [
        np.maximum(np.asarray(counts, np.float64), _LEAST_EXPECTED) for counts in expected_counts
    ]
    own = [
        np.unique(_bin_of(item.counts, counts, item.stddev_counts), return_counts=True)
        for item, counts in zip(measured, expected, strict=True)
    ]
    bins = np.unique(np.concatenate([found for found, _ in own]))
    places = [np.searchsorted(bins, found) for found, _ in own]
    together = np.zeros(len(bins))
    for place, (_, cells) in zip(places, own, strict=True):
        together[place] += cells
    likelihoods, _ = _likelihoods(bins)
    bands = _bands(bins) if together.sum() >= _CELLS_FOR_BANDS else None
    together /= together.sum()
    evidence = []
    for start in range(0, len(measured), _FITTED_TOGETHER):
        some = range(start, min(start + _FITTED_TOGETHER, len(measured)))
        weights = np.stack([together * own[number][1].sum() for number in some])
        for row, number in zip(weights, some, strict=True):
            row[places[number]] += own[number][1]
        for number, mixtures in zip(some, _fit_mixtures(likelihoods, weights, bands), strict=True):
            item = measured[number]
            noisy = item.counts.astype(np.float64)
            evidence.append(
                Evidence(item.marginal, noisy, item.stddev_counts, expected[number], mixtures)
            )
    return evidence


def _reliability_of_bins(bins: Bins, mixtures: Mixtures) -> tuple[OfDispersions, OfDispersions]:
    """For each dispersion in each bin: its probability, and the share c·x/(c·x + σ²) to believe."""
    likelihoods, departures = _likelihoods(bins)
    return posterior(likelihoods, mixtures[_bands(bins)]), departures / (1 + departures)


def _bin_of(counts: Answers, expected: Answers, stddev: float) -> Int64[np.ndarray, " cells"]:
    """The bin of every cell, by expected count in units of σ² and residual in units of σ."""
    levels = np.rint(_LEVELS_PER_OCTAVE * np.log2(expected / stddev**2)).astype(np.int64)
    surprises = np.minimum(np.abs(counts - expected) / stddev, _LARGEST_SURPRISE)
    bins: Int64[np.ndarray, " cells"] = levels * _SURPRISES + np.rint(
        _SURPRISES_PER_STDDEV * surprises
    ).astype(np.int64)
    return bins


def _likelihoods(bins: Bins) -> tuple[OfDispersions, OfDispersions]:
    """The likelihood of each dispersion in each bin, up to a factor, and c·x in units of σ²."""
    levels, surprises = bins // _SURPRISES, (bins % _SURPRISES) / _SURPRISES_PER_STDDEV
    departures = 2.0 ** (levels / _LEVELS_PER_OCTAVE)[:, None] * _DISPERSIONS
    logarithms = -0.5 * (np.log1p(departures) + surprises[:, None] ** 2 / (1 + departures))
    return np.exp(logarithms - logarithms.max(axis=1, keepdims=True)), departures


def _bands(bins: Bins) -> Bins:
    """The band of each bin."""
    octaves = bins // _SURPRISES / _LEVELS_PER_OCTAVE - _LOWEST_OCTAVE
    return np.clip(octaves // _OCTAVES_PER_BAND, 0, _BANDS - 1).astype(np.int64)


def _fit_mixtures(
    likelihoods: Float64[np.ndarray, "bins dispersions"],
    cells: Float64[np.ndarray, "marginals bins"],
    bands: Bins | None,
) -> Float64[np.ndarray, "marginals bands dispersions"]:
    """Shares of the dispersions, as if one cell more had been spread over all of them.

    Bins are in increasing order, and so are their bands.
    """
    evenly = np.full(len(_DISPERSIONS), 1 / len(_DISPERSIONS))

    def mixtures(part: slice) -> Float64[np.ndarray, "marginals dispersions"]:
        return fit_mixtures(
            likelihoods[part],
            cells[:, part],
            evenly,
            imagined=evenly,
            rounds=_EXPECTATION_MAXIMISATIONS,
        )

    if bands is None:
        return np.repeat(mixtures(slice(None))[:, None], _BANDS, axis=1)
    ends = np.searchsorted(bands, np.arange(_BANDS + 1))
    return np.stack([mixtures(slice(start, end)) for start, end in pairwise(ends)], axis=1)
