"""Inputs that are command lines, run in this process by the entry point."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from tests.fuzz.ledgers import saved as saved_ledger
from tests.fuzz.mutate import HOSTILE_TEXTS, mutated_text
from tests.fuzz.releases import saved as saved_release

from dprap.cli import main
from dprap.datasets import example, example_schema
from dprap.errors import DprapError

COMMANDS = [
    "schema check schema.yaml", "schema check schema.yaml table.parquet", "schema draft table.parquet -o draft.yaml",
    "plan schema.yaml -e 1 --rows 300", "plan schema.yaml -e 1 --neighbors add-remove --delta 1e-9 --kway 2 --method rap",
    "plan schema.yaml -e 1 --rows 300 --workload workload.yaml --max-cells 500", "answer out|age in 3..8|--by|sex", "answer out|sex = F|--json",
    "report out -o page.html", "evaluate out table.parquet", "ledger show ledger.jsonl", "ledger verify ledger.jsonl", "resume out", "resume nowhere",
    "synth table.parquet --schema schema.yaml -e 1 --method independent --kway 1 --out new --rows 5 --yes --quiet",
    "synth table.parquet --schema schema.yaml -e 1 --method gaussian --kway 1 --out new --insecure-noise-seed 1 --quiet", "--help", "--version",
]  # fmt: skip
OPTIONS = [
    "--epsilon", "-e", "--delta", "--rows", "--kway", "--marginals", "--max-cells", "--rounds", "--seed", "--workload-seed", "--certificate",
    "--max-rows-per-person", "--person-column", "--excess", "--neighbors", "--accounting", "--format", "--engine", "--table", "--workload", "--public",
    "--ledger", "--ledger-cap", "--synthetic-rows", "--queries-per-round", "--json", "--by", "--output", "--insecure-noise-seed", "--method", "--out",
]  # fmt: skip
VALUES = [
    "0", "1", "-1", "2", "3", "0.5", "1e-9", "nan", "inf", "-inf", "1e400", "1e-400", "9" * 30, "9" * 400, "1e18", "table.parquet", "schema.yaml", "out",
    "ledger.jsonl", "workload.yaml", "nowhere/x.yaml", "a" * 300, "a/" * 3000, "/", ".", "", "csv", "drop", "add-remove", "exact", "paper", "memory",
    "files", "postgres", "adaptive", "patient", "public.t", "postgresql://a:b@127.0.0.1:1/x", "\\udcff", "\ud800", "*", "[", "year=*/x",
]  # fmt: skip
ALLOWED = {0, 2, 3, 4, 130}


@functools.cache
def _inputs() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="dprap-fuzz-"))
    pq.write_table(example(60, seed=1), folder / "table.parquet")
    example_schema().save(folder / "schema.yaml")
    (folder / "workload.yaml").write_text("- [age, sex]\n- [smoker]\n")
    shutil.copytree(saved_release(relaxed=True), folder / "out")
    for each in saved_ledger().parent.iterdir():
        (shutil.copytree if each.is_dir() else shutil.copy)(each, folder / each.name)
    return folder


def command(rng: random.Random, folder: Path) -> None:
    """A command with options left out, added or spoiled."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(_inputs(), work)
    line = rng.choice(COMMANDS)
    words = line.replace("|", " ", 1).split("|") if "|" in line else line.split()
    words = [*words[0].split(), *words[1:]] if "|" in line else words
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randrange(len(words) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del words[at : at + 1]
        elif kind == 1:
            words[at:at] = [rng.choice(OPTIONS)]
        elif kind == 2:
            words[at:at] = [rng.choice(OPTIONS), rng.choice(VALUES)]
        elif kind == 3:
            words[at : at + 1] = [rng.choice([*VALUES, *HOSTILE_TEXTS])]
        else:
            words[at : at + 1] = [mutated_text(words[at], rng)] if at < len(words) else []
    # arguments never hold NUL, and hold what is no text as lone surrogates
    words = [word.replace("\0", "") for word in words]
    if any(word.startswith("bench") or word == "demo" for word in words):
        return
    run(words, work)


def run(words: list[str], work: Path) -> None:
    """Run one command; raises DprapError where it was refused, so that its message is checked like
    any other.
    """
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
    )
    before, arguments = Path.cwd(), sys.argv
    code = 0
    try:
        os.chdir(work)
        sys.argv = ["dprap", *words]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = arguments
        os.chdir(before)
    text = err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert code in ALLOWED, (code, text)
    assert "Traceback" not in text, text
    if code in (2, 3, 4):
        complaints = [line for line in text.splitlines() if line.lower().startswith("error: ")]
        assert complaints or code == 2, text
        raise DprapError((complaints or ["usage"])[-1])
