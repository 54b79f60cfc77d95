"""Time and memory of a piece of work."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Ten times the slowest tick of a processor's clock, in seconds.
_SHORTEST = 0.1


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

    Short work is done several times in a repetition, because the clock of the processor may tick
    slowly.
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
