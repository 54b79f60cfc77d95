"""What Python callers hand over where a path, a number or names of columns are meant.

The command line reads these from text; in Python anything may come, so the type is checked where a
value enters, with the same one-line errors.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dprap.errors import DprapError, SettingsError, WorkloadError

_TEXT = frozenset({str})


def as_path(value: Any, what: str) -> Path:
    """A path.

    Args:
        value: What was given.
        what: What the path is of, for the message.

    Returns:
        The path.

    Raises:
        SettingsError: If it is neither text nor a path, or empty.

    >>> as_path("release", "the folder of a release").name
    'release'
    >>> as_path(5, "the folder of a release")
    Traceback (most recent call last):
    dprap.errors.SettingsError: the folder of a release must be a path, not int.

    """
    if not isinstance(value, str | Path):
        raise SettingsError(f"{what} must be a path, not {type(value).__name__}.")
    if value == "":
        raise SettingsError(f"{what} must be a path, not an empty text.")
    return Path(value)


def as_number(value: Any, name: str, error: type[DprapError] = SettingsError) -> Any:
    """A real number, as it was given; NumPy's numbers as Python's, which have all their digits.

    Args:
        value: What was given.
        name: The parameter.
        error: The kind of error to raise.

    Returns:
        The value.

    Raises:
        DprapError: If it is no number, of the kind `error`; the message says how to write one that
            stands in quotes.

    >>> as_number([1], "epsilon")
    Traceback (most recent call last):
    dprap.errors.SettingsError: epsilon must be a number, not list.

    """
    if type(value) is not bool and isinstance(value, numbers.Real):
        return value.item() if hasattr(value, "item") else value
    raise error(f"{name} must be a number, not {type(value).__name__}.{unquoted(name, value)}")


def as_truth(value: Any, name: str) -> bool:
    """True or false.

    Args:
        value: What was given.
        name: The parameter.

    Returns:
        The value.

    Raises:
        SettingsError: If it is anything else; a text such as "no" would count as true.

    >>> as_truth("no", "population")
    Traceback (most recent call last):
    dprap.errors.SettingsError: population must be true or false, not str.

    """
    if not isinstance(value, bool):
        raise SettingsError(f"{name} must be true or false, not {type(value).__name__}.")
    return value


def as_whole_number(value: Any, name: str, least: int = 0) -> int:
    """A whole number.

    Args:
        value: What was given.
        name: The parameter.
        least: The smallest that is allowed.

    Returns:
        The number.

    Raises:
        SettingsError: If it is no whole number, or too small.

    >>> as_whole_number(5, "rows")
    5
    >>> as_whole_number(-1, "rows")
    Traceback (most recent call last):
    dprap.errors.SettingsError: rows must be at least 0, not -1.

    """
    if type(value) is bool or not isinstance(value, numbers.Integral):
        raise SettingsError(
            f"{name} must be a whole number, not {type(value).__name__}.{unquoted(name, value)}"
        )
    if value < least:
        raise SettingsError(f"{name} must be at least {least}, not {value}.")
    return int(value)


def as_one_of(
    value: Any, name: str, choices: Iterable[str], error: type[DprapError] = SettingsError
) -> str:
    """One of some words.

    Args:
        value: What was given.
        name: The parameter.
        choices: The words.
        error: The kind of error to raise.

    Returns:
        The word.

    Raises:
        DprapError: If it is none of them, of the kind `error`.

    >>> as_one_of("jpg", "format", ["parquet", "csv"])
    Traceback (most recent call last):
    dprap.errors.SettingsError: format must be one of parquet, csv, not 'jpg'.

    """
    words = tuple(choices)
    if isinstance(value, str) and value in words:
        return value
    shown = repr(value) if isinstance(value, str) else type(value).__name__
    raise error(f"{name} must be one of {', '.join(words)}, not {shown}.")


def as_columns(value: Any, what: str) -> tuple[str, ...]:
    """Names of columns.

    Args:
        value: What was given.
        what: What has these columns, for the message.

    Returns:
        The names.

    Raises:
        WorkloadError: If it is no list of texts.

    >>> as_columns(["age", "sex"], "a marginal")
    ('age', 'sex')
    >>> as_columns([1], "a marginal")
    Traceback (most recent call last):
    dprap.errors.WorkloadError: a marginal takes a tuple of columns, such as ('age', 'sex').

    """
    if type(value) is tuple and _TEXT.issuperset(map(type, value)):
        return value  # at once: a large workload has a million of them
    if isinstance(value, str):
        raise WorkloadError(f"{what} takes a tuple of columns: ({value!r},).")
    names = tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(name, str) for name in names):
        raise WorkloadError(f"{what} takes a tuple of columns, such as ('age', 'sex').")
    return names


def unquoted(name: str, value: Any) -> str:
    """What to write instead of a number in quotes.

    Args:
        value: What was given.
        name: The parameter.

    Returns:
        A sentence that follows another one; empty where the value is no number in quotes.

    >>> unquoted("epsilon", "1e-3")
    ' Write it without quotes: epsilon=0.001.'

    """
    try:
        return (
            f" Write it without quotes: {name}={float(value):g}." if isinstance(value, str) else ""
        )
    except ValueError:
        return ""
