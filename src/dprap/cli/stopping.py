"""Ctrl-C and SIGTERM: a clean stop with a way on, never swallowed.

A signal handler raises KeyboardInterrupt wherever the program happens to be. In a callback of the
garbage collector (JAX has one) or in a `__del__` Python prints such an exception and drops it, and
a library may catch it. So the handler also leaves a mark, which is looked at with every step of
progress and before every charge; and where Python reports a dropped KeyboardInterrupt, the
exception is raised again a moment later. A second signal ends the process at once, which costs
nothing but the step under way.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dprap.cli.exits import STOPPED

# Long enough to be out of the callback that dropped the exception, too short for a person to
# notice.
_AGAIN_SECONDS = 0.05


NOTHING_SPENT = "stopped. Nothing was spent."


class Stop:
    """Whether the user asked for an end, and what to tell them when it has come."""

    def __init__(self) -> None:
        self.asked = False
        self.over = False
        """Whether the exception has arrived, so that it need not be raised again."""
        self.advice = NOTHING_SPENT

    def check(self) -> None:
        """Raise KeyboardInterrupt if the user asked for an end and the exception was lost."""
        if self.asked:
            raise KeyboardInterrupt

    def on_signal(self, number: int, _: object) -> None:
        """Take a signal from outside: the first stops the run, the second ends the process."""
        if self.asked:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.asked = True
        raise KeyboardInterrupt

    def on_alarm(self, _: int, __: object) -> None:
        """Raise again what was dropped."""
        if not self.over:
            self.check()

    def on_dropped(self, dropped: Any) -> None:
        """Take notice of an exception that Python could not raise."""
        if self.asked and issubclass(dropped.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        else:
            sys.__unraisablehook__(dropped)


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn SIGINT and SIGTERM inside the block into an exit with the advice of `Stop`."""
    from dprap.cli.output import note

    stop = Stop()
    # signals reach the main thread alone
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers: dict[signal.Signals, Callable[[int, Any], None]] = {
        signal.SIGINT: stop.on_signal,
        signal.SIGTERM: stop.on_signal,
        signal.SIGALRM: stop.on_alarm,
    }
    previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    previous_hook, sys.unraisablehook = sys.unraisablehook, stop.on_dropped
    try:
        yield stop
        stop.check()
    except (KeyboardInterrupt, Exception) as error:
        # A library that was interrupted may say so by an error of its own.
        stop.over = True
        if not stop.asked and not isinstance(error, KeyboardInterrupt):
            raise
        note(stop.advice)
        raise SystemExit(STOPPED) from None
    finally:
        stop.over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = previous_hook
        for number, handler in previous.items():
            signal.signal(number, handler)
