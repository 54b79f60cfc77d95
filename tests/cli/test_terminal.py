"""The command line as people meet it: a process, with and without a terminal."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.driving import as_process, on_terminal

from dprap.release import load

SYNTH = (
    "synth",
    "table.parquet",
    "--schema",
    "schema.yaml",
    "-e",
    "2",
    "--intervals",
    "no",
    "--kway",
    "1",
)
INDEPENDENT = (*SYNTH, "--method", "independent")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d(?:;\d+)*m")


def test_a_terminal_is_asked_before_spending_and_no_spends_nothing(inputs: Path) -> None:
    with on_terminal(inputs, *INDEPENDENT, "--out", "out") as terminal:
        terminal.read_until("Spend this budget?")
        terminal.type("n\n")
        assert terminal.finish() == 130
    assert "nothing was spent" in terminal.shown
    assert not (inputs / "out.private").exists()


@pytest.mark.slow
def test_yes_on_a_terminal_shows_progress_and_ends_with_the_guarantee(inputs: Path) -> None:
    with on_terminal(inputs, *INDEPENDENT, "--out", "out") as terminal:
        terminal.read_until("Spend this budget?")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert "measure" in terminal.shown
    assert "differentially private with respect to replacing one record" in terminal.shown
    assert load(inputs / "out").privacy.private


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), pytest.param({"NO_COLOR": "1"}, False, marks=pytest.mark.slow)],
)
def test_errors_are_coloured_on_a_terminal_unless_NO_COLOR(
    inputs: Path, environment: dict[str, str], coloured: bool
) -> None:
    with on_terminal(inputs, "ledger", "verify", "nowhere", **environment) as terminal:
        assert terminal.finish() == 4
    assert "cannot read ledger" in terminal.shown
    assert bool(COLOUR.search(terminal.shown)) == coloured


def test_without_a_terminal_there_are_plain_lines_and_results_on_stdout(inputs: Path) -> None:
    done = as_process(inputs, *INDEPENDENT, "--out", "out")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert re.search(r"^ +\d+\.\d s  measure 1/1", done.err, re.MULTILINE)
    assert "differentially private" in done.out


@pytest.mark.parametrize(
    "stop", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_signals_stop_cleanly_and_say_how_to_go_on(inputs: Path, stop: signal.Signals) -> None:
    slow = ("--kway", "3", "--rounds", "50", "--synthetic-rows", "400")
    with on_terminal(inputs, *SYNTH[:-2], *slow, "--out", "out", "--yes") as terminal:
        terminal.read_until("misfit")  # after the first of several rounds
        os.kill(terminal.process.pid, stop)
        assert terminal.finish() == 130
    assert "dprap resume" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert not (inputs / "out").exists()
    assert as_process(inputs, "ledger", "verify", "table.parquet.dprap/ledger.jsonl").code == 0


def test_a_reader_that_goes_away_is_no_error(inputs: Path) -> None:
    line = f"{sys.executable} -c 'from dprap.cli import main; main()' --help | head -1"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=inputs
    )
    assert done.stderr == ""


def test_help_is_quick() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(2):
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from dprap.cli import main; sys.argv = ['dprap', '--help']; main()",
            ],
            capture_output=True,
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 2
    assert seconds < 0.6  # about 0.2 on an idle machine; JAX alone would take more than a second


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; import dprap.cli.app; print([m for m in ('jax', 'numpy', 'pandas', 'pyarrow',"
        " 'opendp', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
