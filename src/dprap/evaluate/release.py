"""A release against the private table: the one door. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dprap.evaluate.errors import Errors, evaluate
from dprap.evaluate.tables import TableComparison, compare_with_release
from dprap.evaluate.worst_cells import WorstCell, worst_cells
from dprap.release.release import Release
from dprap.sources import CountSource


@dataclass(frozen=True)
class Evaluation:
    """The true errors of a release, and its table beside the private one. NOT PRIVATE.

    Args:
        errors: Errors over the workload, of the fitted data ("relaxed") and of the published table
            ("synthetic"), or of "answers" alone where the release has no rows.
        worst: The queries that the published table answers worst.
        tables: Both tables by value; None where the records cannot be read by value.

    """

    errors: Mapping[str, Errors]
    worst: tuple[WorstCell, ...]
    tables: TableComparison | None

    def as_plain(self) -> dict[str, Any]:
        """The evaluation as plain data for JSON."""
        plain: dict[str, Any] = {name: asdict(value) for name, value in self.errors.items()}
        plain["worst_cells"] = [asdict(cell) for cell in self.worst]
        plain["tables"] = None if self.tables is None else self.tables.as_plain()
        return plain


def evaluate_release(
    release: Release,
    source: CountSource,
    table: Any = None,
    *,
    targets: Sequence[str] | None = None,
    ignored: Sequence[str] = (),
) -> Evaluation:
    """Measure a release against the private table. NOT PRIVATE.

    Args:
        release: The release.
        source: The private table as a count source.
        table: The same table to be read by value: in memory, a file, a folder or a glob. None
            where the records cannot be read (`dprap.sources.open.is_elsewhere`); then nothing is
            compared by value.
        targets: Columns that models predict; by default one that looks like a target.
        ignored: Columns outside the schema that the table has too, such as ids of persons.

    Returns:
        The evaluation.

    """
    if release.relaxed is None:
        return Evaluation({"answers": evaluate(source, release.workload, release.workload_shares or ())}, (), None)
    codes = release.codes()
    errors = {
        "relaxed": evaluate(source, release.workload, release.relaxed),
        "synthetic": evaluate(source, release.workload, codes),
    }
    worst = tuple(worst_cells(source, release.workload, codes, release.schema))
    tables = None if table is None else compare_with_release(release, table, targets=targets, ignored=ignored)
    return Evaluation(errors, worst, tables)
