"""Errors of a replicate against the table it was run on, for many answers of every class.

All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from itertools import product as product_of
from typing import Any, TypeAlias

import numpy as np

from dprap.array_types import Float64
from dprap.encoding import Codes
from dprap.products import product
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.marginals import cell_table
from dprap.release.intervals.basis import Basis, Grounds
from dprap.release.intervals.error_table import (
    MOST_COLUMNS,
    MOST_MODELLED,
    ErrorClass,
    Kind,
    Samples,
    SizesErrors,
    easier_cells,
    easier_means,
    easier_sums,
    is_short,
    mean_scale,
)

# Sets of columns of each basis that are looked at, for one column, two, and so on, and the most
# cells of one. More sets tell more of others, so of small ones there are up to four times as many,
# until together they have as many cells as are cheap.
_SETS = (1_000, 24, 24, 6)
_MORE_SETS = 4
_CHEAP_CELLS = 20_000
_MOST_CELLS = 100_000
# Fewer sets of columns say nothing of others: their cells are off together.
_LEAST_SETS = 3
# Cells of a set: all with a record or more, up to so many, and so many others.
_FULL_CELLS = 4_000
_EMPTY_CELLS = 400
_RANGES = 40
# Fewer records in a group make its mean nearly unknown, and often undefined.
_LEAST_GROUP = 4.0

_Table = Float64[np.ndarray, "..."]
Wanted: TypeAlias = Callable[[Basis, tuple[str, ...]], bool]
"""Whether the errors of answers over some columns, which have that basis in a replicate, speak for
the release.
"""


@dataclass(frozen=True)
class Replicate:
    """What a run on a synthetic table published: rows, the number of records it believed in, and
    its grounds.
    """

    relaxed: RelaxedDataset
    records: float
    grounds: Grounds


def sample_errors(
    replicate: Replicate,
    truth: Codes,
    wanted: Wanted,
    rng: np.random.Generator,
    told: Callable[[], None] = lambda: None,
) -> dict[ErrorClass, Samples]:
    """Sizes and errors of cells, ranges and means, by class; errors as those of the release are
    expected.

    Sizes are those that the replicate gives, as only these are known of a release. `told` is called
    now and then.
    """
    found: dict[ErrorClass, list[Samples]] = {}
    numbers: dict[tuple[str, ...], int] = {}
    for basis, columns in _column_sets(replicate, wanted, rng, told):
        told()
        estimated = replicate.records * cell_table(replicate.relaxed, columns).astype(np.float64)
        true = counted(truth, columns)
        sizes, errors = _cells(estimated, true, rng)
        sums, errors_of_sums, cells = ranges(estimated, true, rng, _RANGES)
        groups, errors_of_means = means(estimated, true)
        parts = {
            Kind.CELL: (sizes, errors * easier_cells(len(columns), sizes)),
            Kind.RANGE: (sums, errors_of_sums * easier_sums(len(columns), cells)),
            Kind.MEAN: (groups, errors_of_means * easier_means(max(estimated.shape))),
        }
        reason = numbers.setdefault(_reason(replicate.grounds, basis, columns), len(numbers))
        for kind, (of, off) in parts.items():
            name = ErrorClass(kind, len(columns), basis, is_short(true.shape))
            found.setdefault(name, []).append(Samples(of, off, np.full(len(of), reason)))
    return {name: Samples.joined(parts) for name, parts in found.items()}


def _reason(grounds: Grounds, basis: Basis, columns: tuple[str, ...]) -> tuple[str, ...]:
    """What answers over these columns are off by together: the relation of all of them.

    Where the workload lacks a pair, that pair is the reason. Many sets of three columns may lack
    the same one.
    """
    if basis is not Basis.OUTSIDE:
        return columns
    pairs = combinations(columns, 2)
    return next((pair for pair in pairs if grounds.basis_of(pair) is Basis.OUTSIDE), columns)


def _column_sets(
    replicate: Replicate, wanted: Wanted, rng: np.random.Generator, told: Callable[[], None]
) -> Iterator[tuple[Basis, tuple[str, ...]]]:
    """Some sets of columns of every number and basis."""
    domain, grounds = replicate.relaxed.domain, replicate.grounds
    largest = max((len(each) for each in grounds.measured), default=0)
    for size in range(1, min(MOST_COLUMNS, len(domain)) + 1):
        if size > max(largest, MOST_MODELLED):  # nothing says more of so many columns than of fewer
            continue
        known = [tuple(each) for each in (*grounds.asked, *grounds.measured) if len(each) == size]
        every = (
            list(combinations(domain.names, size))
            if math.comb(len(domain), size) <= 4_000
            else [
                tuple(rng.choice(domain.names, size, replace=False).tolist()) for _ in range(1_000)
            ]
        )
        by_basis: dict[Basis, list[tuple[str, ...]]] = {}
        told()
        sets = {frozenset(columns) for columns in (*every, *known)}
        told()
        for columns in sorted(tuple(sorted(each, key=domain.position)) for each in sets):
            told()
            basis = grounds.basis_of(columns)
            if domain.size_of(columns) <= _MOST_CELLS and wanted(basis, columns):
                by_basis.setdefault(basis, []).append(columns)
        for basis, candidates in by_basis.items():
            if len(candidates) >= _LEAST_SETS or not basis.modelled:
                shuffled = [candidates[place] for place in rng.permutation(len(candidates))]
                together = np.cumsum([domain.size_of(columns) for columns in shuffled])
                cheap = int(np.searchsorted(together, _CHEAP_CELLS))
                few = _SETS[size - 1]
                for columns in shuffled[: max(few, min(cheap, _MORE_SETS * few))]:
                    yield basis, columns


def counted(truth: Codes, columns: Sequence[str]) -> _Table:
    """The counts of all cells over some columns."""
    cells = np.zeros(truth.rows, dtype=np.int64)
    for name in columns:
        cells = cells * truth.domain.size(name) + truth.column(name)
    counts = np.bincount(cells, minlength=truth.domain.size_of(columns))
    return counts.reshape(truth.domain.shape_of(columns)).astype(np.float64)


def _cells(estimated: _Table, true: _Table, rng: np.random.Generator) -> SizesErrors:
    sizes, errors = estimated.ravel(), np.abs(estimated - true).ravel()
    full, empty = np.flatnonzero(sizes >= 1), np.flatnonzero(sizes < 1)
    kept = np.concatenate(
        [rng.permutation(full)[:_FULL_CELLS], rng.permutation(empty)[:_EMPTY_CELLS]]
    )
    return sizes[kept], errors[kept]


def ranges(
    estimated: _Table, true: _Table, rng: np.random.Generator, many: int
) -> tuple[
    Float64[np.ndarray, " answers"],
    Float64[np.ndarray, " answers"],
    Float64[np.ndarray, " answers"],
]:
    """Sums of more than one cell that ask something of every column: boxes of neighbouring codes,
    and unions of two.

    Returns sizes, errors, and numbers of cells.

    A column of which a box has every code is not asked about, so that such a box belongs to fewer
    columns and is left out.
    """
    shape = np.array(estimated.shape)
    low, last = np.sort(rng.integers(0, shape, (2, 2 * many, len(shape))), axis=0)
    high = last + 1
    proper = ((high - low) < shape).all(axis=1)
    low, high = low[proper], high[proper]
    pairs = len(low) // 2
    low, high = (each[: 2 * pairs].reshape(pairs, 2, len(shape)) for each in (low, high))
    # the first box of each pair, the second, and what they share
    low = np.concatenate([low, low.max(axis=1, keepdims=True)], axis=1)
    high = np.maximum(low, np.concatenate([high, high.min(axis=1, keepdims=True)], axis=1))
    cells = (high - low).prod(axis=2)
    # unions of two where a box is a cell, else boxes and unions by turns
    united = (cells[:, 0] == 1) | (np.arange(pairs) % 2 == 0)
    signs = np.where(united[:, None], [1, 1, -1], [1, 0, 0])
    of_cells = (signs * cells).sum(axis=1)
    kept = (of_cells > 1) & (of_cells < estimated.size)
    sums = _box_sums(np.stack([estimated, estimated - true]), low[kept], high[kept])
    sizes, errors = (signs[kept] * sums).sum(axis=2)
    return np.maximum(sizes, 0.0), np.abs(errors), of_cells[kept].astype(np.float64)


def _box_sums(
    tables: _Table, low: np.ndarray, high: np.ndarray
) -> Float64[np.ndarray, "tables answers boxes"]:
    """Sums of several tables over boxes [low, high), by differences of their running sums."""
    running = np.zeros((len(tables), *(length + 1 for length in tables.shape[1:])))
    behind: Any = (slice(None), *[slice(1, None)] * (tables.ndim - 1))
    inner = running[behind]
    inner[...] = tables
    for axis in range(1, tables.ndim):
        np.cumsum(inner, axis=axis, out=inner)
    found = np.zeros((len(tables), *low.shape[:-1]))
    ends = [(high[..., axis], low[..., axis]) for axis in range(tables.ndim - 1)]
    for at_start in product_of((0, 1), repeat=tables.ndim - 1):
        corner: list[Any] = [pair[which] for pair, which in zip(ends, at_start, strict=True)]
        found += (-1.0) ** sum(at_start) * running[(slice(None), *corner)]
    return found


def means(estimated: _Table, true: _Table) -> SizesErrors:
    """Means of the longest column in the groups of the others, in units of `mean_scale`."""
    of, errors, scale = group_means(estimated, true)
    return of.sum(axis=1), errors / scale


def group_means(estimated: _Table, true: _Table) -> tuple[_Table, _Table, _Table]:
    """Estimated counts of the longest column in each group of the others, how far the group's mean
    is off, and the unit of `mean_scale`; groups that do not vary are left out.
    """
    axis = int(np.argmax(estimated.shape))
    length = estimated.shape[axis]
    values = np.arange(length, dtype=np.float64)
    of, with_truth = (
        np.moveaxis(table, axis, -1).reshape(-1, length) for table in (estimated, true)
    )
    whole = of.sum(axis=0) / of.sum()
    usable = (of.sum(axis=1) >= _LEAST_GROUP) & (with_truth.sum(axis=1) > 0)
    of, with_truth = of[usable], with_truth[usable]
    counts = of.sum(axis=1)
    found = product(of, values) / counts
    variance = np.maximum(product(of, values**2) / counts - found**2, 0)
    scale = mean_scale(
        counts, variance, float(product(whole, values**2) - product(whole, values) ** 2)
    )
    errors = np.abs(found - product(with_truth, values) / with_truth.sum(axis=1))
    varies = scale > 1e-6
    return of[varies], errors[varies], scale[varies]
