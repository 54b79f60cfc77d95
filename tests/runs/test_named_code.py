"""Query families from code that the steward names: on the command line, in workload files, and in
resumed runs.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
from tests.cli.driving import in_process, write_inputs

import dprap
from dprap.errors import DataError, SettingsError, WorkloadError
from dprap.privacy import read_ledger
from dprap.runs.options import RunOptions
from dprap.workload.files import read_workload

CODE = """
import dprap
print("code ran")
odd = dprap.Custom("odd", ("sex", "smoker"), lambda row: (row["sex"][0] + row["smoker"][1]) % 2)
several = [odd, dprap.Marginal(("sex", "smoker"))]
def for_schema(schema):
    return dprap.Custom("last age", ("age",), lambda row: row["age"][schema.domain.size("age") - 1])
def broken(schema):
    return 1 / 0
other = dprap.Custom("odd", ("sex", "age"), lambda row: row["sex"][0] * row["age"][0])
nothing = []
number = 7
"""
QUICK = {"epsilon": 1.0, "method": "independent"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_inputs(tmp_path)
    (tmp_path / "own_code.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPRAP_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("own_code", None)
    importlib.invalidate_caches()
    return tmp_path


def planned(**options: object) -> dprap.Workload:
    return dprap.plan("schema.yaml", records=400, **QUICK, **options).workload


@pytest.mark.usefixtures("folder")
def test_names_stand_for_families() -> None:
    assert [str(f) for f in planned(queries="own_code:odd")] == ["odd(sex, smoker)"]
    both = planned(queries="own_code:several, own_code:for_schema", kway=1)
    assert [str(f) for f in both][-3:] == ["odd(sex, smoker)", "sex×smoker", "last age(age)"]
    assert len(both) == 14 + 3
    before = list(sys.path)
    for wrong, message in (
        ("own_code:missing", "has no 'missing'"),
        ("own_code:for_schemas", "has no 'for_schemas'. Did you mean 'for_schema'?"),
        ("no_such_code:odd", "no module 'no_such_code'"),
        ("own_code:broken", "fails on the schema .ZeroDivisionError"),
        ("own_code:nothing", "it has none"),
        ("own_code:number", "it has int"),
    ):
        with pytest.raises(WorkloadError, match=message):
            planned(queries=wrong)
    assert sys.path == before


@pytest.mark.usefixtures("folder")
def test_a_workload_file_loads_no_code_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    Path("workload.json").write_text(json.dumps([["sex"], {"custom": "own_code:odd", "weight": 3}]))
    with pytest.raises(WorkloadError, match="own_code if you trust it"):
        planned(workload="workload.json")
    domain = dprap.Schema.load("schema.yaml").domain
    with pytest.raises(WorkloadError, match="nobody said that code may be loaded"):
        read_workload("workload.json", domain)
    assert "code ran" not in capsys.readouterr().out
    workload = planned(workload="workload.json", queries="own_code")
    assert [str(f) for f in workload] == ["sex", "odd(sex, smoker)"]
    assert workload.weights == (1.0, 3.0)
    assert "code ran" in capsys.readouterr().out


def test_a_run_with_own_code_is_resumed_with_the_same_values_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise DataError("the disk is full.")

    command = (
        "synth",
        "table.csv",
        "--schema",
        "schema.yaml",
        "-e",
        "1",
        "--method",
        "independent",
        "--yes",
    )
    with monkeypatch.context() as patch:
        patch.setattr("dprap.encoding.write_tables.write_chunks", full)
        assert (
            in_process(
                monkeypatch, capsys, *command, "--queries", "own_code:odd", "--out", "out"
            ).code
            == 3
        )
    kept = json.loads(Path("out.private/job.json").read_text())
    assert kept["options"]["queries"] == "own_code:odd"
    spent = read_ledger("table.csv.dprap/ledger.jsonl").spent_rho
    (folder / "own_code.py").write_text(CODE.replace("% 2", "* 0.5"))
    sys.modules.pop("own_code")
    importlib.invalidate_caches()
    with pytest.raises(SettingsError, match="other values than when the run began"):
        dprap.resume("out")
    (folder / "own_code.py").write_text(CODE)
    sys.modules.pop("own_code")
    importlib.invalidate_caches()
    assert in_process(monkeypatch, capsys, "resume", "out", "--quiet").code == 0
    assert read_ledger("table.csv.dprap/ledger.jsonl").spent_rho == spent > 0
    assert [str(f) for f in dprap.load("out").workload] == ["odd(sex, smoker)"]


@pytest.mark.usefixtures("folder")
def test_a_release_that_was_read_back_is_evaluated_with_the_code_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The errors of a custom query are those that the run itself could have measured."""
    made = dprap.synthesize(
        "table.csv", "schema.yaml", queries="own_code:odd", insecure_noise_seed=1, **QUICK
    )
    made.save("out")
    known = made.evaluate("table.csv").errors["synthetic"]
    assert known.max > 0
    assert dprap.load("out").evaluate("table.csv", queries="own_code:odd").errors[
        "synthetic"
    ].max == pytest.approx(known.max, abs=1e-6)
    found = in_process(
        monkeypatch, capsys, "evaluate", "out", "table.csv", "--queries", "own_code:odd", "--json"
    )
    assert json.loads(found.out[found.out.index("{") :])["synthetic"]["max"] == pytest.approx(
        known.max, abs=1e-6
    )
    for queries, message in (
        (None, "does not store the function of its custom query 'odd'. Name its code"),
        ("own_code:for_schema", "does not store the function of its custom query 'odd'"),
        ("own_code:other", "1 queries over sex, smoker; its code has 1 over sex, age"),
    ):
        with pytest.raises(WorkloadError, match=message):
            dprap.load("out").evaluate("table.csv", queries=queries)


def test_the_preset_of_the_paper_means_its_method_and_accounting() -> None:
    options = RunOptions(epsilon=1.0, preset="paper")
    assert (options.method, options.accounting, options.certificate_share) == ("rap", "paper", 0.0)
    with pytest.raises(SettingsError, match="--preset paper means --method rap, not gaussian"):
        RunOptions(epsilon=1.0, preset="paper", method="gaussian")
    for name, default in (("method", "adaptive"), ("accounting", "exact")):
        with pytest.raises(SettingsError, match=f"--preset paper means .* not {default}"):
            RunOptions.of(epsilon=1.0, preset="paper", **{name: default})
    assert RunOptions(epsilon=1.0, preset="paper", method="rap", accounting="paper") == options
    assert RunOptions(epsilon=1.0, preset=None).method == "adaptive"
    assert RunOptions.from_plain(options.as_plain(Path("/x")), Path("/x")) == options
    kept = options.as_plain(Path("/x"))
    earlier = {name: value for name, value in kept.items() if name not in ("preset", "queries")}
    assert RunOptions.from_plain(earlier | {"version": 1}, Path("/x")).preset is None
    with pytest.raises(KeyError, match="preset"):
        RunOptions.from_plain(earlier, Path("/x"))
