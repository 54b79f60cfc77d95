"""Record and replay: two neighbouring tables, one set of noisy results, and everything that leaves
a run.

The noise boundary is `Ledger.store`: there a noisy result leaves the private side. The first run is
recorded. The second runs on a neighbouring table: its exact side counts, is charged and draws as
ever, but what it drew is replaced by what the first run drew. Differential privacy speaks of the
noisy results alone, so whatever else differs between the two runs was never paid for.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from dprap.mechanisms.result import Progress
from dprap.privacy import Ledger
from dprap.runs.execute import execute
from dprap.runs.plan import Plan
from dprap.sources import MemorySource

RUN_FACTS = re.compile(r'("(?:seconds|created|peak_memory_mb)": )(?:"[^"]*"|[\d.]+|null)')
# What a release says of its making, which may differ between any two runs; `test_run_facts.py`
# bounds what it tells.

LEDGER_FACTS = ("created", "started", "ended", "name", "data")
# Times, the random name of a ledger, and the keyed digest of the table. The table's digest also
# enters each line's hash, and so the file names.

SEAL = re.compile(r"-[0-9a-f]{16}(?=\.npz)")
HASH = re.compile(rb"[0-9a-f]{64}")
# A job may remember the ledger's last line by its hash.

METERS = re.compile(r" *\b[\d,]+(\.\d+)? (s|MB)\b")
# Time and memory on the screen are exact, for the steward (docs/privacy.md, "Time and memory").

INPUTS = "inputs"
# The folder with the private table and its schema, which does not leave.


class DivergenceError(AssertionError):
    """The second run did something that its noisy results do not explain."""


@dataclass
class Tape:
    """What is recorded of a run: its noisy results, and what it did and showed, in order."""

    results: list[dict[str, Any]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    logs: list[tuple[str, str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    out: str = ""
    err: str = ""
    ledger: list[Any] = field(default_factory=list)
    files: dict[str, Any] = field(default_factory=dict)


Capture = pytest.CaptureFixture[str]


@contextmanager
def on(tape: Tape, *, forced: Tape | None, folder: Path, capture: Capture) -> Iterator[None]:
    """Record on a tape whatever the run in this block does; `forced` is the tape whose noisy
    results it is given.

    Whenever a noisy result is about to leave, what was shown and the sizes of the files so far are
    noted.
    """
    charge, store = Ledger.charge, Ledger.store
    capture.readouterr()

    def look() -> None:
        out, err = (_without_meters(text, folder) for text in capture.readouterr())
        tape.out, tape.err = tape.out + out, tape.err + err

    def noted_charge(self: Ledger, run: str, *details: Any) -> None:
        tape.events.append(("charge", *details))  # step, verb, digest, rho
        charge(self, run, *details)

    def replaced_store(self: Ledger, run: str, step: int, arrays: Any) -> None:
        look()
        form = {name: (array.shape, array.dtype.str) for name, array in arrays.items()}
        sizes = {name: len(content) for name, content in files_in(folder).items()}
        tape.events.append(("result", step, form, sizes, tape.out, tape.err))
        if forced is not None:
            same_so_far(forced.events, tape.events)
            arrays = forced.results[step]
        tape.results.append(arrays)
        store(self, run, step, arrays)

    handler = logging.Handler(level=logging.DEBUG)
    handler.emit = lambda record: tape.logs.append(
        (record.name, record.levelname, record.getMessage())
    )  # type: ignore[method-assign]
    root, of_jax = logging.getLogger(), logging.getLogger("jax")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        patch.setattr(Ledger, "charge", noted_charge)
        patch.setattr(Ledger, "store", replaced_store)
        patch.setattr(root, "handlers", [handler])
        patch.setattr(root, "level", logging.DEBUG)
        # JAX logs how long it compiled, which depends on what was compiled before in this process.
        patch.setattr(of_jax, "level", logging.WARNING)
        # Progress is told every few seconds. A clock that stands still tells the same on a busy
        # machine.
        patch.setattr("dprap.mechanisms.result.monotonic", lambda: 0.0)
        root.manager._clear_cache()  # type: ignore[attr-defined]
        yield
    root.manager._clear_cache()  # type: ignore[attr-defined]
    look()
    tape.warnings = [str(warning.message) for warning in warned]
    tape.ledger, tape.files = ledger_lines(next(folder.rglob("ledger.jsonl"))), files_in(folder)


def same_so_far(recorded: list[Any], replayed: list[Any]) -> None:
    """Refuse a replay as soon as its events are not the recorded ones: no result would fit."""
    if recorded[: len(replayed)] != replayed:
        raise DivergenceError(f"events: {_where(recorded, replayed)}")


def difference(first: Tape, second: Tape) -> str | None:
    """The first thing in which two tapes differ."""
    for each in fields(Tape):
        if each.name == "results":
            continue  # they were forced
        one, other = getattr(first, each.name), getattr(second, each.name)
        if one != other:
            return f"{each.name}: {_where(one, other)}"
    return None


def _where(one: Any, other: Any) -> str:
    if isinstance(one, dict):
        names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
        return f"{names}: {_where(str(one.get(names[0])), str(other.get(names[0])))}"
    if isinstance(one, str):
        one, other = one.splitlines(), other.splitlines()
    at = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None
    )
    return (
        f"{len(one)} against {len(other)} entries"
        if at is None
        else f"entry {at}: {one[at]} against {other[at]}"
    )


class WatchedSource(MemorySource):
    """A table in memory that notes what is counted in it: a database would see these queries."""

    def taped(self, tape: Tape) -> WatchedSource:
        object.__setattr__(self, "_tape", tape)
        return self

    def count(self, marginals: Any) -> Any:
        self._tape.events.append(("count", [str(marginal) for marginal in marginals]))  # type: ignore[attr-defined]
        return super().count(marginals)

    def recoded(self, recoding: Any) -> WatchedSource:
        return WatchedSource(super().recoded(recoding).codes).taped(self._tape)  # type: ignore[attr-defined]


def taped_run(
    plan: Plan, source: WatchedSource, folder: Path, capture: Capture, *, forced: Tape | None = None
) -> Tape:
    """Carry out a plan, save its release, and return all that left the run."""
    folder.mkdir()
    tape = Tape()
    with on(tape, forced=forced, folder=folder, capture=capture):
        with Ledger(folder / "ledger.jsonl", neighbors=plan.neighbors) as ledger:
            release = execute(
                plan,
                source.taped(tape),
                ledger=ledger,
                run="audited",
                progress=tape.progress.append,
            )
        release.save(folder / "release")
        release.save(folder / "release-csv", format="csv")
        tape.events.append(
            ("answers", [answer.tolist() for answer in release.shares(plan.workload)])
        )
    return tape


def ledger_lines(path: Path) -> list[Any]:
    """The lines of a ledger without times, the table's digest and the hashes that follow from
    them.
    """
    lines = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        body = {name: value for name, value in record["body"].items() if name not in LEDGER_FACTS}
        if "file" in body:
            body["file"] = SEAL.sub("", body["file"])
        lines.append((record["kind"], body))
    return lines


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder: byte for byte, but for run facts and for the ledger, of which the
    size is kept.
    """
    return {
        SEAL.sub("", str(path.relative_to(folder))): _public_content(path, folder)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != INPUTS
    }


def _public_content(path: Path, folder: Path) -> bytes:
    content = path.read_bytes().replace(str(folder.resolve()).encode(), b"FOLDER")
    if path.name == "release.json":
        return RUN_FACTS.sub(r"\1", content.decode()).encode()
    if path.name == "job.json":
        return HASH.sub(b"HASH", content)
    if "ledger" in path.name and path.suffix != ".npz":
        return b"x" * len(content)
    return content


def _without_meters(text: str, folder: Path) -> str:
    return METERS.sub("METER", text.replace(str(folder.resolve()), "FOLDER"))
