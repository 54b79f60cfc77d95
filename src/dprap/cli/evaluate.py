"""`dprap evaluate`: compare a release with the private table. What it writes is NOT PRIVATE."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o


def evaluate(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    table: Annotated[str, typer.Argument(help="The private table it was made from.", metavar="TABLE")],
    as_json: o.Json = False,
) -> None:
    """Measure the true errors of a release. The result is NOT PRIVATE: for the steward's eyes."""
    from dataclasses import asdict

    from dprap.cli.output import print_json, results
    from dprap.evaluate import evaluate_release
    from dprap.release import load
    from dprap.sources.open import open_source

    loaded = load(release)
    errors = evaluate_release(loaded, open_source(table, loaded.schema))
    if as_json:
        print_json({"NOT PRIVATE": True, **{name: asdict(value) for name, value in errors.items()}})
        return
    results.print("NOT PRIVATE: these figures depend on the private table without noise. Do not publish them.")
    for name, value in errors.items():
        results.print(
            f"{name:<10} max {value.max:.5f}   TV {value.tv:.5f}   mean {value.mean:.3e}   RMSE {value.rmse:.3e}"
        )
