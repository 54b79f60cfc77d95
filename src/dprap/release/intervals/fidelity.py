"""Which columns and relations a release keeps, by how sure the counts in them are.

A cell is judged by its coefficient of variation, the standard error over the estimate, with the
limits that statistical offices publish by: up to 1/6 it is good, up to 1/3 to be used with caution,
above it is too noisy to publish. A column or a pair of columns is

* kept, if four of five records lie in cells that may be published and the cells were measured or
  follow from what was measured;
* approximate, if half of the records do, or if the model alone says so;
* not kept, otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dprap.array_types import Bool, Float64
from dprap.queries import Marginal
from dprap.release.intervals.basis import Basis
from dprap.release.intervals.error_table import Kind

if TYPE_CHECKING:
    from dprap.release.release import Release

CAUTION = 1 / 3
_KEPT = 0.8
_APPROXIMATE = 0.5
# The level of one standard error of a normal distribution.
_ONE_ERROR = 0.6827
# Larger pairs are not judged: the page would take minutes.
MOST_CELLS = 200_000


class Verdict(StrEnum):
    """Whether a relation can be read off the release."""

    KEPT = "kept"
    APPROXIMATE = "approximate"
    NOT_KEPT = "not kept"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Fidelity:
    """The verdict on a column or a pair of columns.

    `publishable` is the share of records in cells that are sure enough to publish, `median_error`
    the standard error of the cell that the median record lies in, as a share of all records.
    """

    columns: tuple[str, ...]
    basis: Basis
    verdict: Verdict
    publishable: float | None
    median_error: float | None


def fidelity(release: Release, columns: tuple[str, ...]) -> Fidelity:
    """Judge the cells over some columns."""
    basis = release.grounds.basis_of(columns)
    counts = _counts(release, columns)
    errors = None if counts is None else standard_errors(release, columns, counts)
    if counts is None or errors is None or counts.sum() <= 0:
        return Fidelity(columns, basis, Verdict.UNKNOWN, None, None)
    publishable = float(counts[~too_noisy(counts, errors)].sum() / counts.sum())
    order = np.argsort(errors)
    middle = order[
        np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2).clip(max=len(order) - 1)
    ]
    if publishable >= _KEPT and not basis.modelled:
        verdict = Verdict.KEPT
    elif publishable >= _APPROXIMATE:
        verdict = Verdict.APPROXIMATE
    else:
        verdict = Verdict.NOT_KEPT
    return Fidelity(columns, basis, verdict, publishable, float(errors[middle]) / release.rows)


def manifest(release: Release) -> list[Fidelity]:
    """The verdict on every column and on every pair of columns that is not too large.

    Args:
        release: The release.

    Returns:
        One verdict for each, columns first.

    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> release = synthesize(
    ...     example(300), example_schema(), epsilon=5.0, kway=1, method="independent"
    ... )
    >>> manifest(release)[0].columns
    ('age',)
    """
    domain = release.schema.domain
    pairs = (pair for pair in combinations(domain.names, 2) if domain.size_of(pair) <= MOST_CELLS)
    return [fidelity(release, columns) for columns in (*((name,) for name in domain.names), *pairs)]


def standard_errors(
    release: Release, columns: tuple[str, ...], counts: Float64[np.ndarray, " cells"]
) -> Float64[np.ndarray, " cells"] | None:
    """Standard errors of cells, in counts; None where the release does not tell."""
    if release.errors is None:
        return None
    shape, basis = release.schema.domain.shape_of(columns), release.grounds.basis_of(columns)
    return release.errors.half_widths(Kind.CELL, shape, basis, counts, _ONE_ERROR)


def too_noisy(
    counts: Float64[np.ndarray, " cells"], errors: Float64[np.ndarray, " cells"]
) -> Bool[np.ndarray, " cells"]:
    """Which counts are too noisy to publish."""
    return np.asarray(errors > CAUTION * counts)


def _counts(release: Release, columns: tuple[str, ...]) -> Float64[np.ndarray, " cells"] | None:
    if release.relaxed is None:
        return None
    return np.asarray(release.shares(Marginal(columns))[0], dtype=np.float64) * release.rows
