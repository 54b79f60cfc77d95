"""Imports that nobody waits for: names of a package that are imported when they are first used, and
many at once.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def importing() -> Iterator[None]:
    """Import much at once.

    Looking for garbage in it, as Python does every 700 objects, takes a sixth of the time. What was
    imported stays to the end, so that later searches, the last one when Python ends among them,
    pass it by.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def imported_when_used(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, by the module that each name comes from.

    A module must not bear the name of what it holds: Python binds modules to their package when
    they are imported.

    >>> imported_when_used("dprap", {"Domain": "dprap.domain"})("Domain")
    <class 'dprap.domain.Domain'>
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return get
