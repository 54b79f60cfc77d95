"""The options of a run in the signatures and docstrings of Python functions that take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from dprap.runs.options import ABOUT, DEFAULTS, RunOptions
from dprap.runs.python_messages import in_python

_Made = TypeVar("_Made", bound=Callable[..., Any])


def takes_run_options(made: _Made) -> _Made:
    """Show the options of a run in a signature, in place of `epsilon` and `**options`, and explain
    them in the docstring.
    """
    shown = inspect.signature(made)
    own = [
        held
        for held in shown.parameters.values()
        if held.kind is not held.VAR_KEYWORD and held.name != "epsilon"
    ]
    annotations = RunOptions.__annotations__
    flags = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=DEFAULTS.get(name, inspect.Parameter.empty),
            annotation=annotations[name],
        )
        for name in ABOUT
    ]
    positional = [held for held in own if held.kind is not held.KEYWORD_ONLY]
    named = [held for held in own if held.kind is held.KEYWORD_ONLY]
    made.__signature__ = shown.replace(parameters=[*positional, *flags, *named])  # type: ignore[attr-defined]
    lines = "\n".join(f"    {name}: {in_python(about.help)}" for name, about in ABOUT.items())
    made.__doc__ = inspect.cleandoc(made.__doc__ or "").replace(
        "    **options: The options of a run.", lines
    )
    return made
