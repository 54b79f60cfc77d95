"""Where the codes of numeric columns lie for halfspaces: the representative values of the schema,
scaled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dprap.queries import Family, Halfspace
from dprap.queries.halfspace import Points, scaled
from dprap.schema import Column, Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.workload import Workload


def with_points(workload: Workload, schema: Schema) -> Workload:
    """The workload with points for all halfspaces that have none.

    They follow from the schema, which is public.

    Args:
        workload: A workload over the schema's domain.
        schema: Its columns; of those without bins, the intervals that a run has found.
    """
    return replace(
        workload, families=tuple(_placed(family, schema) for family in workload.families)
    )


def _placed(family: Family, schema: Schema) -> Family:
    if not isinstance(family, Halfspace) or family.points is not None:
        return family
    return replace(family, points=tuple(_points(schema.columns[name]) for name in family.numeric))


def _points(column: Column) -> Points:
    """Representative values, or evenly spread codes where values are no numbers; a missing value
    has no point.
    """
    if isinstance(column, BinnedColumn):
        values, regular = column.representative_values.astype(np.float64), column.regular
    else:
        regular = column.size - (column.null_code is not None)
        values = np.arange(regular, dtype=np.float64)
    return scaled(values, missing=column.size - regular)
