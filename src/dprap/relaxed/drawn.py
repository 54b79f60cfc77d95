"""Answers on records drawn from relaxed rows, for custom functions with too many cells for a table."""

from __future__ import annotations

import numpy as np

from dprap.array_types import Answers
from dprap.queries import GRID, Custom
from dprap.relaxed.rounding import round_rows
from dprap.relaxed.rows import RelaxedDataset

DRAWN_RECORDS = 100_000
"""Records that are drawn: a mean of values in [0, 1] over them has a standard error of at most .0016."""

_SEED = 0
# The same records each time: an answer is a function of the rows.
_BLOCK = 1 << 12


def drawn_answers(relaxed: RelaxedDataset, family: Custom) -> Answers:
    """Means of a function's values over independent records drawn from the rows.

    Without bias for the expectation over the rows' product distributions, with a standard error of at most
    1/(2·√`DRAWN_RECORDS`).

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
