"""The commands in one application."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Annotated, cast

import typer

from dprap.cli.installed import WithInstalledCommands
from dprap.version import __version__

COMMANDS = (
    "demo",
    "schema",
    "plan",
    "synth",
    "resume",
    "answer",
    "report",
    "statement",
    "evaluate",
    "ledger",
    "studio",
)
"""dprap's own commands, each in the module of its name: a function of that name, or an `app`."""


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Some commands in one application.

    A command that is asked for by name need not wait for the others: reading the options of all
    takes longer than answering a question.
    """
    app = typer.Typer(
        name="dprap",
        cls=WithInstalledCommands,
        help="Publish statistics and a synthetic table under differential privacy.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names:
        module = importlib.import_module(f"dprap.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(getattr(module, name))
    app.callback()(main)
    return app


def application_for(arguments: list[str]) -> typer.Typer:
    """The application for a command line: the command that it begins with, or all of them."""
    return application(arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dprap {__version__}")
        raise typer.Exit


def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Publish statistics and a synthetic table under differential privacy."""


def __getattr__(name: str) -> typer.Typer:
    """`app`, all commands, made when it is first asked for."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = application()
    return cast("typer.Typer", globals()["app"])
