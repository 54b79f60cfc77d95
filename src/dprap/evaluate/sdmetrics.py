"""SDMetrics' quality report of a published table, where that package is installed. NOT PRIVATE."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dprap.evaluate.records_by_value import TableValues


@dataclass(frozen=True)
class QualityScores:
    """Scores from 0 to 1, higher is nearer to the private table. NOT PRIVATE."""

    quality: float
    column_shapes: float
    column_pair_trends: float


def quality_scores(private: TableValues, published: TableValues) -> QualityScores | None:
    """The scores of SDMetrics; None where it is not installed."""
    try:
        from sdmetrics.reports.single_table import QualityReport
    except ImportError:
        return None
    numbers = [name for name in private.numbers if name in published.numbers]
    columns = {
        name: {"sdtype": "numerical" if name in numbers else "categorical"}
        for name in private.schema.columns
    }
    report = QualityReport()
    with warnings.catch_warnings():  # of constant columns and the like
        warnings.simplefilter("ignore")
        report.generate(
            _frame(private, numbers),
            _frame(published, numbers),
            {"columns": columns},
            verbose=False,
        )
    scores = dict(report.get_properties().set_index("Property")["Score"])
    return QualityScores(
        float(report.get_score()),
        float(scores["Column Shapes"]),
        float(scores["Column Pair Trends"]),
    )


def _frame(values: TableValues, numbers: list[str]) -> Any:
    import pandas as pd

    found = {}
    for name in values.schema.columns:
        if name in numbers:
            found[name] = np.where(np.isfinite(values.numbers[name]), values.numbers[name], np.nan)
        else:
            found[name] = values.codes.column(name).astype(str).astype(object)
    return pd.DataFrame(found)
