"""Bins and histograms from a noisy measurement: what a public grid of fine bins, measured for a price, says about a column.

Nothing here reads data. A curator measures the one-way marginal of a column that is declared with fine bins between
public bounds, and charges for it like for any marginal; what follows is post-processing and costs nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from dprap.errors import SchemaError, SettingsError
from dprap.schema import Schema
from dprap.schema.columns.numeric import Histogram, Numeric

if TYPE_CHECKING:
    from dprap.accounting import Measurement


def quantile_edges(measurement: Measurement, column: Numeric, bins: int) -> tuple[float, ...] | tuple[int, ...]:
    """Edges, on the grid of the measured column, of about `bins` bins that hold about equally many records.

    The j-th inner edge is the grid edge whose noisy cumulative count is nearest to j/bins of the total. Noise makes the
    cumulative counts go up and down; they are first replaced by the middle between their smallest monotone bound
    from above and their largest from below. There are fewer bins where one fine bin holds several quantiles.
    """
    if not 1 <= bins <= column.regular:
        raise SettingsError(f"bins: {bins} quantile bins on a grid of {column.regular}. Ask for 1 to {column.regular}.")
    cumulative = _monotone(np.concatenate([[0], np.cumsum(_regular_counts(measurement, column))]))
    total = cumulative[-1]
    if total <= 0:  # nothing but noise: equally many fine bins in each
        cumulative, total = np.arange(column.regular + 1.0), float(column.regular)
    targets = total * np.arange(1, bins) / bins
    above = np.searchsorted(cumulative, targets)
    nearest = above - (targets - cumulative[above - 1] < cumulative[above] - targets)
    edges = column.bin_edges
    # declared edges end with the maximum itself, so no bin can hold the maximum alone
    last = column.last_value
    inner = np.unique(edges[nearest])
    return (edges[0].item(), *inner[(inner > edges[0]) & (inner < last)].tolist(), last.item())


def measured_histogram(measurement: Measurement, column: Numeric) -> Histogram:
    """The measured column as a histogram for `decode: histogram`; noisy counts below zero have no weight."""
    weights = np.maximum(_regular_counts(measurement, column), 0)
    return Histogram(edges=tuple(map(float, column.bin_edges)), weights=tuple(map(float, weights)))


def rebin(schema: Schema, name: str, edges: tuple[float, ...], *, histogram: Histogram | None = None) -> Schema:
    """The schema with other edges for one column, and decoding by the histogram where one is given.

    >>> fine = Schema.of({"columns": {"age": {"type": "integer", "min": 0, "max": 99}}})
    >>> rebin(fine, "age", (0, 18, 65, 99)).domain.sizes
    (3,)
    """
    column = schema.columns.get(name)
    if not isinstance(column, Numeric):
        raise SchemaError(f"column {name!r}: only integer and number columns of the schema can be given edges.")
    binning = ("min", "max", "width", "bins", "edges", "spacing", "representatives", "histogram", "decode")
    mapping = schema.as_mapping()
    settings = {key: value for key, value in mapping["columns"][name].items() if key not in binning}
    settings["edges"] = list(edges)
    if histogram is not None:
        settings |= {"decode": "histogram", "histogram": histogram.model_dump()}
    return Schema.of({**mapping, "columns": {**mapping["columns"], name: settings}})


def _regular_counts(measurement: Measurement, column: Numeric) -> Float64[np.ndarray, " bins"]:
    """Noisy counts of the bins, without that of null."""
    if len(measurement.marginal.columns) != 1 or len(measurement.counts) != column.size:
        raise SettingsError("the measurement is not of this column alone. Measure its one-way marginal.")
    return np.asarray(measurement.counts[: column.regular], dtype=np.float64)


def _monotone(noisy: Float64[np.ndarray, " edges"]) -> Float64[np.ndarray, " edges"]:
    from_above = np.maximum.accumulate(noisy)
    from_below = np.minimum.accumulate(noisy[::-1])[::-1]
    return np.asarray((from_above + from_below) / 2)
