"""Rows for a workload that one marginal answers, as on every table of two columns.

Then there is nothing to choose and nothing to fit: each cell of the marginal becomes a row, with
the cell's share as its weight. The share is the posterior mean of the cell's departure from what
was expected (`evidence`): a cell that stands above the noise is taken as measured, and one below it
as expected.

What is expected comes from coarse to fine. First the columns are independent. Then codes of every
column are taken together in two groups, four, eight, and so on, until each code stands by itself.
The sum of many cells stands above the noise where none of the cells does. So what two columns have
to do with each other shows in groups first, and is expected of the cells in them. Without groups a
relation that is spread over many hidden cells was lost: a correlation of .51 came out as .18.

The columns are estimated from the sums of the same cells, so a departure from their product is an
interaction. Of c cells with columns of d₁, d₂, … codes only c − 1 − Σ(dᵢ − 1) interactions are
free, and a departure has that part of the noise's variance: a quarter of it on two columns of two
codes. Long columns do not count there: they are smoothed, and departures have the noise that
smoothing took off. Nor are interactions free that coarser groups have shown, as far as these were
believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Float64, Relaxed
from dprap.domain import Domain
from dprap.mechanisms.adaptive.column_estimate import Shares, estimate_column
from dprap.mechanisms.adaptive.evidence import first_evidence
from dprap.mechanisms.adaptive.rules import Rules
from dprap.relaxed.rows import RelaxedDataset, column_slices

# In records: what is divided by is at least that.
_LEAST = 1e-9
# Rounds of iterative proportions. Columns are met again before the next groups, so that few do.
_PROPORTIONS = 3

Cells = Float64[np.ndarray, "..."]
Groups = tuple[np.ndarray, ...]
"""For each column the group of each code."""


def rows_of_cells(
    domain: Domain,
    measured: Measurement,
    columns: Sequence[Measurement],
    records: float,
    rules: Rules,
    ordered: Mapping[str, int],
) -> RelaxedDataset:
    """One row for every cell that has a share.

    Args:
        domain: Of the table.
        measured: The marginal.
        columns: The columns as they were measured by themselves; without any, the marginal has them
            all.
        records: The number of records.
        rules: How columns are estimated.
        ordered: How many codes have an order, for each column of which that is known.

    Returns:
        Weighted rows. Columns outside the marginal are independent of it.
    """
    names = measured.marginal.columns
    shape = domain.shape_of(names)
    counts = measured.counts.astype(np.float64).reshape(shape)
    alone = {item.marginal.columns[0]: item for item in columns}
    shares_of: dict[str, Shares] = {}
    for name in domain:
        axis = names.index(name) if name in names else None
        mean, stddev = _column(alone.get(name), counts, axis, measured.stddev_counts)
        shares_of[name] = estimate_column(
            mean, stddev, records, rules, ordered=ordered.get(name)
        ).shares
    expected = np.array(records)
    for name in names:
        expected = np.multiply.outer(expected, shares_of[name])
    along = [shares_of[name] for name in names]
    believed = 0.0
    for groups in _groupings(shape):
        expected = _with_columns(expected, along, records)
        expected, believed = _departed(expected, counts, measured, groups, rules, believed)
    shares = expected.ravel() / records
    cells = np.flatnonzero(shares > 0)
    slices = column_slices(domain)
    probabilities: Relaxed = np.empty((domain.onehot_size, len(cells)), np.float32)
    for name in domain:
        probabilities[slices[name]] = shares_of[name].astype(np.float32)[:, None]
    for name, codes in zip(names, np.unravel_index(cells, shape), strict=True):
        probabilities[slices[name]] = np.arange(domain.size(name))[:, None] == codes
    return RelaxedDataset(
        domain, probabilities, (shares[cells] / shares[cells].sum()).astype(np.float32)
    )


def _groupings(shape: tuple[int, ...]) -> Iterator[Groups]:
    """Groups of neighbouring codes of each column, from two of them to every code by itself.

    >>> [[each.tolist() for each in groups] for groups in _groupings((3, 4))]
    [[[0, 0, 1], [0, 0, 1, 1]], [[0, 1, 2], [0, 1, 2, 3]]]
    """
    most = 2
    while most < 2 * max(shape):
        sizes = [min(size, most) for size in shape]
        yield tuple(
            np.arange(size) * parts // size for size, parts in zip(shape, sizes, strict=True)
        )
        most *= 2


def _departed(
    expected: Cells,
    counts: Cells,
    measured: Measurement,
    groups: Groups,
    rules: Rules,
    believed: float,
) -> tuple[Cells, float]:
    """What is expected, with the departures that sums over groups of codes show.

    `believed` is how many interactions coarser groups have fixed; the second result counts those of
    these groups as well.
    """
    parts = _parts(groups)
    several = zip(expected.shape, parts, strict=True)
    short = 1 + sum(many - 1 for size, many in several if size < _smoothed_from(rules))
    free = math.prod(parts) - short - believed
    if free <= 0:
        return expected, believed
    group_of = np.ravel_multi_index(np.ix_(*groups), parts).ravel()
    cells_each = expected.size / math.prod(parts)
    summed, before = (
        np.bincount(group_of, weights=each.ravel(), minlength=math.prod(parts))
        for each in (counts, expected)
    )
    noise_left = math.sqrt(free / math.prod(parts))
    stddev = measured.stddev_counts * math.sqrt(cells_each) * noise_left
    seen = replace(measured, counts=summed, stddev_counts=stddev)
    (evidence,) = first_evidence([seen], [before])
    after = evidence.posterior_counts(rules.typical_dependence)
    factors = after / np.maximum(before, _LEAST)
    moved = np.abs(after - before).sum() / max(np.abs(summed - before).sum(), _LEAST)
    believed += min(moved, 1.0) * free
    return np.asarray(expected * factors[group_of].reshape(expected.shape)), believed


def _with_columns(expected: Cells, along: Sequence[Shares], records: float) -> Cells:
    """The cells nearest to these whose sums are those of the columns (iterative proportions)."""
    for _ in range(_PROPORTIONS):
        for axis, shares in enumerate(along):
            others = tuple(other for other in range(expected.ndim) if other != axis)
            sums = np.maximum(expected.sum(axis=others, keepdims=True), _LEAST)
            wanted = np.expand_dims(records * shares, others)
            expected = expected * (wanted / sums)
    return expected


def _parts(groups: Groups) -> tuple[int, ...]:
    """How many groups each column has."""
    return tuple(int(each[-1]) + 1 for each in groups)


def _smoothed_from(rules: Rules) -> float:
    """Columns of so many codes are smoothed: departures have the noise that smoothing took off."""
    return rules.long_from_codes if rules.smooth_columns else math.inf


def _column(
    alone: Measurement | None,
    counts: Float64[np.ndarray, "..."],
    axis: int | None,
    stddev_counts: float,
) -> tuple[Answers, float]:
    """A column's counts and their noise: as measured alone and as the marginal adds up, by inverse
    variance.
    """
    estimates = (
        [] if alone is None else [(alone.counts.astype(np.float64), alone.stddev_counts**-2)]
    )
    if axis is not None:
        summed = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis))
        estimates.append((summed, len(summed) / (stddev_counts**2 * counts.size)))
    precision = sum(weight for _, weight in estimates)
    mean = sum(
        (weight / precision * values for values, weight in estimates),
        np.zeros(len(estimates[0][0])),
    )
    return mean, precision**-0.5
