"""Rows and tables drawn from what the measurements leave open.

A draw perturbs what the fitted rows say and fits the rows again, from where they are:

* a measured cell by its noise. A cell of x records and noise σ is known to within σ² if x is large;
  if x is small, its own size says more than the measurement. Its target has the variance
  σ² + σ⁴/x and the weight of the inverse, as the mechanism's own shrinkage has it;
* then the relation of each pair of columns that was not measured: its cells by the error that the
  error table gives pairs of their size, with the sums over each column as the first step left them.

Both are multiplied by one factor: the one that makes measured cells differ between draws by the
errors that the error table gives them. (To go on in the direction of a draw would not do: logits
that double put records into cells that are nearly empty, and draws no longer lie around the fit.)

Fitting makes the draws agree between marginals: this is sampling by randomised optimisation, exact
for a linear model with normal errors. It reads the release alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dprap.accounting.measurement import Measurement
from dprap.array_types import Relaxed
from dprap.errors import SettingsError
from dprap.queries import Marginal
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.adam import FitSettings
from dprap.relaxed.blocks import Blocks
from dprap.relaxed.fit import fit
from dprap.relaxed.gradient import Target
from dprap.release.intervals.error_table import Kind, easier_cells

if TYPE_CHECKING:
    from dprap.release.release import Release

# Steps of a draw, to the measured marginals and then to the pairs. Rows start at the fit, of which
# a draw is a small departure.
_STEPS = 60
_PAIR_STEPS = 40
_LEARNING_RATE = 0.05
_COOL_DOWN = 0.5
# The pull of the rows to where they are, in units of n/σ, as the mechanism's own.
_KL = 0.3
# Draws that tell how far draws go, and the least and the largest factor of what moves them.
_FIRST_DRAWS = 4
_FACTORS = (0.05, 4.0)
# Larger pairs of columns that were not measured stay as they are.
_MOST_CELLS = 5_000
# Counts below it are taken as it; an empty cell may turn out not to be empty.
_LEAST_COUNT = 0.5
# Rounds in which the sums of a drawn interaction are taken off; after these they are next to
# nothing.
_CENTRINGS = 4
# The level of one standard error of a normal distribution.
_ONE_ERROR = 0.6827
# Logits of probabilities that are zero.
_LEAST_PROBABILITY = 1e-11

Spread: TypeAlias = tuple[Marginal, np.ndarray, np.ndarray]
"""A marginal, what rows say of its cells, and how far each may be off."""


def draw_rows(
    release: Release, relaxed: RelaxedDataset, *, draws: int, seed: int
) -> Iterator[RelaxedDataset]:
    """Draw rows that the measurements allow.

    Args:
        release: The release, with its measurements and its error table.
        relaxed: Its rows.
        draws: How many to draw.
        seed: Of public randomness.

    Yields:
        Rows of equal weight.

    Raises:
        SettingsError: The release has no noisy marginals or rows of different weights, so that what
            is open is not known.

    """
    known = any(
        isinstance(item, Measurement) and item.marginal.columns for item in release.measurements
    )
    if not known or np.ptp(relaxed.weights) > _LEAST_PROBABILITY:
        raise SettingsError(
            f"method {release.facts.method} does not tell what its noise leaves open, so tables"
            " that show it cannot be drawn. Use adaptive or independent, or `table` for a single"
            " table."
        )
    logits = np.log(np.maximum(relaxed.probabilities, _LEAST_PROBABILITY)).astype(np.float32)
    start = RelaxedDataset.from_logits(relaxed.domain, logits)
    measured = _measured_spreads(release, start)
    first = [
        _drawn(release, start, measured, [seed, number])
        for number in range(min(draws, _FIRST_DRAWS))
    ]
    factor = _factor(release, measured, first)
    for number in range(draws):
        yield _drawn(release, start, measured, [seed, number], factor)


def _drawn(
    release: Release,
    start: RelaxedDataset,
    measured: list[Spread],
    seed: list[int],
    factor: float = 1.0,
) -> RelaxedDataset:
    """One draw, with what moves it multiplied by a factor."""
    rng = np.random.default_rng(seed)
    targets = [
        _target(marginal, shares + factor * spread * rng.standard_normal(len(shares)), spread)
        for marginal, shares, spread in measured
    ]
    rows = _moved(release, start, targets, _STEPS)
    pairs = [
        _target(pair, shares + factor * _interaction(spread, rng).ravel(), spread.ravel())
        for pair, shares, spread in _pair_spreads(release, rows)
    ]
    return _moved(release, rows, [*targets, *pairs], _PAIR_STEPS) if pairs else rows


def _factor(release: Release, measured: list[Spread], drawn: list[RelaxedDataset]) -> float:
    """By how much to multiply what moves draws, so that measured cells differ between them as much
    as they are off.

    Noise alone may move cells too far, where measurements support each other and the mechanism's
    shrinkage takes off much of it, or not far enough in the steps of a draw. What is left of it is
    what the error table says.
    """
    table = release.errors
    if table is None or len(drawn) < 2:
        return 1.0
    moved = [Blocks(release.schema.domain, each.probabilities) for each in drawn]
    wanted, had = 0.0, 0.0
    for marginal, shares, _ in measured:
        if marginal.groups is not None:
            continue
        counts = shares * release.rows
        basis = release.grounds.basis_of(marginal.columns)
        shape = release.schema.domain.shape_of(marginal.columns)
        errors = table.half_widths(Kind.CELL, shape, basis, counts, _ONE_ERROR)
        if errors is None:
            continue
        # Errors of cells are widened for small relations that the model lacks, and an analysis asks
        # about large ones.
        errors = errors / easier_cells(len(shape), counts)
        departures = [(each.shares(marginal) - shares) * release.rows for each in moved]
        full = counts >= 1
        wanted += float((errors[full] ** 2).mean()) if full.any() else 0.0
        had += float(np.mean(np.square(departures), axis=0)[full].mean()) if full.any() else 0.0
    return float(np.clip(np.sqrt(wanted / had), *_FACTORS)) if wanted > 0 and had > 0 else 1.0


def _moved(
    release: Release, start: RelaxedDataset, targets: list[Target], steps: int
) -> RelaxedDataset:
    """Rows fitted to targets from where they are."""
    noise = max((item.stddev_counts for item in release.measurements), default=1.0)
    settings = FitSettings(
        prior=_prior(start),
        kl_weight=_KL * release.rows / noise,
        steps=steps,
        learning_rate=_LEARNING_RATE,
        cool_down=_COOL_DOWN,
    )
    return fit(start, targets, settings).rows


def _prior(start: RelaxedDataset) -> Relaxed:
    if start.logits is None:
        raise TypeError("rows to draw around need logits")
    return start.logits


def _measured_spreads(release: Release, start: RelaxedDataset) -> list[Spread]:
    """Measured marginals with what the rows say of them and the spread of each cell, in shares."""
    blocks = Blocks(release.schema.domain, start.probabilities)
    precisions: dict[Marginal, float] = {}
    for item in release.measurements:
        if isinstance(item, Measurement) and item.marginal.columns:
            precisions[item.marginal] = precisions.get(item.marginal, 0.0) + item.stddev_counts**-2
    found = []
    for marginal, precision in precisions.items():
        shares = blocks.shares(marginal).astype(np.float64)
        counts = np.maximum(shares * release.rows, _LEAST_COUNT)
        found.append(
            (marginal, shares, np.sqrt(1 / precision + precision**-2 / counts) / release.rows)
        )
    return found


def _pair_spreads(release: Release, rows: RelaxedDataset) -> list[Spread]:
    """Pairs of columns that were not measured, with what the rows say and the error that the table
    gives, in shares.
    """
    table = release.errors
    if table is None:
        return []
    domain = release.schema.domain
    blocks = Blocks(domain, rows.probabilities)
    found = []
    for pair in combinations(domain.names, 2):
        basis = release.grounds.basis_of(pair)
        if not basis.modelled or domain.size_of(pair) > _MOST_CELLS:
            continue
        shares = blocks.shares(Marginal(pair)).astype(np.float64)
        shape = domain.shape_of(pair)
        errors = table.half_widths(Kind.CELL, shape, basis, shares * release.rows, _ONE_ERROR)
        if errors is not None:
            spread = np.maximum(errors, _LEAST_COUNT) / release.rows
            found.append((Marginal(pair), shares, spread.reshape(shape)))
    return found


def _interaction(spread: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers of the given spread that leave the sums over each column as they are."""
    drawn = spread * rng.standard_normal(spread.shape)
    variance = spread**2
    for _ in range(_CENTRINGS):
        for axis in (0, 1):
            drawn -= (
                variance
                * drawn.sum(axis=axis, keepdims=True)
                / variance.sum(axis=axis, keepdims=True)
            )
    return np.asarray(drawn)


def _target(marginal: Marginal, shares: np.ndarray, spread: np.ndarray) -> Target:
    return Target(marginal, shares.astype(np.float32), (spread**-2).astype(np.float32))
