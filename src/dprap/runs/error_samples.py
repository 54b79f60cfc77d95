"""Errors of a replicate against the table it was run on, for many answers of every class. All of it is public."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float64

from dprap.encoding import Codes
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.marginals import cell_table
from dprap.release.intervals.basis import Basis, basis_of
from dprap.release.intervals.error_table import MOST_COLUMNS, ErrorClass, Kind, Samples
from dprap.workload import Workload

# Sets of columns of each basis that are looked at, for one column, two, and so on, and the most cells of one.
_SETS = (1_000, 16, 16, 6)
_MOST_CELLS = 100_000
# Cells of a set: all with a record or more, up to so many, and so many others.
_FULL_CELLS = 4_000
_EMPTY_CELLS = 400
_RANGES = 40
# Fewer records in a group make its mean nearly unknown, and often undefined.
_LEAST_GROUP = 4.0

_Table = Float64[np.ndarray, "..."]


@dataclass(frozen=True)
class Replicate:
    """What a run on a synthetic table published: rows, and the number of records it believed in."""

    relaxed: RelaxedDataset
    records: float
    measured: frozenset[frozenset[str]]


def sample_errors(
    replicate: Replicate, truth: Codes, workload: Workload, rng: np.random.Generator
) -> dict[ErrorClass, Samples]:
    """Sizes and errors of cells, ranges and means, by class.

    Sizes are those that the replicate gives, as only these are known of a release.
    """
    found: dict[ErrorClass, list[Samples]] = {}
    for basis, columns in _column_sets(replicate, workload, rng):
        estimated = replicate.records * cell_table(replicate.relaxed, columns).astype(np.float64)
        true = _counted(truth, columns)
        parts = {
            Kind.CELL: _cells(estimated, true, rng),
            Kind.RANGE: _ranges(estimated, true, rng),
            Kind.MEAN: _means(estimated, true),
        }
        for kind, samples in parts.items():
            found.setdefault(ErrorClass(kind, len(columns), basis), []).append(samples)
    return {
        name: (np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))
        for name, parts in found.items()
    }


def _column_sets(
    replicate: Replicate, workload: Workload, rng: np.random.Generator
) -> Iterator[tuple[Basis, tuple[str, ...]]]:
    """Some sets of columns of every number and basis."""
    domain = workload.domain
    for size in range(1, min(MOST_COLUMNS, len(domain)) + 1):
        asked = [family.columns for family in workload.families if len(family.columns) == size]
        known = [tuple(sorted(each)) for each in replicate.measured if len(each) == size]
        every = (
            list(combinations(domain.names, size))
            if math.comb(len(domain), size) <= 4_000
            else [tuple(rng.choice(domain.names, size, replace=False).tolist()) for _ in range(1_000)]
        )
        sets = {frozenset(columns): columns for columns in (*every, *asked, *known)}
        by_basis: dict[Basis, list[tuple[str, ...]]] = {}
        for columns in sets.values():
            if domain.size_of(columns) <= _MOST_CELLS:
                by_basis.setdefault(basis_of(columns, replicate.measured), []).append(columns)
        for basis, candidates in by_basis.items():
            for place in rng.permutation(len(candidates))[: _SETS[size - 1]]:
                yield basis, tuple(sorted(candidates[place], key=domain.position))


def _counted(truth: Codes, columns: Sequence[str]) -> _Table:
    cells = np.zeros(truth.rows, dtype=np.int64)
    for name in columns:
        cells = cells * truth.domain.size(name) + truth.column(name)
    counts = np.bincount(cells, minlength=truth.domain.size_of(columns))
    return counts.reshape(truth.domain.shape_of(columns)).astype(np.float64)


def _cells(estimated: _Table, true: _Table, rng: np.random.Generator) -> Samples:
    sizes, errors = estimated.ravel(), np.abs(estimated - true).ravel()
    full, empty = np.flatnonzero(sizes >= 1), np.flatnonzero(sizes < 1)
    kept = np.concatenate([rng.permutation(full)[:_FULL_CELLS], rng.permutation(empty)[:_EMPTY_CELLS]])
    return sizes[kept], errors[kept]


def _ranges(estimated: _Table, true: _Table, rng: np.random.Generator) -> Samples:
    """Boxes of neighbouring codes, of any length along each column, but more than one cell."""
    sizes, errors = [], []
    difference = estimated - true
    ends = np.sort(rng.integers(0, estimated.shape, (2, _RANGES, estimated.ndim)), axis=0)
    for low, high in zip(ends[0].tolist(), (ends[1] + 1).tolist(), strict=True):
        box = tuple(map(slice, low, high))
        if estimated[box].size > 1:
            sizes.append(estimated[box].sum())
            errors.append(abs(difference[box].sum()))
    return np.array(sizes, dtype=np.float64), np.array(errors, dtype=np.float64)


def _means(estimated: _Table, true: _Table) -> Samples:
    """Means of the longest column in the groups of the others, in standard deviations within the group."""
    axis = int(np.argmax(estimated.shape))
    length = estimated.shape[axis]
    values = np.arange(length, dtype=np.float64)
    of, with_truth = (np.moveaxis(table, axis, -1).reshape(-1, length) for table in (estimated, true))
    counts = of.sum(axis=1)
    usable = (counts >= _LEAST_GROUP) & (with_truth.sum(axis=1) > 0)
    of, with_truth, counts = of[usable], with_truth[usable], counts[usable]
    means = of @ values / counts
    spread = np.sqrt(np.maximum(of @ values**2 / counts - means**2, 0))
    errors = np.abs(means - with_truth @ values / with_truth.sum(axis=1))
    varies = spread > 1e-6
    return counts[varies], errors[varies] / spread[varies]
