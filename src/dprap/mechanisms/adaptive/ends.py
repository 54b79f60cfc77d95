"""Ends of ordered columns: a bound that noise hides still has a record.

Whoever declares a column from 1 to 99 hours says that somebody may have 99. Where noise hides the
end of the column, its tail falls and a fit empties the last codes, so that the drawn table would
end early. Everything that looks at the range of a column, such as a histogram of equal bins, would
then be off as a whole. One record at each end costs an answer at most 1/n.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dprap.products import product
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.rows import column_slices

# Of two codes both are ends, and both are seen.
_LEAST_CODES = 3


def with_ends(
    rows: RelaxedDataset,
    ordered: Mapping[str, int],
    least_counts: Mapping[str, float],
    records: float,
) -> RelaxedDataset:
    """Rows in which the first and the last ordered code of a column have at least some records.

    A share q that an end lacks is taken from every row alike: p becomes (1 − q)·p, and q is added
    at the end. No answer moves by more than q for each end.

    Args:
        rows: The fitted rows.
        ordered: How many codes have an order, for each column of which that is known.
        least_counts: For a column, how many records an end has at least.
        records: The number of records.

    Returns:
        The rows, without logits; the same object where no end lacks anything.

    """
    probabilities = rows.probabilities.astype(np.float64)
    slices = column_slices(rows.domain)
    lacked = False
    for name, codes in ordered.items():
        if codes < _LEAST_CODES or name not in least_counts:
            continue
        block = probabilities[slices[name]]
        for end in (0, codes - 1):
            lacking = least_counts[name] / records - float(product(block[end], rows.weights))
            if 0 < lacking < 1:
                block *= 1 - lacking
                block[end] += lacking
                lacked = True
    if not lacked:
        return rows
    return RelaxedDataset(rows.domain, probabilities.astype(np.float32), rows.weights)
