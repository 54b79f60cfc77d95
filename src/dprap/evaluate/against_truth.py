"""A release against the private table: the one door. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dprap.display import ShownAsLines
from dprap.evaluate.error_metrics import Errors, evaluate
from dprap.evaluate.table_comparison import TableComparison, compare_with_release
from dprap.evaluate.worst_cells import WorstCell, worst_cells
from dprap.release.release import Release
from dprap.sources import CountSource

# A larger share of values that a policy clipped or made null is worth a line.
_MANY_BEYOND = 0.01


@dataclass(frozen=True, repr=False)
class Evaluation(ShownAsLines):
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

    def lines(self) -> list[str]:
        """The evaluation in a few lines for people; the first says that it is NOT PRIVATE."""
        figures = "these figures depend on the private table without noise"
        found = [f"NOT PRIVATE: {figures}. Do not publish them."]
        for name, value in self.errors.items():
            tv = "" if value.tv is None else f"TV {value.tv:.5f}   "
            found.append(
                f"{name:<10} max {value.max:.5f}   {tv}mean {value.mean:.3e}   RMSE"
                f" {value.rmse:.3e}"
            )
        return [*found, *_by_value(self.tables)]

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
        return Evaluation(
            {"answers": evaluate(source, release.workload, release.workload_shares or ())}, (), None
        )
    codes = release.codes()
    errors = {
        "relaxed": evaluate(source, release.workload, release.relaxed),
        "synthetic": evaluate(source, release.workload, codes),
    }
    worst = tuple(worst_cells(source, release.workload, codes, release.schema))
    tables = (
        None
        if table is None
        else compare_with_release(release, table, targets=targets, ignored=ignored)
    )
    return Evaluation(errors, worst, tables)


def _by_value(tables: TableComparison | None) -> list[str]:
    """The worst column and pair, the models and the scores, in a few lines."""
    if tables is None:
        return ["values     not compared: there are none, or the records stay where they are"]
    column = min(tables.columns, key=lambda each: each.similarity)
    lines = [f"columns    worst {column.name}: similarity {column.similarity:.3f}"]
    if tables.pairs:
        lines.append(
            f"pairs      worst {' × '.join(tables.pairs[0].columns)}: similarity"
            f" {tables.pairs[0].similarity:.3f}"
        )
    lines += [
        f"beyond     {each.name}: {each.beyond:.1%} of the values are unreadable or out of bounds"
        for each in tables.columns
        if each.beyond > _MANY_BEYOND
    ]
    lines += [
        f"model      {model.target}: {model.score} {model.trained_on_published:.3f} trained on the"
        f" published table, {model.trained_on_private:.3f} on private records"
        for model in tables.models
    ]
    if tables.quality is not None:
        lines.append(f"SDMetrics  quality {tables.quality.quality:.3f}")
    return lines
