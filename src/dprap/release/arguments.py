"""What people hand to the methods of a release, made into what was meant, or refused with what to
write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dprap.errors import SettingsError, WorkloadError
from dprap.limits import MAX_ROWS_IN_MEMORY, MAX_SEED
from dprap.queries import Family, Marginal, as_family
from dprap.schema import Schema


def whole_number(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """A whole number within bounds.

    >>> whole_number("rows", 10.0, least=1)
    10

    """
    if isinstance(value, str):
        raise SettingsError(
            f"{name} must be a whole number, not text. Write it without quotes, such as {name}=100."
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        shown = value if isinstance(value, bool | float) else type(value).__name__
        raise SettingsError(f"{name} must be a whole number, not {shown}.")
    found = int(value)
    if found < least or (most is not None and found > most):
        upper = "" if most is None else f" and at most {most:,}"
        raise SettingsError(f"{name} must be at least {least}{upper}; it is {found:,}.")
    return found


def rows_in_memory(rows: Any) -> int:
    """A number of rows of a table that is made in memory."""
    found = whole_number("rows", rows, least=1)
    if found > MAX_ROWS_IN_MEMORY:
        raise SettingsError(
            f"a table in memory has at most {MAX_ROWS_IN_MEMORY:,} rows; {found:,} asked for. "
            "`save` writes longer ones piece by piece."
        )
    return found


def seed_or(seed: Any, default: int) -> int:
    """A seed of public randomness; the default for None."""
    return default if seed is None else whole_number("seed", seed, least=0, most=MAX_SEED)


def names_of(name: str, given: Any) -> tuple[str, ...]:
    """Names of columns: one, several, or none for None."""
    found = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(found, Sequence) or not all(isinstance(each, str) for each in found):
        raise SettingsError(f"{name} must be the name of a column, or a list of names.")
    return tuple(found)


def question_text(given: Any) -> str:
    """A question."""
    if not isinstance(given, str):
        raise WorkloadError(
            'a question is text, such as "age >= 65" or "mean income by region", not'
            f" {type(given).__name__}."
        )
    return given


def family_in(schema: Schema, given: Any) -> Family:
    """A query family as it is; a column, or several in a list or a text such as "age, sex", as
    their marginal.

    Raises:
        WorkloadError: If it is none of these, or names a column that there is not.
    """
    if isinstance(given, str) and given not in schema.columns:
        parts = tuple(part.strip() for part in re.split(r"[,×]", given))
        if len(parts) > 1 and all(part in schema.columns for part in parts):
            return Marginal(parts)
        if re.search(r"[=<>]| in | by ", given):
            raise WorkloadError(
                f"{given!r} is a question, not a marginal. Ask it with `ask`; `answer` takes"
                " columns, such as 'age' or ('age', 'sex')."
            )
    found = as_family(given)
    schema.domain.shape_of(found.columns)  # refuses unknown columns
    return found


def families_in(schema: Schema, given: Any) -> list[Family]:
    """Query families: a workload, one family or marginal, or several of them in a list."""
    if isinstance(given, str | Family) or not isinstance(given, Iterable):
        return [family_in(schema, given)]
    return [family_in(schema, each) for each in given]
