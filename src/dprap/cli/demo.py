"""`dprap demo`: the whole job on the embedded example."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o
from dprap.runs.options import ABOUT

# A folder with anything else in it is somebody's own, and is not replaced.
_FILES_OF_A_DEMO = frozenset(
    (
        "release.json",
        "schema.yaml",
        "synthetic.parquet",
        "relaxed.npz",
        "measurements.parquet",
        "intervals.json",
        "report.html",
    )
)


def demo(
    out: Annotated[
        Path, typer.Option(help="Directory for the release; replaced if it is an earlier demo.")
    ] = Path("demo-release"),
    records: Annotated[int, typer.Option(help="Records of the example table.")] = 20_000,
    rows: o.RowsForRecords = None,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help=ABOUT["epsilon"].help)] = 1.0,
    quiet: o.Quiet = False,
) -> None:
    """Run the whole job on an embedded, invented table and compare the result with it."""
    import shutil
    import time

    from dprap.cli.output import note, print_line, progress_display
    from dprap.datasets import example, example_schema
    from dprap.errors import SettingsError
    from dprap.evaluate import evaluate
    from dprap.report import write_report
    from dprap.runs.describe import plan_lines, release_lines
    from dprap.runs.execute import execute
    from dprap.runs.options import RunOptions
    from dprap.runs.plan import make_plan
    from dprap.schema import Schema
    from dprap.sources.open import open_source

    records = records if rows is None else rows
    schema = example_schema()
    if out.exists():
        kept = out / "schema.yaml"
        names = {path.name for path in out.iterdir()} if out.is_dir() else set()
        if (
            not {"release.json", "schema.yaml"} <= names <= _FILES_OF_A_DEMO
            or Schema.load(kept) != schema
        ):
            raise SettingsError(f"{out} exists and is not an earlier demo. Choose another --out.")
        shutil.rmtree(out)
    note(f"an invented table of {records:,} people, {len(schema.columns)} columns", quiet=quiet)
    source = open_source(example(records, seed=0), schema)
    plan = make_plan(schema, RunOptions(epsilon=epsilon), records=records)
    for line in plan_lines(plan):
        note(line, quiet=quiet)
    started = time.monotonic()
    with progress_display(quiet=quiet) as progress:
        release = execute(plan, source, progress=progress)
    release = release.save(out)
    write_report(release, out / "report.html")
    if quiet:
        return
    for line in release_lines(release, str(out), time.monotonic() - started):
        print_line(line)
    # the table is invented, so this may be shown
    found = evaluate(source, release.workload, release.codes())
    print_line(f"against the invented table: largest error {found.max:.4f}, mean {found.mean:.2e}")
    print_line(f"open {out}/report.html and {out}/synthetic.parquet, or ask:")
    print_line(f'  dprap answer {out} "age in 30..39" --by region')
