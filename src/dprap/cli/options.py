"""Options of commands: those of a run, made from the fields of `RunOptions`, and a few that only
the command line has.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dprap.runs.options import ABOUT, DEFAULTS, SETTING_FLAGS

SchemaFile = Annotated[
    Path, typer.Option("--schema", help="The public schema (YAML, JSON or TOML).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")]
# `--rows` are rows of a synthetic table, in `synth` and `resume`. `plan` and `demo` have called the
# records of a private table so before; scripts that still do go on working.
RowsForRecords = Annotated[
    int | None, typer.Option("--rows", hidden=True, help="The former name of --records.")
]
AnchorOption = Annotated[str | None, typer.Option("--anchor", help=ABOUT["anchor"].help)]

_KINDS_OF_SETTINGS: dict[str, Any] = {"device": str}

# The name under which a command takes its options of a run.
_GIVEN = "given"
# That under which typer hands over what it knows of the command line.
_CONTEXT = "context"


def records_of(records: int | None, rows: int | None) -> int | None:
    """The number of records, under its name or its former one."""
    from dprap.errors import SettingsError

    if records is not None and rows is not None:
        raise SettingsError("--rows is the former name of --records here. Leave it out.")
    return rows if records is None else records


def takes(
    names: Iterable[str], *, helps: Mapping[str, str] | None = None, optional: Collection[str] = ()
) -> Callable[[Callable[..., None]], Any]:
    """Give a command the flags of some options of a run.

    The command has a parameter `given`, in whose place the flags stand in help. It is called with
    the values by name that were written on the command line, so that a default that somebody writes
    is told from none. `epsilon` is None where it may be left out and was.

    Args:
        names: Fields of `RunOptions`. `settings` stands for `--set` and the flags of single
            settings.
        helps: Other explanations, by name, for a command that only changes these options.
        optional: Options without a default that may be left out; their value is then None.
    """
    chosen = tuple(names)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        flags = [parameter for name in chosen for parameter in _parameters(name, helps, optional)]
        spread = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, held in own.items()
            for parameter in (flags if name == _GIVEN else [held])
        ]
        context = inspect.Parameter(
            _CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
        )

        @functools.wraps(command)
        def call(**values: Any) -> None:
            context: typer.Context = values.pop(_CONTEXT)
            written = {name for name in values if _is_written(context, name)}
            given = {name: _joined(values.pop(name)) for name in chosen if name != "settings"}
            given = {
                name: value
                for name, value in given.items()
                if name in written or name not in DEFAULTS
            }
            if "settings" in chosen:
                given["settings"] = _settings(values)
            if helps is not None:
                given = {name: value for name, value in given.items() if value is not None}
            command(**values, **{_GIVEN: given})

        taken = [*spread, context]
        call.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
        return call

    return decorate


def _parameters(
    name: str, helps: Mapping[str, str] | None, optional: Collection[str]
) -> list[inspect.Parameter]:
    """The parameters of a command for one option of a run."""
    if name == "settings":
        single = [
            _parameter(
                setting,
                _KINDS_OF_SETTINGS.get(setting, int) | None,
                typer.Option("--" + setting.replace("_", "-"), help=text),
                None,
            )
            for setting, text in SETTING_FLAGS.items()
        ]
        general = typer.Option(
            "--set",
            help="Any setting of the method; several times for several.",
            metavar="NAME=VALUE",
        )
        return [*single, _parameter("assignments", list[str] | None, general, None)]
    about = ABOUT[name]
    forms = [form for form in (about.flag, about.short) if form is not None]
    if about.kind is bool:
        forms[0] = f"{about.flag}/--no-{str(about.flag)[2:]}"
    text = about.help if helps is None else helps[name]
    option = typer.Option(
        *forms, help=text, metavar=about.metavar, autocompletion=_completion(name)
    )
    if helps is not None:
        return [_parameter(name, about.kind | None, option, None)]
    if about.repeatable:
        return [_parameter(name, list[str] | None, option, None)]
    default = DEFAULTS.get(name, None if name in optional else inspect.Parameter.empty)
    return [_parameter(name, about.kind | None if default is None else about.kind, option, default)]


def _completion(name: str) -> Callable[[str], list[str]] | None:
    """What a shell proposes for an option: the words that are allowed, or the installed methods."""

    def proposed(begun: str) -> list[str]:
        words: Iterable[str] = ABOUT[name].choices
        if name == "method":
            from dprap.mechanisms.registry import method_names

            words = method_names()
        return [word for word in words if word.startswith(begun)]

    return proposed if name == "method" or ABOUT[name].choices else None


def _parameter(name: str, kind: Any, option: Any, default: Any) -> inspect.Parameter:
    annotation: Any = Annotated[kind, option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _is_written(context: typer.Context, name: str) -> bool:
    """Whether a flag was written on the command line that is being carried out."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _joined(value: Any) -> Any:
    """The values of a flag that stands several times, as one text."""
    return ",".join(value) or None if isinstance(value, list) else value


def _settings(values: dict[str, Any]) -> dict[str, Any]:
    """Take the settings out of the values of a command line."""
    from dprap.errors import SettingsError

    single = {name: values.pop(name) for name in SETTING_FLAGS}
    settings = {name: value for name, value in single.items() if value is not None}
    for assignment in values.pop("assignments") or []:
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise SettingsError("--set takes NAME=VALUE, for example --set rounds=3.")
        if name in settings:
            raise SettingsError(f"the setting {name} is given twice. Give it once.")
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = text  # a word
    return settings
