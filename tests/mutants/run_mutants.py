"""`make mutants`: put every defect of the list back, one at a time, and see its tests fail.

Sources and tests are copied to a scratch folder, so that nothing of the repository is touched.
First the named tests run on the copy as it is, and must pass. Then each mutant is applied alone
and its tests run. It is caught if they fail, and survives if they pass. Anything else, such as
tests that cannot be collected, is an error of the list. The exit code is 0 if all were caught.

    python -m tests.mutants.run_mutants [--jobs N] [--baseline first|only|no] [WORD ...]

WORDs choose mutants whose part or name has one of them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from tests.mutants.catalogue import ROOT, Mutant, read_mutants

COPIED = ("src", "bench", "tests", "docs", "examples")
COPIED_FILES = ("conftest.py", "pyproject.toml", "README.md", "SECURITY.md", "CHANGELOG.md")
SECONDS = 1200
"""Longer than any named test on a busy machine."""

PASSED, FAILED, CANNOT_TELL = 0, 1, 2
"""Exit codes of pytest; those from 2 on mean that tests could not be run."""


def main() -> int:
    """Run the mutants that the command line chooses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--baseline",
        choices=("first", "only", "no"),
        default="first",
        help="whether the tests run without a mutant first, or only that, or not",
    )
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    mutants = [
        each
        for each in read_mutants()
        if not arguments.words
        or any(word in f"{each.part} {each.name}" for word in arguments.words)
    ]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dprap-mutants-") as scratch:
        copies: Queue[Path] = Queue()
        for number in range(arguments.jobs):
            copies.put(_copy(Path(scratch) / str(number)))
        if arguments.baseline != "no" and not _baseline_passes(copies, mutants):
            return 2
        if arguments.baseline == "only":
            return 0

        def tried(mutant: Mutant) -> str:
            copy = copies.get()
            try:
                outcome, by = _outcome(copy, mutant)
            finally:
                copies.put(copy)
            print(f"{outcome:8} {mutant.part}: {mutant.name}{by}", flush=True)
            return outcome

        with ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = Counter(pool.map(tried, mutants))
    seconds = time.monotonic() - started
    print(f"{len(mutants)} mutants in {seconds:.0f} s: {dict(outcomes)}")
    return 0 if outcomes["caught"] == len(mutants) else 1


def _copy(folder: Path) -> Path:
    folder.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in COPIED_FILES:
        shutil.copy2(ROOT / name, folder / name)
    return folder


def _baseline_passes(copies: Queue[Path], mutants: list[Mutant]) -> bool:
    copy = copies.get()
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    code, output = _pytest(copy, tests, seconds=SECONDS * 10)
    copies.put(copy)
    if code != PASSED:
        print(output)
        print("the named tests fail without a mutant, so that nothing can be said.")
    else:
        print(f"the {len(tests)} named tests pass without a mutant.", flush=True)
    return code == PASSED


def _outcome(copy: Path, mutant: Mutant) -> tuple[str, str]:
    """What became of a mutant, and which test noticed it."""
    path = copy / mutant.file
    text, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(mutant.of(text), encoding="utf-8")
    # Python knows compiled modules by size and second: another second, so that none is mistaken.
    os.utime(path, (times.st_atime, times.st_mtime + 10))
    try:
        code, output = _pytest(copy, mutant.tests, seconds=SECONDS)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))
        for compiled in (copy / "pycache").rglob(f"{path.stem}.*.pyc"):
            compiled.unlink()
    if code == FAILED or code < 0:  # below 0 the interpreter itself crashed
        failed = re.search("^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
        return "caught", f", by {failed[1]}" if failed else ""
    if code == PASSED:
        return "SURVIVED", ""
    print(output[-3000:])
    return "error", ""


def _pytest(copy: Path, tests: tuple[str, ...] | list[str], *, seconds: int) -> tuple[int, str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy / 'bench' / 'src'}",
        "PYTHONPYCACHEPREFIX": str(copy / "pycache"),
        "PYTHONDONTWRITEBYTECODE": "",
        "JAX_COMPILATION_CACHE_DIR": str(copy / "compiled"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / "hypothesis"),
    }
    try:
        done = subprocess.run(
            [*command, "-m", "slow or not slow", *tests],
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CANNOT_TELL, f"longer than {seconds} s"
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
