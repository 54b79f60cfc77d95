"""A marginal of a release as a labelled table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprap.queries import Family
from dprap.release.answer_question import frame_line
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
    labels = {}
    for name, column_codes in zip(marginal.columns, codes, strict=True):
        names = [release.schema.label(name, code) for code in range(domain.size(name))]
        labels[name] = [names[code] for code in column_codes]
    return pd.DataFrame(
        [
            frame_line(
                dict(zip(labels, values, strict=True)),
                {"count": each.estimate, "share": each.estimate / release.rows},
                each,
            )
            for *values, each in zip(*labels.values(), intervals, strict=True)
        ]
    )
