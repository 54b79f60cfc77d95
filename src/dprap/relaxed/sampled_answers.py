"""Answers of queries with too many cells for a table: custom functions on drawn records, halfspaces
where they can be exact.
"""

from __future__ import annotations

import numpy as np

from dprap.array_types import Answers
from dprap.products import product
from dprap.queries import GRID, Custom, Halfspace
from dprap.queries.halfspace import hits
from dprap.relaxed.rounding import round_rows
from dprap.relaxed.rows import RelaxedDataset

DRAWN_RECORDS = 100_000
"""Records that are drawn: a mean of values in [0, 1] over them has a standard error of at most
.0016.
"""

_SEED = 0
# The same records each time: an answer is a function of the rows.
_BLOCK = 1 << 12
# A column of a row is one code where its probability is this near to one.
_CERTAIN = 1 - 1e-5


def drawn_answers(relaxed: RelaxedDataset, family: Custom) -> Answers:
    """Means of a function's values over independent records drawn from the rows.

    Without bias for the expectation over the rows' product distributions, with a standard error of
    at most 1/(2·√`DRAWN_RECORDS`).

    Args:
        relaxed: The rows.
        family: The function.

    Returns:
        One mean for each query.
    """
    columns = round_rows(relaxed, _SEED, rows=DRAWN_RECORDS, method="independent")
    chosen = [columns[relaxed.domain.position(name)] for name in family.columns]
    total = np.zeros(family.size(relaxed.domain), dtype=np.int64)
    for start in range(0, DRAWN_RECORDS, _BLOCK):
        block = [column[start : start + _BLOCK] for column in chosen]
        total += family.contributions(relaxed.domain, block).sum(axis=0)
    return total / (GRID * DRAWN_RECORDS)


def halfspace_answers(relaxed: RelaxedDataset, family: Halfspace) -> Answers:
    """The share of records in each halfspace, by the values of other columns.

    Rows whose numeric columns each are one code, as the method `rap++` makes them, are answered
    exactly. Others are answered on `DRAWN_RECORDS` records drawn from them.

    Args:
        relaxed: The rows.
        family: The halfspaces.

    Returns:
        One share for each query.
    """
    domain = relaxed.domain
    blocks = [relaxed.block(name) for name in family.numeric]
    if min(float(block.max(axis=0).min()) for block in blocks) < _CERTAIN:
        columns = round_rows(relaxed, _SEED, rows=DRAWN_RECORDS, method="independent")
        return (
            family.counts(domain, [columns[domain.position(name)] for name in family.columns])
            / DRAWN_RECORDS
        )
    located, known = family.located(domain, [block.argmax(axis=0) for block in blocks])
    weights = relaxed.weights[None, known].astype(np.float64)
    for name in family.by:
        weights = (weights[:, None] * relaxed.block(name)[None, :, known]).reshape(
            -1, weights.shape[1]
        )
    shares = np.empty((family.count, len(weights)))
    for queries, inside in hits(located, family.planes(domain)):
        shares[queries] = product(inside.T.astype(np.float64), weights.T)
    return shares.ravel()
