"""What a new column type must answer, as the recipe of CONTRIBUTING.md says it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from dprap.schema import Column
from dprap.schema.columns.base import BaseColumn
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.columns.listed import ListedColumn

RECIPES = Path(__file__).parents[2] / "CONTRIBUTING.md"


def left_open(kind: type[BaseColumn]) -> set[str]:
    """What a class leaves to its subclasses: methods that raise NotImplementedError, and settings
    of the class without a value.
    """
    found = {
        name
        for base in kind.__mro__
        for name, hint in inspect.get_annotations(base).items()
        if "ClassVar" in str(hint) and not hasattr(kind, name)
    }
    for name in dir(kind):
        given = inspect.getattr_static(kind, name, None)
        code = getattr(given, "func", None) or getattr(given, "fget", None) or given
        if not name.startswith("_") and inspect.isfunction(code):
            lines = inspect.getsource(code).rstrip()
            if lines.endswith("raise NotImplementedError"):
                found.add(name)
    return found


@pytest.mark.parametrize(("kind", "column"), [(BinnedColumn, 2), (ListedColumn, 3)])
def test_the_recipe_names_what_a_column_type_must_answer(
    kind: type[BaseColumn], column: int
) -> None:
    rows = re.findall(r"^ +\|.*\|$", RECIPES.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[column])}
    assert left_open(kind) - {"is_ordered"} <= named
    assert all(hasattr(kind, name) or name in left_open(kind) for name in named)


# A type that takes text alone has no arrays of values, and one with bins needs no intervals.
MAY_STAY_OPEN = {
    "declared_edges",
    "interval_levels",
    "parse_plain",
    "place_array",
    "typed_in_units",
}


@pytest.mark.parametrize("kind", get_args(Column))
def test_every_type_answers_all_of_it(kind: type[BaseColumn]) -> None:
    assert left_open(kind) <= MAY_STAY_OPEN
