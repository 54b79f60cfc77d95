"""Mechanisms of installed packages: really discovered, checked, and as good as dprap's own on the
command line.
"""

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.driving import in_process

import dprap
from dprap.datasets import example, example_schema
from dprap.errors import SettingsError
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.registry import method_named, method_names

OWN = ["adaptive", "gaussian", "independent", "rap"]
PROJECT = Path(__file__).parent / "dprap-pairs"
PAIRS = PROJECT / "dprap_pairs.py"
# as pip writes the project's pyproject.toml down
PAIRS_ENTRY = "[dprap.mechanisms]\npairs = dprap_pairs:MECHANISM\n"
GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-mechanism.md"


def test_dpraps_own_are_registered_the_same_way():
    assert method_names()[: len(OWN)] == OWN
    assert DEFAULT_METHOD in OWN
    for name in OWN:
        assert isinstance(method_named(name).mechanism, Mechanism)
    assert [name for name in OWN if method_named(name).takes_public] == ["adaptive"]


def test_a_plug_in_is_found_planned_and_run(install):
    assert "pairs" not in method_names()
    install("dprap-pairs", PAIRS_ENTRY, dprap_pairs=PAIRS.read_text())
    assert "pairs" in method_names()
    assert "dprap_pairs" not in sys.modules, "names are known without importing packages"
    release = dprap.synthesize(
        example(500, seed=1),
        example_schema(),
        epsilon=1.0,
        kway=2,
        marginals=4,
        method="pairs",
        settings={"synthetic_rows": 20},
        insecure_noise_seed=0,
    )
    assert release.facts.method == "pairs"
    assert release.facts.settings == {"synthetic_rows": 20}
    assert len(release.measurements) == 4
    assert len(release.table(rows=7)) == 7
    with pytest.raises(
        SettingsError,
        match=r"method pairs has no setting 'rounds'\. Its settings are: synthetic_rows",
    ):
        method_named("pairs").settings({"rounds": 3})


def test_the_guide_shows_the_tested_plug_in():
    guide = GUIDE.read_text(encoding="utf-8")
    assert PAIRS.read_text() in guide
    project = (PROJECT / "pyproject.toml").read_text()
    assert project in guide
    assert tomllib.loads(project)["project"]["entry-points"]["dprap.mechanisms"] == {
        "pairs": "dprap_pairs:MECHANISM"
    }


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (
            "import nothing_of_that_name",
            "cannot be imported (ModuleNotFoundError: No module named 'nothing_of_that_name')",
        ),
        ("raise ValueError('one\\ntwo')", "cannot be imported (ValueError: one)"),
        ("raise SystemExit('gone')", "cannot be imported (SystemExit: gone)"),
        ("def broken(:", "cannot be imported (SyntaxError: "),
        ("OTHER = 1", "cannot be imported (AttributeError: "),
        ("MECHANISM = 5", "with run, outline and settings, but a int"),
        (
            "{imports}\nMECHANISM = Mechanism(run, outline)",
            "missing 2 required positional arguments: 'settings' and 'summary'",
        ),
        (
            "{imports}\nMECHANISM = Mechanism(run, None, Settings, '')",
            "`outline` must be a function",
        ),
        (
            "{imports}\nMECHANISM = Mechanism(outline, outline, Settings, '')",
            "`run` must be callable as run(curator, ",
        ),
        (
            "{imports}\nMECHANISM = Mechanism(run, run, Settings, '')",
            "`outline` must be callable as outline(workload, ",
        ),
        (
            "{imports}\nMECHANISM = Mechanism(run, outline, Settings, '', takes_public=True)",
            "seed, progress, public)",
        ),
        (
            "{imports}\nMECHANISM = Mechanism(run, outline, dict, '')",
            "`settings` must be a frozen dataclass",
        ),
        ("{imports}\nMECHANISM = Mechanism(run, outline, Bare, '')", "a default for every field"),
        ("{imports}\nMECHANISM = Mechanism(run, outline, Loose, '')", "must be a frozen dataclass"),
    ],
)
def test_a_plug_in_at_fault_is_named_in_one_line(install, module, complaint):
    imports = (
        "from dataclasses import dataclass\nfrom dprap.mechanisms.protocol import Mechanism\n"
        "def run(curator, workload, settings, *, seed, progress): ...\n"
        "def outline(workload, settings, *, budget_rho, neighbors, rows): ...\n"
        "@dataclass(frozen=True)\nclass Settings: rows: int = 1\n"
        "@dataclass(frozen=True)\nclass Bare: rows: int\n"
        "@dataclass\nclass Loose: rows: int = 1\n"
    )
    install(
        "broken-plug-in", "[dprap.mechanisms]\nbroken = broken_plug_in:MECHANISM\n",
        broken_plug_in=module.replace("{imports}", imports),
    )  # fmt: skip
    assert "broken" in method_names()
    with pytest.raises(SettingsError) as refused:
        method_named("broken")
    assert "method 'broken' of package broken-plug-in" in str(refused.value)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert method_named("independent").name == "independent", "other methods are not touched"


def test_a_name_declared_twice_is_refused_with_both_packages(install):
    for package in ("first-pairs", "second-pairs"):
        install(package, PAIRS_ENTRY)
    with pytest.raises(
        SettingsError,
        match="packages first-pairs and second-pairs declare the method 'pairs' more than",
    ):
        method_named("pairs")
    install("third-adaptive", "[dprap.mechanisms]\nadaptive = dprap_pairs:MECHANISM\n")
    with pytest.raises(
        SettingsError, match="packages dprap and third-adaptive declare the method 'adaptive'"
    ):
        method_named("adaptive")


def test_a_package_that_declares_a_name_twice_is_refused(install):
    install("dprap-pairs", PAIRS_ENTRY + "pairs = dprap_pairs:OTHER\n")
    with pytest.raises(
        SettingsError, match="package dprap-pairs declares the method 'pairs' more than once"
    ):
        method_named("pairs")


def test_unknown_methods_are_answered_with_the_installed_ones(install):
    install("dprap-pairs", PAIRS_ENTRY)
    with pytest.raises(SettingsError, match=r"there is no method 'pears'. Did you mean 'pairs'"):
        method_named("pears")


def test_the_command_line_takes_an_installed_method_and_resumes_it(
    install, tmp_path, monkeypatch, capsys
):
    def dprap_command(*arguments):
        return in_process(monkeypatch, capsys, *map(str, arguments))

    install("dprap-pairs", PAIRS_ENTRY, dprap_pairs=PAIRS.read_text())
    table, schema, out = tmp_path / "people.csv", tmp_path / "schema.json", tmp_path / "release"
    pd.DataFrame({"a": [0, 1, 2] * 50, "b": [0, 1] * 75}).to_csv(table, index=False)
    schema.write_text(json.dumps({"a": 3, "b": 2}))
    planned = dprap_command(
        "plan", schema, "--epsilon", 1, "--records", 150, "--kway", 2, "--method", "pairs"
    )
    assert planned.code == 0, planned.err
    assert "pairs: every pair of columns once" in planned.out
    made = dprap_command(
        "synth", table, "--schema", schema, "--epsilon", 1, "--kway", 2, "--method", "pairs",
        "--synthetic-rows", 10, "--out", out,
    )  # fmt: skip
    assert made.code == 0, made.err
    assert dprap.load(out).facts.method == "pairs"
    shutil.rmtree(out)
    again = dprap_command("resume", out)
    assert again.code == 0, again.err
    install.remove("dprap-pairs")
    gone = dprap_command("plan", schema, "--epsilon", 1, "--records", 150, "--method", "pairs")
    assert gone.code == 3
    assert "there is no method 'pairs'" in gone.err
    assert "Traceback" not in gone.err
