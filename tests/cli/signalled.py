"""Runs of the command line that are hit by signals: one job a line, each in a forked child, so that
imports are paid for once.

A job is [folder, arguments, drop]. The child writes `begun` before it reads the table. If `drop` is
a number, the child sends SIGINT to itself inside a callback of the garbage collector, at its
collection of that number, where Python drops exceptions.
"""

import gc
import json
import os
import signal
import sys

import dprap.runs.job as job
from dprap.cli import main


def drop_at(number: int) -> None:
    """Arrange for a signal inside the collection of this number from now on."""
    left = [number]

    def callback(phase: str, _: object) -> None:
        if phase == "start":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGINT)

    gc.callbacks.insert(0, callback)


def child(folder: str, arguments: list[str], drop: int | None) -> None:
    os.chdir(folder)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    honest = job.private_folder

    def begun(out):  # the first thing that both commands do
        job.private_folder = honest
        gc.set_threshold(100, 5, 5)  # many collections, and with them many callbacks
        os.write(1, b"begun\n")
        if drop is not None:
            drop_at(drop)
        return honest(out)

    job.private_folder = begun
    sys.argv = ["dprap", *arguments]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 99
    os._exit(code)


def serve() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(*json.loads(line))
        print(f"pid {pid}", flush=True)
        _, status = os.waitpid(pid, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    serve()
