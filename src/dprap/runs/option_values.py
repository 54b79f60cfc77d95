"""What one option of a run may be: its kind, the check of a value, and the forms in which paths are
kept.

The options themselves are declared in `dprap.runs.options`. This module imports nothing heavy
either.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dprap.arguments import unquoted
from dprap.errors import SettingsError

# The kind of an option that names several columns: a list on the command line, kept as a tuple.
Names = list[str]

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    Mapping: "a mapping",
}


@dataclass(frozen=True)
class About:
    """What is known of an option besides its name and default.

    Args:
        help: The explanation, for `--help` and for Python.
        kind: What its values are: bool, int, float, str, Path or Mapping.
        flag: How the command line writes it; None where it has no flag.
        short: A short form of the flag.
        metavar: How help names a value.
        choices: The words that are allowed.
        least: The smallest value that is allowed.
        also: What else Python may give.
        kept: Whether a job file keeps it.
        repeatable: Whether the command line may name several, one flag each; commas stand between
            them.
        planned: Whether it decides about a plan.
        since: The version of job files that first has it. Files of earlier versions mean its
            default.
    """

    help: str
    kind: Any
    flag: str | None
    short: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: int | None = None
    also: type | None = None
    kept: bool = True
    repeatable: bool = False
    planned: bool = True
    since: int = 1


def is_of_kind(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; numbers of NumPy count as numbers, and truth values do not."""
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    return isinstance(value, str | Path if kind is Path else kind)


def checked(name: str, about: About, value: Any, default: Any) -> Any:
    """The value as it is kept, or SettingsError."""
    if value is None and default is None:
        return None
    shown = about.flag or name
    if about.choices == ("yes", "no") and isinstance(value, bool):
        return about.choices[not value]  # as Python says it
    if about.choices and not (isinstance(value, str) and value in about.choices):
        if name == "table_format":
            raise SettingsError(f"{shown} must be parquet or csv, not {value!r}.")
        raise SettingsError(f"{shown} must be one of {', '.join(about.choices)}.")
    if about.also is not None and isinstance(value, about.also):
        return value
    if about.kind is Names:
        return _names(shown, value)
    if name == "method" and not isinstance(value, str):
        raise SettingsError(
            f"{shown} must be the name of a method, not {type(value).__name__}. A mechanism of your"
            " own gets its name by an entry point of the group dprap.mechanisms."
        )
    if not is_of_kind(value, about.kind):
        raise SettingsError(
            f"{shown} must be {_KINDS[about.kind]}, not"
            f" {type(value).__name__}.{unquoted(name, value)}"
        )
    if about.least is not None and value < about.least:
        raise SettingsError(f"{shown} must be at least {about.least}, not {value}.")
    if about.kind is int:
        return int(value)
    if about.kind is str:
        return str(value)  # of an enumeration, its value
    if about.kind is Mapping:
        return dict(value)
    if about.kind is float and not isinstance(value, Fraction):
        try:
            return float(value)
        except OverflowError:
            raise SettingsError(f"{shown} is too large a number.") from None
    return value


def _names(shown: str, value: Any) -> tuple[str, ...] | None:
    """Names of columns, each once, or None for none."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"{shown} must be the name of a column or a list of names.")
    return tuple(dict.fromkeys(str(name) for name in names)) or None


def relative(path: str, folder: Path) -> str:
    """A path as it is kept in a folder; an address stays as it is."""
    return path if "://" in path else os.path.relpath(path, folder)


def absolute(path: str, folder: Path) -> str:
    """A path that was kept in a folder."""
    return path if "://" in path else os.path.normpath(folder / path)


def real(path: Any) -> Any:
    """A path that means the same from every folder; an address or an object in memory stays as it
    is.

    Raises:
        SettingsError: If no file can have this name.
    """
    if not isinstance(path, str | Path) or "://" in str(path):
        return path
    try:
        return os.path.realpath(path)
    except ValueError:
        raise SettingsError(
            "a path holds a sign that no file's name can have. Check the path."
        ) from None
