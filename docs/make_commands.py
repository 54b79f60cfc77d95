"""Write the command reference, docs/commands.md, from the command line itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from dprap.cli.app import app


def reference() -> str:
    """The reference as Markdown; raises if a command has no help."""
    parts = [
        "# Commands",
        "",
        "Made from the command line's own help. Exit codes are on the [first page](index.md#exit-codes).",
        "",
    ]
    root: Any = typer.main.get_command(app)
    for name in root.list_commands(None):
        command = root.get_command(None, name)
        below = getattr(command, "commands", None)
        if below is None:
            parts += section(f"dprap {name}", command)
        else:
            for inner, child in below.items():
                parts += section(f"dprap {name} {inner}", child)
    return "\n".join(parts)


def section(path: str, command: Any) -> list[str]:
    """One command."""
    if not command.help:
        raise SystemExit(f"{path} has no help text.")
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [
        parameter for parameter in command.params if parameter.param_type_name == "option" and parameter.name != "help"
    ]
    usage = " ".join([path, *(named(argument) for argument in arguments), *(["[OPTIONS]"] if options else [])])
    rows = [(f"`{named(argument)}`", argument.help, "") for argument in arguments]
    rows += [(written(option), option.help, default(option)) for option in options]
    lines = [f"## {path}", "", command.help, "", "```", usage, "```", "", "| | | default |", "|---|---|---|"]
    return [*lines, *(f"| {name} | {escaped(text)} | {value} |" for name, text, value in rows), ""]


def named(argument: Any) -> str:
    """An argument as it is written."""
    return (argument.metavar or argument.name.upper()).strip("{}")


def written(option: Any) -> str:
    """An option with its short forms."""
    return " ".join(f"`{form}`" for form in [*option.opts, *option.secondary_opts])


def default(option: Any) -> str:
    """An option's default, where there is one to speak of."""
    if option.required:
        return "required"
    value = option.default
    return "" if value is None or value is False or callable(value) else f"`{value}`"


def escaped(text: str) -> str:
    """Text for a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(reference(), encoding="utf-8")
