"""How far the answers of a release may be off: a parametric bootstrap of the whole run.

The run is repeated on the release's own synthetic table as if that were the truth. There the truth
is known, so the errors of the repetition can be seen: noise, choices, fit and rounding together.
They are pooled by class and size into an `ErrorTable`.

The synthetic table follows from the model and the truth does not, so repetitions make too little of
what was not measured. Every round of a run measures marginals that the rows had predicted before.
The excess of those surprises over noise is compared between the run and its repetitions, and the
errors of modelled answers are widened by their ratio. Where every pair of an answer's columns is
known, what is left out is their interaction; how large that is, the measured triples tell.

Privacy: `calibrate` takes a `Release`, draws the table itself and hands it to a curator of its own,
with seeded noise and no ledger. There is no parameter through which a private table could come in,
so all of it is post-processing of what is published anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float64

from dprap.accounting import Measurement
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.mechanisms.records import estimate_records
from dprap.mechanisms.result import Prediction, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.marginals import cell_table
from dprap.release import Release
from dprap.release.draw import draw_table, matched_marginals
from dprap.release.intervals.basis import Basis, measured_columns
from dprap.release.intervals.error_table import ErrorClass, ErrorTable, Kind, Samples, octaves, table_of_samples
from dprap.runs.error_samples import Replicate, sample_errors
from dprap.runs.forecast import REPLICATES
from dprap.runs.plan import Plan
from dprap.sources import MemorySource

# What a repetition has a third of, and the least of it: with less, rows cannot hold what a table of many columns has in
# it, or do not reach what was measured. Errors are then larger, so that intervals are too wide rather than too narrow.
_THINNED = {"synthetic_rows": 50, "steps": 20}
_PART = 3
# A longer synthetic table is not drawn for this alone.
_MOST_ROWS = 10_000_000
# Seeds of the repetitions, apart from those that people choose.
_FIRST_SEED = 7_000_001
_OCTAVES = 24
# The largest factor by which surprises widen an error.
_MOST_WIDENING = 4.0
# Measured triples that are compared with what their pairs say, and the most cells of one.
_TRIPLES_COMPARED = 40
_MOST_TRIPLE_CELLS = 100_000
# Rounds of proportional fitting: the pairs are then met to a few parts in a thousand.
_FITTINGS = 12
_TRIPLES = ErrorClass(Kind.CELL, 3, Basis.PAIRS)


def calibrate(
    plan: Plan,
    release: Release,
    predictions: Sequence[Prediction] | None,
    *,
    replicates: int = REPLICATES,
    progress: ProgressCallback = silent,
) -> ErrorTable | None:
    """The error table of a release; None where the method's errors cannot be found by repeating it.

    Args:
        plan: The plan of the run that made the release.
        release: What the run published.
        predictions: What the run had predicted of marginals before it measured them.
        replicates: Repetitions of the run.
        progress: Is told before each repetition.

    """
    if release.relaxed is None or predictions is None or replicates < 1 or release.rows > _MOST_ROWS:
        return None
    truth = _synthetic_table(release)
    if truth is None:
        return None
    repeated = []
    samples = []
    for number in range(replicates):
        progress(Progress("intervals", number, replicates, "the run repeated on its own synthetic table"))
        replicate, predicted = _repeat(plan, truth, number, _within(progress, number, replicates))
        repeated.append(predicted)
        samples.append(sample_errors(replicate, truth, plan.workload, np.random.default_rng(number)))
    progress(Progress("intervals", replicates, replicates))
    if not predictions:
        # Nothing that was modelled was ever tested: then of what is modelled nothing can be said.
        samples = [_without(each, Basis.PAIRS, Basis.MODEL) for each in samples]
    interactions = interactions_by_octave(release)
    if interactions is None:
        # No triple was measured, so nobody knows what pairs leave out: such answers take the errors of the weaker basis.
        samples = [_without(each, Basis.PAIRS) for each in samples]
        of_pairs = np.ones(_OCTAVES)
    else:
        of_pairs = _to_reach(interactions, [each.get(_TRIPLES) for each in samples])
    of_model = widening_by_octave(predictions, [each for predicted in repeated for each in predicted])
    return table_of_samples(samples, {Basis.PAIRS: of_pairs, Basis.MODEL: of_model})


def _without(samples: Mapping[ErrorClass, Samples], *bases: Basis) -> dict[ErrorClass, Samples]:
    return {name: found for name, found in samples.items() if name.basis not in bases}


def _synthetic_table(release: Release) -> Codes | None:
    """As many synthetic records as there are private ones: those that were certified, or fresh ones."""
    if release.drawn is not None and release.drawn.rows == release.rows:
        return release.drawn
    try:
        marginals = matched_marginals(release.workload, release.measurements)
        relaxed = release.relaxed
        return (
            None
            if relaxed is None
            else draw_table(relaxed, release.schema, marginals, rows=release.rows, seed=release.facts.seed)
        )
    except SettingsError:  # the constraints leave no record to draw
        return None


def _within(progress: ProgressCallback, number: int, replicates: int) -> ProgressCallback:
    """Progress of one repetition, told as progress of all."""

    def told(each: Progress) -> None:
        detail = f"repetition {number + 1}: {each.stage} {each.done} of {each.total}"
        progress(Progress("intervals", number, replicates, detail))

    return told


def _repeat(
    plan: Plan, truth: Codes, number: int, progress: ProgressCallback
) -> tuple[Replicate, Sequence[Prediction]]:
    """Run the plan on a synthetic table."""
    seed = _FIRST_SEED + number
    curator = Curator(
        MemorySource(truth),
        budget=plan.budget,
        neighbors=plan.neighbors,
        ledger=None,
        insecure_noise_seed=seed,
        max_cells=plan.max_cells,
    )
    # What the run spent on a certificate and on finding intervals of columns, its mechanism did not have.
    before = Fraction(0) if plan.refinement is None else plan.refinement.rho
    curator.set_aside(curator.budget.rho * Fraction(plan.certificate_share) + before)
    curator.prepare(plan.workload.families)
    start: dict[str, Any] = {} if plan.public is None else {"public": plan.public}
    result = plan.method.run(curator, plan.workload, _thinned(plan.settings), seed=seed, progress=progress, **start)
    measured = [item for item in result.measurements if isinstance(item, Measurement)]
    if plan.neighbors.rows_are_public:
        records = float(truth.rows)
    else:
        records = estimate_records(measured) if result.records is None else result.records
    if result.relaxed is None:
        raise SettingsError(f"method {plan.method.name} predicts without rows, so it cannot be calibrated.")
    replicate = Replicate(result.relaxed, records, measured_columns(measured))
    return replicate, result.predictions or ()


def _thinned(settings: Any) -> Any:
    """Settings with a part of the relaxed rows and steps, where they have any."""
    full = {name: getattr(settings, name) for name in _THINNED if hasattr(settings, name)}
    thin = {name: min(value, max(value // _PART, _THINNED[name])) for name, value in full.items()}
    return replace(settings, **thin) if thin else settings


def widening_by_octave(
    predictions: Iterable[Prediction], repeated: Iterable[Prediction]
) -> Float64[np.ndarray, " octaves"]:
    """By how much errors of modelled answers of each size are wider than the repetitions say.

    In each octave of expected counts, V is the mean of (measured − predicted)² − σ², and s the
    standard error of that mean by noise alone. The factor is √((V + s)/(V* + s*)), with stars for
    the repetitions, at least 1: what does not rise above the noise leaves errors as they are.
    """
    own, theirs = _excess(predictions), _excess(repeated)
    return _factors(own / theirs)


def _factors(ratio: Float64[np.ndarray, " octaves"]) -> Float64[np.ndarray, " octaves"]:
    """Factors of errors from ratios of variances, at least 1."""
    # Octaves in which nothing was predicted take the factor of the nearest one below, or above.
    known = np.flatnonzero(np.isfinite(ratio))
    if not known.size:
        return np.ones(_OCTAVES)
    filled = np.interp(np.arange(_OCTAVES), known, ratio[known])
    return np.asarray(np.clip(np.sqrt(filled), 1.0, _MOST_WIDENING))


def _excess(predictions: Iterable[Prediction]) -> Float64[np.ndarray, " octaves"]:
    """Mean squared surprise beyond noise of each octave, plus what noise would make of it; NaN where none was predicted."""
    cells, total, noise = np.zeros(_OCTAVES), np.zeros(_OCTAVES), np.zeros(_OCTAVES)
    for each in predictions:
        expected = np.asarray(each.expected_counts, dtype=np.float64)
        variance = each.measured.stddev_counts**2
        octave = np.minimum(octaves(expected), _OCTAVES - 1)
        cells += np.bincount(octave, minlength=_OCTAVES)
        total += np.bincount(octave, weights=(each.measured.counts - expected) ** 2 - variance, minlength=_OCTAVES)
        noise += np.bincount(octave, minlength=_OCTAVES) * 2 * variance**2
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Float64[np.ndarray, " octaves"] = np.maximum(total, 0) / cells + np.sqrt(noise) / cells
    return mean


def interactions_by_octave(release: Release) -> Float64[np.ndarray, " octaves"] | None:
    """How strongly three columns interact beyond their pairs: mean squares by octave of count; None where none was measured.

    A measured triple is compared with the table that has the same pairs and no more (iterative
    proportional fitting to the pairs of the release). Triples that were not measured are taken to
    interact as strongly, in ways that the model does not know.
    """
    triples = [
        item
        for item in release.measurements
        if isinstance(item, Measurement)
        and len(item.marginal.columns) == 3
        and item.marginal.groups is None
        and len(item.counts) <= _MOST_TRIPLE_CELLS
    ]
    if not triples or release.relaxed is None:
        return None
    chosen = np.random.default_rng(0).permutation(len(triples))[:_TRIPLES_COMPARED]
    return _excess(
        Prediction(_from_pairs(release.relaxed, triples[place].marginal.columns) * release.rows, triples[place])
        for place in chosen
    )


def _from_pairs(relaxed: RelaxedDataset, columns: tuple[str, ...]) -> Float64[np.ndarray, " cells"]:
    """Shares of the cells of three columns that have the pairs of the rows, and no interaction of all three."""
    whole = cell_table(relaxed, columns).astype(np.float64)
    found = np.full(whole.shape, 1 / whole.size)
    for _ in range(_FITTINGS):
        for axis in range(3):
            wanted, has = whole.sum(axis=axis, keepdims=True), found.sum(axis=axis, keepdims=True)
            found = found * np.divide(wanted, has, out=np.zeros_like(wanted), where=has > 0)
    return np.asarray(found.ravel())


def _to_reach(
    wanted: Float64[np.ndarray, " octaves"], sampled: Iterable[Samples | None]
) -> Float64[np.ndarray, " octaves"]:
    """Factors that bring the mean squared error of sampled cells up to what is wanted, octave by octave."""
    known = [each for each in sampled if each is not None]
    if not known:
        return np.ones(_OCTAVES)
    octave = np.minimum(octaves(np.concatenate([sizes for sizes, _ in known])), _OCTAVES - 1)
    squares = np.concatenate([errors for _, errors in known]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(octave, weights=squares, minlength=_OCTAVES) / np.bincount(octave, minlength=_OCTAVES)
        ratio = wanted / mean
    return _factors(ratio)
