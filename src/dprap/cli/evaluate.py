"""`dprap evaluate`: compare a release with the private table. What it writes is NOT PRIVATE."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.cli import options as o

# How the private table is read.
READING = ("engine", "database_table", "person_column", "excess")


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
    as_json: o.Json = False,
) -> None:
    """Measure the true errors of a release and show it beside the private table. The result is NOT PRIVATE."""
    from dataclasses import asdict

    from dprap.cli.output import print_json, results
    from dprap.errors import SettingsError
    from dprap.evaluate import evaluate_release
    from dprap.release import load
    from dprap.report import evaluate_report
    from dprap.runs.carry_out import open_table
    from dprap.runs.options import RunOptions

    loaded = load(release)
    folder = release.resolve()
    path = report or folder.with_name(f"{folder.name}-NOT-PRIVATE.html")
    if path.resolve().is_relative_to(folder):
        raise SettingsError(
            f"{path} lies in the release, which is made to be published. Choose a --report outside of it."
        )
    made_with = loaded.privacy
    options = RunOptions(
        epsilon=made_with.epsilon,
        neighbors=made_with.relation,
        max_rows_per_person=made_with.max_rows_per_person,
        **given,
    )
    source = open_table(table, loaded.schema, options)
    errors = evaluate_release(loaded, source)
    evaluate_report(loaded, source, path, errors=errors)
    if as_json:
        found = {name: asdict(value) for name, value in errors.items()}
        print_json({"NOT PRIVATE": True, "report": str(path), **found})
        return
    results.print("NOT PRIVATE: these figures depend on the private table without noise. Do not publish them.")
    for name, value in errors.items():
        tv = "" if value.tv is None else f"TV {value.tv:.5f}   "
        results.print(f"{name:<10} max {value.max:.5f}   {tv}mean {value.mean:.3e}   RMSE {value.rmse:.3e}")
    results.print(f"shown in {path} (NOT PRIVATE)", markup=False)
