"""Every parser, on valid inputs with damage: they are taken, or refused in one line that quotes no
private value. And whole runs over generated tables.

`make test` runs a few hundred inputs, `make fuzz` twenty thousand and more. An input is a function
of its target and its number alone, so a failure is repeated by `DPRAP_FUZZ_ONLY=target:number`.
"""

from __future__ import annotations

import os
import random
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz import commands, documents, imports, ledgers, questions, releases, runs, tables

from dprap.errors import DprapError


@dataclass(frozen=True)
class Target:
    """A parser: how many inputs of it `make fuzz` and `make test` try."""

    run: Callable[[random.Random, Path], None]
    many: int
    few: int


TARGETS = {
    "schema": Target(documents.schema, 4500, 60),
    "schema mapping": Target(documents.schema_mapping, 2000, 30),
    "workload": Target(documents.workload, 2000, 40),
    "question": Target(questions.question, 3500, 60),
    "condition": Target(questions.condition, 2000, 60),
    "csv": Target(tables.csv_table, 1500, 40),
    "parquet": Target(tables.parquet_table, 1500, 40),
    "memory": Target(tables.memory_table, 1500, 40),
    "json lines": Target(tables.json_lines, 1000, 30),
    "excel": Target(tables.sheet, 800, 20),
    "arrow": Target(tables.arrow_file, 1000, 30),
    "discovery": Target(tables.discovery, 400, 8),
    "import": Target(imports.imported, 1500, 30),
    "statement": Target(releases.statement, 400, 8),
    "release": Target(releases.release, 2500, 40),
    "ledger": Target(ledgers.ledger, 1200, 30),
    "command": Target(commands.command, 1000, 20),
    "run": Target(runs.whole_run, 300, 3),
}
# A hostile input may be slow, but not without end. These are processor seconds: by the clock a run
# of two seconds took more than a minute on a busy machine.
SECONDS = 60
# Room for names from the input itself; longer messages quote more than anybody reads.
LONGEST_MESSAGE = 12_000


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"longer than {SECONDS} s")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _outcome(target: str, number: int, folder: Path) -> str:
    """taken or refused; raises for anything else."""
    rng = random.Random(f"{target} {number}")
    try:
        with _time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            TARGETS[target].run(rng, folder)
    except DprapError as error:
        message = str(error)
        assert message.isprintable(), message
        assert len(message) < LONGEST_MESSAGE, message[:300]
        assert tables.SECRET not in message, message
        return "refused"
    return "taken"


def _where(error: BaseException) -> str:
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "/dprap/" in frame.filename
    ]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_inputs_are_taken_or_refused(
    target: str, tmp_path: Path, record_property: Any
) -> None:
    only = os.environ.get("DPRAP_FUZZ_ONLY", "").partition(":")
    if only[0]:
        if only[0] == target:
            _outcome(target, int(only[2]), tmp_path)
        return
    numbers = range(TARGETS[target].many if os.environ.get("DPRAP_FUZZ") else TARGETS[target].few)
    outcomes: Counter[str] = Counter()
    failures: dict[str, list[str]] = {}
    slowest = 0.0
    for number in numbers:
        started = time.process_time()
        try:
            outcomes[_outcome(target, number, tmp_path)] += 1
        # every kind of failure is collected, so that one does not hide another
        except Exception as error:
            outcomes["failed"] += 1
            failures.setdefault(_where(error), []).append(f"{target}:{number} {str(error)[:200]!r}")
        slowest = max(slowest, time.process_time() - started)
    summary = f"{target}: {dict(outcomes)}, slowest {slowest:.1f} s"
    record_property("fuzz", summary)
    print(summary)
    assert not failures, "\n".join(
        [summary, *(f"{where} ({len(each)}): {each[0]}" for where, each in failures.items())]
    )
    assert outcomes["refused"], "damage that is never refused tests nothing"
