"""The commands."""

from __future__ import annotations

from typing import Annotated

import typer

from dprap.cli import (
    answer,
    demo,
    evaluate,
    ledger,
    plan,
    report,
    resume,
    schema,
    statement,
    studio,
    synth,
)
from dprap.cli.installed import WithInstalledCommands
from dprap.version import __version__

app = typer.Typer(
    name="dprap",
    cls=WithInstalledCommands,
    help="Publish statistics and a synthetic table under differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.add_typer(schema.app, name="schema")
app.command("plan")(plan.plan)
app.command("synth")(synth.synth)
app.command("resume")(resume.resume)
app.command("answer")(answer.answer)
app.command("report")(report.report)
app.command("statement")(statement.statement)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(ledger.app, name="ledger")
app.command("studio")(studio.studio)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dprap {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Publish statistics and a synthetic table under differential privacy."""
