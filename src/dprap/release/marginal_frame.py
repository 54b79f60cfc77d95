"""A marginal of a release as a labelled table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprap.queries import Family
from dprap.release.answer_question import interval_cells
from dprap.release.intervals import Interval

if TYPE_CHECKING:
    from dprap.release.release import Release


def marginal_frame(
    release: Release, marginal: Family, intervals: Sequence[Interval]
) -> pd.DataFrame:
    """One line a cell, in the marginal's own order, with the labels of its codes.

    Args:
        release: The release.
        marginal: A marginal over single codes.
        intervals: The intervals of its cells, in counts.

    Returns:
        The table that `Release.answer` describes.

    """
    domain = release.schema.domain
    codes = np.unravel_index(np.arange(len(intervals)), domain.shape_of(marginal.columns))
    frame = pd.DataFrame(index=range(len(intervals)))
    for name, column_codes in zip(marginal.columns, codes, strict=True):
        labels = np.array(
            [release.schema.label(name, code) for code in range(domain.size(name))], dtype=object
        )
        frame[name] = labels[column_codes]
    frame["count"] = [each.estimate for each in intervals]
    frame["share"] = frame["count"] / release.rows
    return frame.join(pd.DataFrame([interval_cells(each) for each in intervals]))
