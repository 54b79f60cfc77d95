"""Write the command reference, docs/commands.md, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from dprap.cli.app import app

EXIT_CODES = """## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | unexpected failure |
| 2 | wrong usage |
| 3 | schema, data, workload or settings refused, or a file that cannot be used; nothing was spent unless the message says so |
| 4 | budget or ledger refused |
| 130 | stopped by you or by a signal; a run that had begun can be resumed |

Results go to stdout, everything else to stderr. `--json` prints results for machines, `--quiet` says only what went
wrong, `--yes` does not ask, and `NO_COLOR` is respected.
"""


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command below a command line with the words that call it, at any depth; itself where
    nothing is below.
    """
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), f"{path} {name}")


def reference() -> str:
    """The reference as Markdown; raises if a command has no help."""
    parts = ["# Commands", "", "Made from the command line's own help.", ""]
    for path, command in commands(typer.main.get_command(app), "dprap"):
        parts += section(path, command)
    return "\n".join([*parts, EXIT_CODES])


def section(path: str, command: Any) -> list[str]:
    """One command."""
    if not command.help:
        raise SystemExit(f"{path} has no help text.")
    arguments = [
        parameter for parameter in command.params if parameter.param_type_name == "argument"
    ]
    options = [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name != "help"
    ]
    usage = " ".join(
        [path, *(named(argument) for argument in arguments), *(["[OPTIONS]"] if options else [])]
    )
    rows = [(f"`{named(argument)}`", argument.help, "") for argument in arguments]
    rows += [(written(option), option.help, default(option)) for option in options]
    lines = [
        f"## {path}",
        "",
        command.help,
        "",
        "```",
        usage,
        "```",
        "",
        "| | | default |",
        "|---|---|---|",
    ]
    return [*lines, *(f"| {name} | {escaped(text)} | {value} |" for name, text, value in rows), ""]


def named(argument: Any) -> str:
    """An argument as it is written."""
    name = (argument.metavar or argument.name.upper()).strip("{}")
    return name if argument.required else f"[{name}]"


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
