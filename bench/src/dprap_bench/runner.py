"""Run cells one after the other in processes of their own: a cell's crash is its own, and so are
its time and memory.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dprap.errors import DprapError
from dprap_bench.cell import AnyCell, StudyCell
from dprap_bench.record import COSTS, Figures, Record, key_of
from dprap_bench.results import Results

Report = Callable[[str], None]

# The limit is of processor time, so that a busy machine stops no cell; a cell that waits for ever
# is stopped by the clock, after this many times the limit.
_PATIENCE = 10

_SHOWN = ("max", "tv", "wall_seconds")

# A cell multiplies matrices on one thread, unless the environment says otherwise. The matrices are
# small, and threads that wait for each other on a busy machine burn processor time: 22 seconds
# instead of 4 for the default method on ADULT at ε = 1, with six processes on two cores. NPROC is
# what JAX goes by: 17 seconds instead of 23 for a compiled run of RAP on LOANS, with equal results.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")


def run_cells(
    cells: Sequence[AnyCell],
    results: Results,
    *,
    data_dir: Path,
    seconds_per_cell: float,
    report: Report,
) -> list[Record]:
    """Run the cells that are not among the results yet.

    Args:
        cells: What to run.
        results: Where records are looked up and kept. What fails or takes too long is kept there
            too.
        data_dir: The folder with the benchmark tables.
        seconds_per_cell: Processor seconds that a cell may take.
        report: Is told of every cell that was run.

    Returns:
        The cells' records, new and old.
    """
    known = {(record.experiment, record.key): record for record in results.records()}
    measured = {record.key: record.figures for record in known.values() if not record.failed}
    wanted: dict[str, dict[str, AnyCell]] = {}
    for cell in cells:
        if (cell.experiment, cell.key) not in known:
            wanted.setdefault(cell.key, {})[cell.experiment] = cell
    done = len(cells) - sum(map(len, wanted.values()))

    def keep(key: str, figures: Figures, note: str) -> None:
        nonlocal done
        for cell in wanted[key].values():
            record = Record.of(cell.experiment, cell.as_dict(), figures, key=key, note=note)
            results.add(record)
            known[cell.experiment, key] = record
            done += 1
            report(f"[{done}/{len(cells)}] {cell.experiment}: {cell}  {_summary(figures) or note}")

    for key in wanted:
        if key in measured:
            keep(key, measured[key], "")
    unmeasured = [
        next(iter(shared.values())) for key, shared in wanted.items() if key not in measured
    ]
    for batch in _batches(unmeasured):
        for cell, figures, note in _in_processes(batch, data_dir, seconds_per_cell):
            keep(cell.key, figures, note)
    return [known[cell.experiment, cell.key] for cell in cells]


def _summary(figures: Figures) -> str:
    shown = [name for name in _SHOWN if name in figures] or list(figures)[:3]
    return "  ".join(f"{name} {figures[name]:.3g}" for name in shown if figures[name] is not None)


def _batches(cells: Iterable[AnyCell]) -> list[list[AnyCell]]:
    """What runs in one process.

    A cell with the noise of seed 0 is alone in it, and its time and memory are kept. Further draws
    of a method on a workload share one, and the programs compiled there, which take longer than
    most runs; their costs are not kept.
    """
    together: dict[str, list[AnyCell]] = {}
    for cell in cells:
        together.setdefault(cell.key if _has_costs(cell) else _company(cell), []).append(cell)
    return list(together.values())


def _has_costs(cell: AnyCell) -> bool:
    return isinstance(cell, StudyCell) or cell.seed == 0


def _company(cell: AnyCell) -> str:
    apart = ("seed", "settings", "epsilon")
    return key_of({name: value for name, value in cell.as_dict().items() if name not in apart})


def _in_processes(
    batch: Sequence[AnyCell], data_dir: Path, seconds: float
) -> Iterator[tuple[AnyCell, Figures, str]]:
    """Each cell with its figures; what a process leaves unmeasured when it ends is done by
    another.
    """
    left = list(batch)
    while left:
        for figures, note in _in_process(list(left), data_dir, seconds):
            yield left.pop(0), figures, note


def _in_process(
    cells: list[AnyCell], data_dir: Path, seconds: float
) -> Iterator[tuple[Figures, str]]:
    """Figures and note of each cell, up to one that ends the process."""
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(cells, data_dir, seconds, sender), daemon=True)
    process.start()
    sender.close()
    try:
        for _ in cells:
            if not receiver.poll(_PATIENCE * seconds):
                yield {}, f"stopped after {_PATIENCE * seconds:g} seconds by the clock"
                return
            yield receiver.recv()
    except EOFError:
        process.join()
        stopped = f"stopped after {seconds:g} seconds of processor time"
        yield (
            {},
            (
                stopped
                if process.exitcode == -signal.SIGXCPU
                else f"the process ended with code {process.exitcode}"
            ),
        )
    finally:
        if process.is_alive():
            process.join(5)
        if process.is_alive():
            process.kill()
        process.join()
        receiver.close()


def _context() -> Any:
    """Fork from a server that has imported everything and run nothing; importing costs more than
    many a cell.
    """
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dprap_bench.measure_cell"])
    return context


def _child(cells: Sequence[AnyCell], data_dir: Path, seconds: float, sender: Connection) -> None:
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    for cell in cells:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), most))
        try:
            figures = _measure(cell, data_dir)
        except DprapError as error:
            sender.send(({}, str(error)))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            sender.send(({}, f"{type(error).__name__} in {last.name}: {error}"))
        else:
            kept = _has_costs(cell)
            sender.send(
                ({name: value for name, value in figures.items() if kept or name not in COSTS}, "")
            )


def _measure(cell: AnyCell, data_dir: Path) -> Figures:
    from dprap_bench.measure_cell import measure_cell
    from dprap_bench.studies import study_named

    if isinstance(cell, StudyCell):
        return study_named(cell.experiment).measure(cell.facts, data_dir)
    return measure_cell(cell, data_dir)
