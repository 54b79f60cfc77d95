"""Streams that cannot carry every sign, and paths that no system takes: text or one line, never a
traceback.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.driving import as_process, in_process
from tests.release.made import save_made_release

from dprap.schema import Schema

LONG = ["a" * 300, "a/" * 3000 + "a"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_made_release(tmp_path / "out")
    Schema.of({"columns": {"größe": {"type": "categorical", "values": ["groß", "😀"]}}}).save(
        tmp_path / "s.yaml"
    )
    return tmp_path


def test_ascii_streams(folder: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    plan = as_process(
        folder,
        "plan",
        "s.yaml",
        "-e",
        "1",
        "--rows",
        "1000",
        "--method",
        "independent",
        "--kway",
        "1",
        **ascii_only,
    )
    assert plan.code == 0, plan.err
    assert "\\u03b5 = 1" in plan.out
    answered = as_process(folder, "answer", "out", "sex = F", "--json", **ascii_only)
    assert answered.code == 0, answered.err
    assert json.loads(answered.out)["question"] == "sex = F"


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize(
    "command",
    [
        "schema check {}", "schema check s.yaml {}", "schema draft {} -o d.yaml", "schema draft s.yaml -o {}.yaml", "plan {} -e 1", "answer {} x",
        "plan s.yaml -e 1 --rows 9 --workload {}", "report {}", "report out -o {}", "evaluate out {}", "ledger show {}", "ledger verify {}",
        "resume {}", "synth {} --schema s.yaml -e 1 --out new", "synth t.csv --schema s.yaml -e 1 --out {}",
        "synth t.csv --schema s.yaml -e 1 --out new --ledger {}", "synth t.csv --schema s.yaml -e 1 --out new --public {}",
    ],
)  # fmt: skip
def test_paths_that_are_too_long(
    command: str,
    long: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    (folder / "t.csv").write_text("größe\ngroß\n")
    done = in_process(
        monkeypatch,
        capsys,
        *command.format(long).split(),
        *(["--yes", "--quiet"] if "synth" in command else []),
    )
    assert done.code in (3, 4), done.err
    assert "Traceback" not in done.err
    assert done.err.count("error: ") == 1
    assert not (folder / "new").exists()


def test_a_stranger_cannot_command_the_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "out" / "schema.yaml"
    path.write_text(path.read_text().replace("F,", '"\\e[2JF",'), encoding="utf-8")
    for question in ("smoker = true", "sex = x"):
        done = in_process(
            monkeypatch, capsys, "answer", str(folder / "out"), question, "--by", "sex"
        )
        assert "\x1b[2J" not in done.out + done.err
        assert "x1b[2J" in done.out + done.err
