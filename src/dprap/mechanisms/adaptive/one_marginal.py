"""Rows for a workload that one marginal answers, as on every table of two columns.

Then there is nothing to choose and nothing to fit: each cell of the marginal becomes a row, with
the cell's share as its weight. The share is the posterior mean of the cell's departure from what
the columns say (`evidence`): a cell that stands above the noise is taken as measured, and one below
it as if the columns were independent.

The columns are estimated from the sums of the same cells, so a departure from their product is an
interaction. Of c cells with columns of d₁, d₂, … codes only c − 1 − Σ(dᵢ − 1) interactions are
free, and a departure has that part of the noise's variance: a quarter of it on two columns of two
codes. Long columns do not count there: they are smoothed, and departures have the noise that
smoothing took off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Float64, Relaxed
from dprap.domain import Domain
from dprap.mechanisms.adaptive.column_estimate import Shares, estimate_column
from dprap.mechanisms.adaptive.evidence import first_evidence
from dprap.mechanisms.adaptive.rules import Rules
from dprap.relaxed.rows import RelaxedDataset, column_slices


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
    shares = expected.ravel() / records
    part = _noise_of_departures(shape, rules)
    if part > 0:
        departing = replace(measured, stddev_counts=measured.stddev_counts * part)
        (evidence,) = first_evidence([departing], [expected.ravel()])
        shares = evidence.posterior_counts(rules.typical_dependence) / records
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


def _noise_of_departures(shape: tuple[int, ...], rules: Rules) -> float:
    """The noise of a cell's departure from the product of its columns, as a part of the cell's
    own.
    """
    smoothed_from = rules.long_from_codes if rules.smooth_columns else math.inf
    taken = 1 + sum(size - 1 for size in shape if size < smoothed_from)
    return math.sqrt(max(1 - taken / math.prod(shape), 0.0))


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
