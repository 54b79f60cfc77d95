"""What the command line shows: results on stdout, everything else on stderr; public quantities only."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from dprap.mechanisms.result import Progress, ProgressCallback

messages = Console(stderr=True, highlight=False, soft_wrap=True)
results = Console(highlight=False, soft_wrap=True)


def complain(text: str) -> None:
    """Print an error."""
    messages.print(f"[bold red]error:[/] {_escaped(text)}")


def note(text: str, *, quiet: bool = False) -> None:
    """Print something the user may want to know."""
    if not quiet:
        messages.print(_escaped(text))


def print_json(data: Any) -> None:
    """Print machine output."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[ProgressCallback]:
    """Show how far a run is: a live line on a terminal, a plain line per stage and round otherwise."""
    if quiet:
        yield lambda _: None
    elif messages.is_terminal:
        yield from _live()
    else:
        started = time.monotonic()
        yield lambda progress: messages.print(f"{time.monotonic() - started:7.1f} s  {_escaped(_line(progress))}")


def _live() -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[stage]:<10}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Bar(*columns, console=messages, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task("", total=progress.total, stage=progress.stage, detail="")
            bar.update(tasks[progress.stage], completed=progress.done, total=progress.total, detail=progress.detail)

        yield show


def _line(progress: Progress) -> str:
    return f"{progress.stage} {progress.done}/{progress.total} {progress.detail}".rstrip()


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
