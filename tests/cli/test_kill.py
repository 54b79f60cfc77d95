"""Runs that are killed at any moment go on, spend nothing twice and end with a valid release."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.driving import COMMAND, in_process

from dprap.privacy import read_ledger
from dprap.release import load

KILLS = 10
RUN = (
    "synth",
    "table.parquet",
    "--schema",
    "schema.yaml",
    "-e",
    "3",
    "--method",
    "independent",
    "--kway",
    "1",
    "--intervals",
    "no",
    "--yes",
)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def run_until(
    folder: Path, arguments: tuple[str, ...], ledger: Path, records: int, delay: float
) -> bool:
    """Start the command and kill it a moment after its ledger has so many records; whether it was
    killed.
    """
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        while process.poll() is None and lines(ledger) < records:
            time.sleep(0.002)
        time.sleep(delay)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_ten_kills_at_random_moments(inputs: Path) -> None:
    rng = random.Random(5)
    ledger = inputs / "table.parquet.dprap" / "ledger.jsonl"
    kills, outs = 0, 0
    while kills < KILLS:
        out = f"out{outs}"
        outs += 1
        arguments = (*RUN, "--out", out)
        while not (inputs / out).exists() and kills < KILLS:
            target = lines(ledger) + rng.randint(0, 4)
            killed = run_until(
                inputs, arguments, ledger, target, rng.choice([0, 0, 0.01, 0.1, 0.5])
            )
            kills += killed
            assert killed or (inputs / out).exists(), (inputs / "log.txt").read_text()
            if (inputs / f"{out}.private" / "job.json").exists():
                arguments = ("resume", out)
        if not (inputs / out).exists():
            assert not run_until(inputs, arguments, ledger, 10**9, 0), "the last one is left alone"
    runs = read_ledger(ledger).runs
    assert len(runs) == outs, "all runs on one table are on one ledger"
    for at in range(outs):
        release = load(inputs / f"out{at}")
        state = runs[
            json.loads((inputs / f"out{at}.private" / "job.json").read_text())["options"]["run"]
        ]
        assert state.done
        assert float(state.spent_rho) == pytest.approx(release.privacy.rho_spent)
        assert state.spent_rho <= state.planned_rho
        assert (
            len(state.charges)
            == len(state.results)
            == len({charge["digest"] for charge in state.charges.values()})
        )
        assert release.privacy.private
        assert not (inputs / f"out{at}.part").exists()


def test_a_release_lost_after_the_last_step_is_made_again_from_the_ledger(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(inputs)
    simple = (*RUN, "--out", "out")
    assert in_process(monkeypatch, capsys, *simple).code == 0
    ledger = (inputs / "table.parquet.dprap" / "ledger.jsonl").read_bytes()
    first = load(inputs / "out")
    shutil.rmtree(inputs / "out")
    (inputs / "elsewhere").mkdir()
    monkeypatch.chdir(inputs / "elsewhere")  # paths of a job do not depend on where it is resumed
    assert in_process(monkeypatch, capsys, "resume", "../out").code == 0
    again = load(inputs / "out")
    assert (inputs / "table.parquet.dprap" / "ledger.jsonl").read_bytes() == ledger
    assert again.certificate == first.certificate
    for one, two in zip(first.measurements, again.measurements, strict=True):
        np.testing.assert_array_equal(one.counts, two.counts)  # type: ignore[union-attr]


def test_a_run_is_not_resumed_on_other_data(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(inputs)
    simple = ("synth", "table.csv", *RUN[2:], "--out", "out")
    assert in_process(monkeypatch, capsys, *simple).code == 0
    shutil.rmtree(inputs / "out")
    text = (inputs / "table.csv").read_text().splitlines()
    (inputs / "table.csv").write_text("\n".join([text[0], text[2], *text[2:]]) + "\n")
    done = in_process(monkeypatch, capsys, "resume", "out")
    assert done.code == 4
    assert "began with other data or parameters" in done.err


def test_a_folder_left_by_a_process_that_died_before_its_job_was_kept_is_no_obstacle(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(inputs)
    (inputs / "out.private").mkdir()
    simple = (*RUN, "--out", "out")
    assert in_process(monkeypatch, capsys, *simple).code == 0
    assert in_process(monkeypatch, capsys, *simple).code == 3
