"""Ways to drive the command line: in this process, as a process of its own, and in a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from dprap.datasets import example, example_schema

COMMAND = [sys.executable, "-m", "dprap"]
ROWS = 400
COLUMNS_ALONE = (
    *("synth", "table.parquet", "--schema", "schema.yaml"),
    *("--epsilon", "2", "--kway", "1"),
)
"""A short run on the table that `write_inputs` writes."""


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


def write_inputs(folder: Path) -> None:
    """A small private table, as Parquet and CSV, and its schema."""
    table = example(ROWS, seed=1)
    pa.parquet.write_table(table, folder / "table.parquet")
    pa.csv.write_csv(table, folder / "table.csv")
    example_schema().save(folder / "schema.yaml")


def in_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> Done:
    """Run a command through the entry point, without the seconds that a new process takes."""
    from dprap.cli import main

    monkeypatch.setattr(sys, "argv", ["dprap", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return Done(code, captured.out, captured.err)


def as_process(folder: Path, *arguments: str, **environment: str) -> Done:
    """Run a command as a process without a terminal."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@dataclass
class Terminal:
    """A process on a terminal, and what it has shown."""

    process: subprocess.Popen[bytes]
    descriptor: int
    shown: str = ""

    def read_until(self, text: str, seconds: float = 200) -> None:
        """Read until the text shows up, or to the end."""
        stop = time.monotonic() + seconds
        while text not in self.shown and time.monotonic() < stop:
            if not select.select([self.descriptor], [], [], 0.2)[0]:
                continue
            try:
                chunk = os.read(self.descriptor, 65536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            self.shown += chunk.decode(errors="replace")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.descriptor, text.encode())

    def finish(self) -> int:
        """Read to the end and give the exit code."""
        self.read_until("\0never")
        return self.process.wait(timeout=200)


@contextmanager
def on_terminal(folder: Path, *arguments: str, **environment: str) -> Iterator[Terminal]:
    """Run a command on a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
