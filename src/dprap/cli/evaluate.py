"""`dprap evaluate`: compare a release with the private table. What it writes is NOT PRIVATE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprap.cli import options as o

if TYPE_CHECKING:
    from dprap.evaluate.tables import TableComparison

# How the private table is read.
READING = ("engine", "database_table", "person_column", "excess")

# A larger share of values that a policy clipped or made null is worth a line.
_MANY_BEYOND = 0.01


@o.takes(READING)
def evaluate(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    table: Annotated[str, typer.Argument(help="The private table it was made from.", metavar="TABLE")],
    given: dict[str, Any],
    *,
    report: Annotated[
        Path | None,
        typer.Option(help="Where to write the page with the truth in it; default DIR-NOT-PRIVATE.html, beside DIR."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="Column that models predict, trained on either table; may be repeated.", metavar="COLUMN"),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Measure the true errors of a release and show it beside the private table. The result is NOT PRIVATE."""
    from dprap.cli.output import print_json, results
    from dprap.runs.published import compare, comparison_path

    path = comparison_path(release, report)
    found = compare(release, table, path, given, targets=target)
    if as_json:
        print_json({"NOT PRIVATE": True, "report": str(path), **found.as_plain()})
        return
    results.print("NOT PRIVATE: these figures depend on the private table without noise. Do not publish them.")
    for name, value in found.errors.items():
        tv = "" if value.tv is None else f"TV {value.tv:.5f}   "
        results.print(f"{name:<10} max {value.max:.5f}   {tv}mean {value.mean:.3e}   RMSE {value.rmse:.3e}")
    for line in _by_value(found.tables):
        results.print(line, markup=False)
    results.print(f"shown in {path} (NOT PRIVATE)", markup=False)


def _by_value(tables: TableComparison | None) -> list[str]:
    """The worst column and pair, the models and the scores, in a few lines."""
    if tables is None:
        return ["values   not compared: the records stay where they are"]
    column = min(tables.columns, key=lambda each: each.similarity)
    lines = [f"columns    worst {column.name}: similarity {column.similarity:.3f}"]
    if tables.pairs:
        lines.append(
            f"pairs      worst {' × '.join(tables.pairs[0].columns)}: similarity {tables.pairs[0].similarity:.3f}"
        )
    lines += [
        f"beyond     {each.name}: {each.beyond:.1%} of the values are unreadable or out of bounds"
        for each in tables.columns
        if each.beyond > _MANY_BEYOND
    ]
    lines += [
        f"model      {model.target}: {model.score} {model.trained_on_published:.3f} trained on the published table, "
        f"{model.trained_on_private:.3f} on private records"
        for model in tables.models
    ]
    if tables.quality is not None:
        lines.append(f"SDMetrics  quality {tables.quality.quality:.3f}")
    return lines
