"""Groups of commands whose list shows the first sentence of each command's help, whole."""

from __future__ import annotations

import re
from typing import Any

import typer.core


class WholeSummaries(typer.core.TyperGroup):
    """A group that wraps long summaries where its base class would cut them off."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name, or None."""
        return summarised(super().get_command(ctx, cmd_name))


def summarised(command: Any) -> Any:
    """The command with the first sentence of its help as summary; None for None."""
    if command is not None and command.help and not command.short_help:
        paragraph = " ".join(command.help.split("\n\n")[0].split())
        command.short_help = re.split(r"(?<=\.)\s", paragraph)[0]
    return command
