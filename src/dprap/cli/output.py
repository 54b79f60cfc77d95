"""What the command line shows: results on stdout, everything else on stderr; public quantities
only.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from dprap.errors import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from dprap.mechanisms.result import Progress, ProgressCallback


@cache
def messages() -> Console:
    """Where everything but results is printed; Rich is imported when it is needed."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


@cache
def results() -> Console:
    """Where results are printed that have a layout; single lines need none (`print_line`).

    Names of columns may hold brackets and colons, so nothing is markup or an emoji here.
    """
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def print_line(text: str) -> None:
    """Print a line of results as it is, but for signs that would command the terminal."""
    sys.stdout.write(one_line(text) + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print an error."""
    from rich.text import Text

    messages().print(Text.assemble(("error:", "bold red"), " ", _shown(text)))


def note(text: str, *, quiet: bool = False) -> None:
    """Print something the user may want to know."""
    if not quiet:
        messages().print(_shown(text))


def show_every_sign() -> None:
    """Write signs that a stream cannot carry (ε on an ASCII terminal, half a surrogate) as escapes,
    not as an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(data: Any) -> None:
    """Print machine output."""
    readable = (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=not readable) + "\n")


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[ProgressCallback]:
    """Show how far a run is: a live line on a terminal, a plain line per stage and round
    otherwise.
    """
    if quiet:
        yield lambda _: None
    elif messages().is_terminal:
        yield from _live()
    else:
        started = time.monotonic()
        yield lambda progress: messages().print(
            f"{time.monotonic() - started:7.1f} s  {_shown(_line(progress))}"
        )


class Reading:
    """Shows how far a pass over the table is, on a terminal alone: its speed tells the size, which
    may be private.
    """

    def __init__(self) -> None:
        self.bar: Any = None
        self._task: Any = None

    def __call__(self, stage: str, share: float) -> None:
        """Take the share that is done."""
        if self.bar is None:
            return
        if self._task is None or self._task not in self.bar.task_ids:
            self._task = self.bar.add_task(
                "", total=100, stage="reading", detail="percent of the table"
            )
        self.bar.update(
            self._task, completed=int(100 * share), detail=f"percent of the table: {stage}"
        )

    @contextmanager
    def shown_in(self, bar: Any) -> Iterator[None]:
        """Show passes in this display while it lives."""
        self.bar, self._task = bar, None
        try:
            yield
        finally:
            self.bar = None


_reading = Reading()
# One for the process: a source keeps the callback for all its passes, and displays come and go.


@contextmanager
def reading_display(*, quiet: bool) -> Iterator[Reading]:
    """Show how far the first pass over a table is."""
    if quiet or not messages().is_terminal:
        yield _reading
        return
    with _bar() as bar, _reading.shown_in(bar):
        yield _reading


def _live() -> Iterator[ProgressCallback]:
    with _bar() as bar, _reading.shown_in(bar):
        tasks: dict[str, Any] = {}

        def show(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task(
                    "", total=progress.total, stage=progress.stage, detail=""
                )
            bar.update(
                tasks[progress.stage],
                completed=progress.done,
                total=progress.total,
                detail=progress.detail,
            )

        yield show


def _bar() -> Any:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[stage]:<10}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    return Bar(*columns, console=messages(), transient=True)


def _line(progress: Progress) -> str:
    return f"{progress.stage} {progress.done}/{progress.total} {progress.detail}".rstrip()


def _shown(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))
