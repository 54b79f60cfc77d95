"""The progress of a run in a terminal or notebook, for Python; the command line has a display of
its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from dprap.errors import SettingsError
from dprap.mechanisms.result import Progress, ProgressCallback, silent

ShownProgress: TypeAlias = ProgressCallback | bool | None
"""A callback; True or False for a bar or none; None for a bar where somebody can see it."""


def check_progress(progress: Any) -> None:
    """Refuse what is no way to show progress.

    Raises:
        SettingsError: If it is neither a truth value, nor None, nor a function.

    """
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise SettingsError("progress must be True, False or a function that takes every step.")


@contextmanager
def shown(progress: ShownProgress) -> Iterator[ProgressCallback]:
    """A callback for the progress of a run, shown as long as the run lasts."""
    if progress is None:
        progress = _somebody_looks()
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield silent
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=not _in_notebook()), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(step: Progress) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bar.add_task(step.stage, total=step.total)
            bar.update(tasks[step.stage], completed=step.done, total=step.total)

        yield show


def _somebody_looks() -> bool:
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules
