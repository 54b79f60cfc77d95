"""How far the answers of a release may be off: a parametric bootstrap of the whole run.

The run is repeated on a table drawn from the release as if that were the truth. There the truth is
known, so the errors of the repetition can be seen: noise, choices and fit together. They are pooled
by class and size into an `ErrorTable`.

Such a table follows from the model and the truth does not, so this repetition makes too little of
relations that the workload lacks. A second one is therefore run for a part of the workload
(`hold_out`): relations that the release knows and the repetition does not are in the table as they
are in the truth, and how far the repetition is off there is how far the release is off where nobody
looked. Of what the run might have measured and did not, surprises tell: every round measures
marginals that the rows had predicted before, and where the run was more surprised than its
repetition, errors are widened by the ratio.

Privacy: `calibrate` takes a `Release`, draws the table itself and hands it to a curator of its own,
with seeded noise and no ledger. There is no parameter through which a private table could come in,
so all of it is post-processing of what is published anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Float64
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.mechanisms.record_count import estimate_records
from dprap.mechanisms.result import Paced, Prediction, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.rounding import Owners, independent_columns
from dprap.release import Release
from dprap.release.intervals.basis import Basis, Grounds
from dprap.release.intervals.error_table import (
    MOST_MODELLED,
    ErrorClass,
    ErrorTable,
    Kind,
    octaves,
    table_of_samples,
)
from dprap.runs.error_samples import Replicate, Wanted, sample_errors
from dprap.runs.forecast import REPLICATES
from dprap.runs.hold_out import held_out
from dprap.runs.plan import Plan
from dprap.sources import MemorySource
from dprap.workload import Workload

# A longer table is not drawn for this alone.
_MOST_ROWS = 10_000_000
# Seeds of the repetitions, apart from those that people choose.
_FIRST_SEED = 7_000_001
# Answers over one set of columns are off together, so few sets say little. Where repetitions cost
# next to nothing, because nothing is fitted, there are as many as it takes to see this many sets.
_LEAST_SETS = 200
_OCTAVES = 24
# Sums over more columns have no interval where the workload lacks a pair of them.
_MOST_SUMMED_OUTSIDE = 2
# The number of the repetition for a part of the workload. The others are of the whole one.
_OF_PART = 1
# The largest factor by which surprises widen an error.
_MOST_WIDENING = 4.0


def calibrate(
    plan: Plan,
    release: Release,
    predictions: Sequence[Prediction] | None,
    *,
    progress: ProgressCallback = silent,
) -> ErrorTable | None:
    """The error table of a release; None where the method's errors cannot be found by repeating it.

    Args:
        plan: The plan of the run that made the release.
        release: What the run published.
        predictions: What the run had predicted of marginals before it measured them.
        progress: Is told before each repetition.

    """
    if release.relaxed is None or predictions is None or release.rows > _MOST_ROWS:
        return None
    progress(Progress("intervals", 0, REPLICATES, "the run repeated on its own synthetic table"))
    rng = np.random.default_rng(0)
    told = _telling(progress, 0)
    truth = _possible_truth(release, release.relaxed, 0)
    first = _repeat(plan, plan.workload, truth, 0, _within(progress, 0))
    samples = [sample_errors(first.replicate, truth, _as_it_was, rng, told)]
    for number in _further(plan.workload, first, release.rows):
        another = _possible_truth(release, release.relaxed, number)
        again = _repeat(plan, plan.workload, another, number, _within(progress, 0))
        samples.append(sample_errors(again.replicate, another, _as_it_was, rng, told))
    repeated = first.predictions
    del first  # in a large workload its grounds are large too
    progress(Progress("intervals", 1, REPLICATES, "repeated for a part of the workload"))
    told = _telling(progress, 1)
    if not predictions:
        # Nothing that was modelled was ever tested: then of what is modelled nothing can be said.
        samples = [
            {name: found for name, found in each.items() if not name.basis.modelled}
            for each in samples
        ]
    elif (part := held_out(plan.workload, rng, release.grounds.shows, told)) is not None:
        untold = _repeat(plan, part, truth, _OF_PART, _within(progress, 1)).replicate
        unseen = sample_errors(untold, truth, _held_out(release), rng, told)
        samples.append({name: found for name, found in unseen.items() if not _hopeless(name)})
    progress(Progress("intervals", REPLICATES, REPLICATES))
    return table_of_samples(samples, {Basis.MODEL: widening_by_octave(predictions, repeated)})


def _as_it_was(basis: Basis, columns: tuple[str, ...]) -> bool:
    """What the repetition of the whole run speaks for: what the run measured, or could have
    measured.
    """
    return not basis.modelled or (basis is Basis.MODEL and len(columns) <= MOST_MODELLED)


def _held_out(release: Release) -> Wanted:
    """What a repetition with a smaller workload speaks for: relations that it lacks and the release
    knows.
    """

    def wanted(basis: Basis, columns: tuple[str, ...]) -> bool:
        if len(columns) > MOST_MODELLED:
            return False
        if basis is Basis.PAIRS:
            return not release.grounds.basis_of(columns).modelled
        return basis is Basis.OUTSIDE and release.grounds.shows(columns)

    return wanted


def _hopeless(name: ErrorClass) -> bool:
    """Whether errors of a class cannot be told: means, and sums over three columns, of relations
    that nobody looked at.

    A few large values decide about a mean. Where they belong, the release does not know, and other
    columns do not tell: on one table intervals of such means held the truth 84% of the time. Large
    sums over three columns add up what several unknown relations have in common: 71% of the time.
    """
    if name.basis is not Basis.OUTSIDE:
        return False
    return name.kind is Kind.MEAN or (
        name.kind is Kind.RANGE and name.columns > _MOST_SUMMED_OUTSIDE
    )


def _possible_truth(release: Release, relaxed: RelaxedDataset, number: int) -> Codes:
    """A table that the release might be of: as many independent records as there are private ones.

    Independent, because a real table departs from any model by chance in each of its small cells.
    The published table would not do: it is drawn as near to the rows as whole records can be, so
    that a repetition would find it smoother than any truth is. Nor would shares of the rows that
    are rounded: where one marginal answers everything each of its cells is a row, and cells would
    have no chance in them at all.
    """
    rng = np.random.default_rng(_FIRST_SEED + number)
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    owners = Owners(rng.multinomial(release.rows, weights / weights.sum()))
    return Codes(relaxed.domain, tuple(independent_columns(relaxed, owners, rng)))


def _within(progress: ProgressCallback, number: int) -> ProgressCallback:
    """Progress of one repetition, told as progress of all."""

    def told(each: Progress) -> None:
        detail = f"repetition {number + 1}: {each.stage} {each.done} of {each.total}"
        progress(Progress("intervals", number, REPLICATES, detail))

    return told


def _telling(progress: ProgressCallback, number: int) -> Callable[[], None]:
    """Tells now and then that the errors of a repetition are looked at."""
    meanwhile = Paced(progress)
    now = Progress("intervals", number, REPLICATES, f"repetition {number + 1}: errors")
    return lambda: meanwhile(now)


@dataclass(frozen=True)
class _Repetition:
    """What a repetition made of its table, what it had predicted, and whether it fitted rows."""

    replicate: Replicate
    predictions: Sequence[Prediction]
    fitted: bool


def _further(workload: Workload, first: _Repetition, rows: int) -> range:
    """Numbers of further repetitions of the whole run.

    One marginal that answers a small table has few sets of columns, and its cells add up to answers
    that are off by very different amounts: a sum over a column of a hundred codes by ten times as
    much as a cell. In one repetition there are too few of the largest sums to tell.
    """
    if first.fitted or len(workload) >= _LEAST_SETS:
        return range(0)
    times = min(math.ceil(_LEAST_SETS / len(workload.closure())), _MOST_ROWS // rows)
    return range(_OF_PART + 1, _OF_PART + times)


def _repeat(
    plan: Plan,
    workload: Workload,
    truth: Codes,
    number: int,
    progress: ProgressCallback,
) -> _Repetition:
    """Run the plan on a synthetic table, for the whole workload or, as `_OF_PART`, a part of it."""
    seed, meanwhile = _FIRST_SEED + number, Paced(progress)
    curator = Curator(
        MemorySource(truth, lambda done, every: meanwhile(Progress("count", done, every))),
        budget=plan.budget,
        neighbors=plan.neighbors,
        ledger=None,
        insecure_noise_seed=seed,
        max_cells=plan.max_cells,
    )
    # What the run spent on a certificate and on finding intervals of columns, its mechanism did not
    # have.
    before = Fraction(0) if plan.refinement is None else plan.refinement.rho
    curator.set_aside(curator.budget.rho * Fraction(plan.certificate_share) + before)
    curator.prepare(workload.families)
    result = plan.method.run(
        curator,
        workload,
        _cheaper(plan.settings, truth.domain, of_part=number == _OF_PART),
        seed=seed,
        progress=progress,
        **plan.known,
    )
    measured = [item for item in result.measurements if isinstance(item, Measurement)]
    if plan.neighbors.rows_are_public:
        records = float(truth.rows)
    else:
        records = estimate_records(measured) if result.records is None else result.records
    if result.relaxed is None:
        raise SettingsError(
            f"method {plan.method.name} predicts without rows, so it cannot be calibrated."
        )
    replicate = Replicate(result.relaxed, records, Grounds.of(measured, workload))
    return _Repetition(replicate, result.predictions or (), fitted=result.steps > 0)


def _cheaper(settings: Any, domain: Domain, *, of_part: bool) -> Any:
    """Settings that find how far answers are off in less time, where a method has such."""
    find = getattr(settings, "for_repetition", None)
    return settings if find is None else find(domain, of_part=of_part)


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
    """Mean squared surprise beyond noise of each octave, plus what noise would make of it; NaN
    where none was predicted.
    """
    cells, total, noise = np.zeros(_OCTAVES), np.zeros(_OCTAVES), np.zeros(_OCTAVES)
    for each in predictions:
        expected = np.asarray(each.expected_counts, dtype=np.float64)
        variance = each.measured.stddev_counts**2
        octave = np.minimum(octaves(expected), _OCTAVES - 1)
        cells += np.bincount(octave, minlength=_OCTAVES)
        total += np.bincount(
            octave, weights=(each.measured.counts - expected) ** 2 - variance, minlength=_OCTAVES
        )
        noise += np.bincount(octave, minlength=_OCTAVES) * 2 * variance**2
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Float64[np.ndarray, " octaves"] = (
            np.maximum(total, 0) / cells + np.sqrt(noise) / cells
        )
    return mean
