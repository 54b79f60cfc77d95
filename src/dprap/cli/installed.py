"""Commands that installed packages add, by entry points of the group `dprap.commands`.

They are looked up only where help is asked for or a command is not one of dprap's own, so that no
other command waits for it. An entry point names a `typer.Typer`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import typer

from dprap.cli.summaries import WholeSummaries, summarised
from dprap.errors import DprapError, SettingsError
from dprap.plugins import COMMANDS, installed_names, load_installed

PACKAGE_OF = {"bench": "dprap-bench"}
"""Commands that people will look for, and the package that each comes with."""


class WithInstalledCommands(WholeSummaries):
    """dprap's own commands, then those of installed packages."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, dprap's own first."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in installed_names(COMMANDS) if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name, or None. dprap's own cannot be replaced."""
        return super().get_command(ctx, cmd_name) or summarised(_installed(cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run; where a known package is missing, the error says which."""
        package = PACKAGE_OF.get(args[0]) if args else None
        if package is not None and self.get_command(ctx, args[0]) is None:
            ctx.fail(
                f"No such command {args[0]!r}. It comes with the package {package}: install"
                f" {package}."
            )
        return super().resolve_command(ctx, args)


def _installed(name: str) -> Any:
    try:
        found = load_installed(COMMANDS, name)
        if found is None:
            return None
        command, package = found
        if not isinstance(command, typer.Typer):
            raise SettingsError(
                f"command {name!r} of package {package} is no typer.Typer. Its author must register"
                " one."
            )
    except DprapError as error:
        return _failing(name, error)
    return typer.main.get_command(command)


def _failing(name: str, error: DprapError) -> Any:
    """A command that says what is wrong with its package, so that help on the others still
    works.
    """
    app = typer.Typer(rich_markup_mode=None)

    @app.command(
        name,
        help=str(error),
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def fail() -> NoReturn:
        raise error

    return typer.main.get_command(app)
