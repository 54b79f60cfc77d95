"""Who may reach the exact counts.

The contracts in pyproject.toml say who may import what; here is what they cannot see.
"""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dprap

ROOT = Path(dprap.__file__).parent
PROJECT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
PUBLIC = next(
    contract["source_modules"]
    for contract in CONTRACTS
    if contract["name"].startswith("The public side reaches records")
)
PRIVATE_NAMES = {
    "_exact",
    "_source",
    "_tables",
    "_journal",
    "_steps",
    "_entropy",
    "ExactAnswers",
    "MemorySource",
    "CountSource",
    "add_discrete_gaussian",
    "sample_by_table",
    "pick_top",
    "OsEntropy",
}


def lint(folder):
    """Check the contracts on the package in a folder."""
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache",
         "--config", PROJECT / "pyproject.toml"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def public_trees():
    """The source of every module of the public side, by path."""
    for package in PUBLIC:
        path = ROOT.parent / package.replace(".", "/")
        for file in path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]:
            yield file, ast.parse(file.read_text())


def test_the_contracts_are_kept():
    done = lint(ROOT.parent)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("mechanisms/independent.py", "from dprap.sources import MemorySource"),
        pytest.param(
            "mechanisms/rap.py",
            "def _peek():\n    from dprap.encoding import Codes",
            marks=pytest.mark.slow,
        ),
        ("mechanisms/gaussian.py", "from dprap.privacy.exact_counts import ExactAnswers"),
        pytest.param(
            "mechanisms/record_count.py", "import dprap.privacy.selection", marks=pytest.mark.slow
        ),
        pytest.param("relaxed/rounding.py", "from .. import runs", marks=pytest.mark.slow),
        ("release/release.py", "import dprap.privacy.ledger"),
        pytest.param("queries/marginal.py", "from dprap import schema", marks=pytest.mark.slow),
        pytest.param(
            "encoding/encode_table.py", "from dprap.sources import memory", marks=pytest.mark.slow
        ),
        ("overlooked.py", ""),
    ],
)
def test_a_breach_is_found(tmp_path, module, line):
    shutil.copytree(ROOT, tmp_path / "dprap", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "dprap" / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_the_public_side_names_nothing_private():
    """Nor does it go round the Curator by its private attributes."""
    for file, tree in public_trees():
        for node in ast.walk(tree):
            name = (
                node.attr
                if isinstance(node, ast.Attribute)
                else node.id
                if isinstance(node, ast.Name)
                else None
            )
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            ):
                continue  # a private attribute of its own
            assert name not in PRIVATE_NAMES, (file, name)


def test_the_public_side_imports_nothing_private_by_its_name_in_a_string():
    """`importlib.import_module("dprap.sources")` is invisible to the contracts."""
    private = (
        "dprap.sources",
        "dprap.privacy",
        "dprap.encoding",
        "dprap.evaluate",
        "dprap.api",
        "dprap.synthesizer",
        "dprap.runs",
        "dprap.cli",
    )
    for file, tree in public_trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
                for value in ast.walk(node):
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        assert not value.value.startswith(private), (file, value.value)


def test_the_public_side_was_found():
    assert len(list(public_trees())) > 60
