"""How long the private side worked: never published, but taken off what is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up the time spent in its `running` blocks; one block inside another counts once.

    `clock` gives seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = 0.0
        self._depth = 0

    @property
    def seconds(self) -> float:
        """The time of all finished blocks."""
        return self._seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of this block."""
        started = self._clock()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._seconds += self._clock() - started
