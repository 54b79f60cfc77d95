"""A published table beside the private one, by value: everything that people ask of it.

NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dprap.errors import SettingsError
from dprap.evaluate.column_differences import ColumnComparison, compare_columns
from dprap.evaluate.models import ModelComparison, compare_models, default_target
from dprap.evaluate.nearest import NearestRecords, nearest_records
from dprap.evaluate.pair_differences import PairComparison, compare_pairs, grouped
from dprap.evaluate.records_by_value import TableValues, read_values
from dprap.evaluate.sdmetrics import QualityScores, quality_scores
from dprap.evaluate.subgroups import SubgroupError, subgroup_errors
from dprap.release.release import Release


@dataclass(frozen=True)
class TableComparison:
    """What a published table keeps of the private one. NOT PRIVATE.

    Args:
        columns: Every column, in the order of the schema.
        pairs: Every pair of columns, the least alike first.
        overall_tv: The total variation distance of a column, mean over the columns.
        subgroups: The same among the records of one value of one column, the worst first.
        broken_constraints: For each constraint of the schema, the shares of private and of
            published records that break it.
        nearest: Distances of records to their nearest ones.
        models: Models trained on either table; empty where scikit-learn is missing.
        quality: The scores of SDMetrics, where it is installed.
        records: The numbers of private and of published records that were compared.
    """

    columns: tuple[ColumnComparison, ...]
    pairs: tuple[PairComparison, ...]
    overall_tv: float
    subgroups: tuple[SubgroupError, ...]
    broken_constraints: tuple[tuple[float, float], ...]
    nearest: NearestRecords
    models: tuple[ModelComparison, ...]
    quality: QualityScores | None
    records: tuple[int, int]

    def as_plain(self) -> dict[str, Any]:
        """The comparison as plain data for JSON."""
        return asdict(self)


def compare_with_release(
    release: Release,
    table: Any,
    *,
    targets: Sequence[str] | None = None,
    ignored: Sequence[str] = (),
) -> TableComparison:
    """Compare the published table of a release with the private table, by value. NOT PRIVATE.

    Args:
        release: The release.
        table: The private table: in memory, a file, a folder or a glob.
        targets: Columns that models predict; by default one that looks like a target.
        ignored: Columns outside the schema that the private table has too, such as ids of persons.

    Returns:
        The comparison.

    """
    private = read_values(table, release.schema, ignored=ignored)
    published = read_values(release.table(format="arrow"), release.schema)
    return compare_tables(private, published, targets=targets)


def compare_tables(
    private: TableValues, published: TableValues, *, targets: Sequence[str] | None = None
) -> TableComparison:
    """Compare two tables of one schema, by value. NOT PRIVATE."""
    groups = grouped(private, published)
    overall, subgroups = subgroup_errors(private, groups)
    return TableComparison(
        tuple(compare_columns(private, published)),
        tuple(compare_pairs(private, published, groups)),
        overall,
        tuple(subgroups),
        _broken(private, published),
        nearest_records(private, published),
        _models(private, published, targets),
        quality_scores(private, published),
        (private.codes.rows, published.codes.rows),
    )


def _broken(private: TableValues, published: TableValues) -> tuple[tuple[float, float], ...]:
    found = []
    for constraint in private.schema.code_constraints:
        one, other = (
            float(
                np.mean(
                    constraint.broken(*(table.codes.column(name) for name in constraint.columns))
                )
            )
            for table in (private, published)
        )
        found.append((one, other))
    return tuple(found)


def _models(
    private: TableValues, published: TableValues, targets: Sequence[str] | None
) -> tuple[ModelComparison, ...]:
    """Models for the targets that were asked for, else for one that looks like it, where they can
    be.
    """
    if targets is not None:
        return tuple(compare_models(private, published, targets))
    target = default_target(private)
    try:
        return () if target is None else tuple(compare_models(private, published, [target]))
    except SettingsError:  # scikit-learn is not installed, and nobody asked for a model
        return ()
