"""Run cells one after the other, each in a process of its own: its time and memory are its own, and so is its crash."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dprap.errors import DprapError
from dprap_bench.cell import AnyCell
from dprap_bench.record import Figures, Record
from dprap_bench.results import Results

Report = Callable[[str], None]

# The limit is of processor time, so that a busy machine stops no cell; a cell that waits for ever is stopped by
# the clock, after this many times the limit.
_PATIENCE = 10

_SHOWN = ("max", "tv", "wall_seconds")


def run_cells(
    cells: Sequence[AnyCell], results: Results, *, data_dir: Path, seconds_per_cell: float, report: Report
) -> list[Record]:
    """Run the cells that are not among the results yet.

    Args:
        cells: What to run.
        results: Where records are looked up and kept. What fails or takes too long is kept there too.
        data_dir: The folder with the benchmark tables.
        seconds_per_cell: Processor seconds that a cell may take.
        report: Is told of every cell that was run.

    Returns:
        The cells' records, new and old.
    """
    known = {(record.experiment, record.key): record for record in results.records()}
    measured = {record.key: record for record in known.values() if not record.failed}
    for number, cell in enumerate(cells, start=1):
        if (cell.experiment, cell.key) in known:
            continue
        if cell.key in measured:
            figures, note = measured[cell.key].figures, ""
        else:
            figures, note = _in_process(cell, data_dir, seconds_per_cell)
        record = Record.of(cell.experiment, cell.as_dict(), figures, key=cell.key, note=note)
        results.add(record)
        known[cell.experiment, cell.key] = record
        if not record.failed:
            measured[cell.key] = record
        shown = [name for name in _SHOWN if name in figures] or list(figures)[:3]
        summary = "  ".join(f"{name} {figures[name]:.3g}" for name in shown if figures[name] is not None)
        report(f"[{number}/{len(cells)}] {cell.experiment}: {cell}  {summary or note}")
    return [known[cell.experiment, cell.key] for cell in cells]


def _in_process(cell: AnyCell, data_dir: Path, seconds: float) -> tuple[Figures, str]:
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(cell, data_dir, seconds, sender), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(_PATIENCE * seconds):
            return {}, f"stopped after {_PATIENCE * seconds:g} seconds by the clock"
        figures, note = receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return {}, f"stopped after {seconds:g} seconds of processor time"
        return {}, f"the process ended with code {process.exitcode}"
    finally:
        if process.is_alive():
            process.join(5)
        if process.is_alive():
            process.kill()
        process.join()
        receiver.close()
    return figures, note


def _context() -> Any:
    """Fork from a server that has imported everything and run nothing; importing costs more than many a cell."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dprap_bench.measure"])
    return context


def _child(cell: AnyCell, data_dir: Path, seconds: float, sender: Connection) -> None:
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), most))
    try:
        sender.send((_measure(cell, data_dir), ""))
    except DprapError as error:
        sender.send(({}, str(error)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        sender.send(({}, f"{type(error).__name__} in {last.name}: {error}"))


def _measure(cell: AnyCell, data_dir: Path) -> Figures:
    from dprap_bench.cell import StudyCell
    from dprap_bench.measure import measure_cell
    from dprap_bench.studies import study_named

    if isinstance(cell, StudyCell):
        return study_named(cell.experiment).measure(cell.facts, data_dir)
    return measure_cell(cell, data_dir)
