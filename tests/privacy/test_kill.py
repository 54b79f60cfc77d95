"""A run killed with SIGKILL at every point around charge, draw and store, and resumed."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dprap.privacy import read_ledger

PROGRAM = Path(__file__).with_name("killed_run.py")
PLAN = Fraction(1, 2)


class Server:
    """Runs jobs in a process of its own."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, ledger, point):
        """Exit status, and what the run printed if it came to its end."""
        self.process.stdin.write(json.dumps([str(ledger), point]) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "status" in answer:
            return answer["status"], None
        return json.loads(self.process.stdout.readline())["status"], answer


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.process.stdin.close()
    server.process.wait()
    server.process.stdout.close()


def draws_of(ledger):
    file = ledger.with_name(ledger.name + ".drawn")
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize(
    "every", [7, pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)]
)
def test_killed_anywhere(server, tmp_path, every):
    status, whole = server.run(tmp_path / "whole", 0)
    assert status == 0
    assert whole["points"] > 60
    assert read_ledger(tmp_path / "whole").spent_rho == PLAN
    assert len(draws_of(tmp_path / "whole")) == 4
    lost_draws = 0
    for point in range(1, whole["points"] + 1, every):
        ledger = tmp_path / f"killed-{point}"
        status, _ = server.run(ledger, point)
        assert status == -9
        state = read_ledger(ledger)  # verifies
        run = state.runs.get("run")
        charges, results = (len(run.charges), len(run.results)) if run else (0, 0)
        drawn = len(draws_of(ledger))
        assert results <= drawn <= charges, "no draw without its charge on the disk"
        folder = ledger.with_name(ledger.name + ".results")
        stored = {file.name: file.read_bytes() for file in folder.glob("*.npz")}

        status, finished = server.run(ledger, 0)
        assert status == 0
        state = read_ledger(ledger)
        assert state.spent_rho == PLAN, "the same sum as without the crash, to the last digit"
        assert len(state.runs["run"].charges) == len(state.runs["run"].results) == 4
        for name, content in stored.items():
            assert (folder / name).read_bytes() == content, (
                "what was stored is replayed, byte by byte"
            )
        # A draw is repeated only if it died with its process before its file was complete.
        assert len(draws_of(ledger)) == drawn + 4 - len(stored)
        assert 4 <= len(draws_of(ledger)) <= 5
        lost_draws += len(draws_of(ledger)) - 4

        if point % 8 != 1:
            continue
        replayed = server.run(ledger, 0)[1]
        assert replayed["results"] == finished["results"]
        assert len(draws_of(ledger)) == drawn + 4 - len(stored), "a replay draws nothing"
    assert lost_draws > 0, "the points reach between draw and store"


@pytest.mark.slow
def test_killed_twice(server, tmp_path):
    """Crash, resume, crash again at the same place of the resumed run, resume."""
    for point in range(2, 60, 7):
        ledger = tmp_path / f"twice-{point}"
        assert server.run(ledger, point)[0] == -9
        assert server.run(ledger, point)[0] in (-9, 0), "a resumed run passes fewer points"
        assert server.run(ledger, 0)[0] == 0
        assert read_ledger(ledger).spent_rho == PLAN
