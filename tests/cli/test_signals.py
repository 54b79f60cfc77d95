"""Ctrl-C and SIGTERM at any moment: never swallowed, nothing spent twice, and a way on."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dprap.cli.stopping import stopping
from dprap.cli.watching import Watching
from dprap.privacy import read_ledger
from dprap.release import load
from dprap.runs.carry_out import watched

PROGRAM = Path(__file__).with_name("signalled.py")
RUN = [
    "synth",
    "table.csv",
    "--schema",
    "schema.yaml",
    "-e",
    "3",
    "--kway",
    "2",
    "--method",
    "gaussian",
    "--intervals",
    "no",
]
SHORT = [*RUN, "--quiet"]
SIGNALS = 12
PATIENCE_SECONDS = 60.0
"""A run that ignores a signal for so long has swallowed it; whole runs take a few seconds."""


class Server:
    """Runs jobs in forked children of one process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._lines = b""

    def line(self) -> str:
        assert self.process.stdout is not None
        stop = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._lines:
            assert time.monotonic() < stop, "the signal was swallowed"
            if select.select([self.process.stdout], [], [], 0.5)[0]:
                self._lines += os.read(self.process.stdout.fileno(), 1000)
        first, _, self._lines = self._lines.partition(b"\n")
        return first.decode()

    def start(self, folder: Path, arguments: list[str], drop: int | None = None) -> int:
        """Begin a job; the process id of the child, which is about to read the table."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([str(folder), arguments, drop]).encode() + b"\n")
        lines = {self.line(), self.line()}
        assert "begun" in lines, lines
        return int((lines - {"begun"}).pop().split()[1])

    def end(self) -> int:
        return int(self.line().split()[1])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.process.kill()
    server.process.communicate()


def resumable(folder: Path, out: str) -> bool:
    return (folder / f"{out}.private" / "job.json").exists()


@pytest.mark.slow
def test_signals_at_random_moments(server: Server, inputs: Path) -> None:
    """Every run ends with the code of a stop, or was done; what was stopped goes on, and every run
    is paid for once.
    """
    rng = random.Random(17)
    began = time.monotonic()
    server.start(inputs, [*SHORT, "--out", "whole"])
    assert server.end() == 0
    whole_seconds = time.monotonic() - began
    codes = []
    arguments, out = [*SHORT, "--out", "out0"], "out0"
    for number in range(SIGNALS):
        child = server.start(inputs, arguments)
        time.sleep(rng.random() * whole_seconds)
        hit = rng.choice([signal.SIGINT, signal.SIGTERM])
        sent = True
        try:
            os.kill(child, hit)
        except ProcessLookupError:
            sent = False
        codes.append(server.end())
        assert codes[-1] == 130 or (codes[-1] == 0 and (inputs / out).exists()), (
            inputs / "log.txt"
        ).read_text()
        assert sent or codes[-1] == 0
        if codes[-1] == 0 or (inputs / out).exists():
            out = f"out{number + 1}"
            arguments = [*SHORT, "--out", out]
        elif resumable(inputs, out):
            arguments = ["resume", out, "--quiet"]
    if resumable(inputs, out) and not (inputs / out).exists():
        server.start(inputs, ["resume", out, "--quiet"])
        assert server.end() == 0
    assert 130 in codes
    text = (inputs / "log.txt").read_text()
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    runs = read_ledger(inputs / "table.csv.dprap" / "ledger.jsonl").runs
    for folder in [*inputs.glob("out?"), *inputs.glob("out??"), inputs / "whole"]:
        run = runs[
            json.loads((folder.with_name(folder.name + ".private") / "job.json").read_text())[
                "options"
            ]["run"]
        ]
        assert run.done
        assert float(run.spent_rho) == pytest.approx(load(folder).privacy.rho_spent)


@pytest.mark.parametrize(
    "collection", [1, 20, *(pytest.param(number, marks=pytest.mark.slow) for number in (3, 60))]
)
def test_a_signal_that_python_drops_in_a_callback_of_the_garbage_collector_stops_all_the_same(
    server: Server, inputs: Path, collection: int
) -> None:
    server.start(inputs, [*RUN, "--out", "out"], drop=collection)
    assert server.end() == 130
    text = (inputs / "log.txt").read_text()
    assert "stopped. Nothing" in text
    assert "Traceback" not in text
    assert not (inputs / "out").exists()
    ledger = inputs / "table.csv.dprap" / "ledger.jsonl"
    assert not ledger.exists() or not any(run.done for run in read_ledger(ledger).runs.values())


def test_a_second_signal_ends_the_process_at_once(server: Server, inputs: Path) -> None:
    child = server.start(inputs, [*SHORT, "--out", "out"], drop=None)
    for _ in range(50):
        try:
            os.kill(child, signal.SIGTERM)
        except ProcessLookupError:
            break
    assert server.end() in (130, -signal.SIGTERM)


def test_a_signal_that_a_library_swallows_is_noticed_at_the_next_step() -> None:
    with pytest.raises(SystemExit) as stopped, stopping() as stop:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        seen: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            watched(seen.append, Watching(stop, quiet=True, ask=False))("a step")
        assert not seen
        raise ValueError("the library's own error")
    assert stopped.value.code == 130


def test_a_signal_that_python_drops_stops_also_where_no_step_looks_for_it() -> None:
    class Dropping:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            for _ in range(1000):  # the handler runs between two of these, and its error is lost
                pass

    slept = False
    with pytest.raises(SystemExit) as stopped, stopping():
        Dropping()
        time.sleep(PATIENCE_SECONDS / 10)
        slept = True
    assert stopped.value.code == 130
    assert not slept


def test_errors_without_a_signal_stay_errors_and_handlers_are_given_back() -> None:
    before = [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    ]
    with pytest.raises(ValueError, match="mine"), stopping():
        raise ValueError("mine")
    assert [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    ] == before
