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

from dprap_bench.cell import Cell
from dprap_bench.results import Results
from dprap.errors import DprapError

Report = Callable[[str], None]

_PATIENCE = 10
# The limit is of processor time, so that a busy machine stops no cell; a cell that waits for ever is stopped by the clock.


def run_cells(
    cells: Sequence[Cell], results: Results, *, data_dir: Path, seconds_per_cell: float, report: Report
) -> None:
    """Run the cells that are not among the results yet; what fails or takes too long is noted there too."""
    finished = results.finished()
    for number, cell in enumerate(cells, start=1):
        if (cell.experiment, cell.key) in finished:
            continue
        known = results.metrics_of(cell.key)
        metrics, note = (known, "") if known else _in_process(cell, data_dir, seconds_per_cell)
        results.add(cell, metrics, note)
        finished.add((cell.experiment, cell.key))
        summary = "  ".join(f"{name} {metrics[name]:.3g}" for name in ("max", "tv", "wall_seconds") if name in metrics)
        report(f"[{number}/{len(cells)}] {cell.experiment}: {cell}  {summary or note}")


def _in_process(cell: Cell, data_dir: Path, seconds: float) -> tuple[dict[str, float], str]:
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(cell, data_dir, seconds, sender), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(_PATIENCE * seconds):
            return {}, f"stopped after {_PATIENCE * seconds:g} seconds by the clock"
        metrics, note = receiver.recv()
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
    return metrics, note


def _context() -> Any:
    """Fork from a server that has imported everything and run nothing; importing costs more than many a cell."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dprap_bench.measure"])
    return context


def _child(cell: Cell, data_dir: Path, seconds: float, sender: Connection) -> None:
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), most))
    try:
        from dprap_bench.measure import measure_cell

        sender.send((measure_cell(cell, data_dir), ""))
    except DprapError as error:
        sender.send(({}, str(error)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        sender.send(({}, f"{type(error).__name__} in {last.name}: {error}"))
