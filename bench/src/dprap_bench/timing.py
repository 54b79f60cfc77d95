"""Time and memory of a piece of work."""

from __future__ import annotations

import math
import re
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dprap.mechanisms.result import Progress

# Ten times the slowest tick of a processor's clock, in seconds.
_SHORTEST = 0.1

_STEPS = re.compile(r"after (\d+) steps")


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Fill a dictionary, when the work is done, with its seconds and the process's peak memory."""
    found: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield found
    found["wall_seconds"] = time.perf_counter() - wall
    found["cpu_seconds"] = time.process_time() - cpu
    found["peak_mb"] = peak_mb()


def peak_mb() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def least_cpu_seconds(work: Callable[[], Any], repetitions: int) -> float:
    """Least processor time of a few repetitions: the machine may be busy.

    Short work is done several times in a repetition, because the clock of the processor may tick slowly.
    """
    least = math.inf
    for _ in range(repetitions):
        start, times, spent = time.process_time(), 0, 0.0
        while spent < _SHORTEST:
            work()
            times += 1
            spent = time.process_time() - start
        least = min(least, spent / times)
    return least


class StepCount:
    """Counts the optimiser's steps that a method's progress tells of."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, report: Progress) -> None:
        """Take note of a report."""
        if found := _STEPS.search(report.detail):
            self.steps += int(found[1])
