"""The documentation's own promises: its example works, its pages are listed, its command reference can be made."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

from dprap.queries import Marginal
from dprap.relaxed import answers
from dprap.workload import all_kway

DOCS = Path(__file__).parents[2] / "docs"


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_mechanism_of_the_guide_works(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("guide_pairs")
    monkeypatch.setitem(sys.modules, "guide_pairs", module)
    exec(python_blocks("adding-a-mechanism.md")[0], module.__dict__)  # noqa: S102 - our own page
    codes = small_codes()
    curator = curator_on(codes, epsilon=5.0)
    workload = all_kway(DOMAIN, 2)
    settings = module.__dict__["PairsSettings"](synthetic_rows=50)
    result = module.__dict__["run"](curator, workload, settings, seed=0)
    assert curator.remaining == 0
    outlined = module.__dict__["outline"](
        workload, settings, budget_rho=curator.rho, neighbors=curator.neighbors, rows=None
    )
    assert sum(step.rho for step in outlined) == curator.spent
    assert len(result.measurements) == 6
    (found,) = answers(result.relaxed, [Marginal(("a", "b"))])
    np.testing.assert_allclose(found, exact_fractions(codes, ("a", "b")), atol=0.05)


def test_python_blocks_are_python() -> None:
    for page in sorted(DOCS.glob("*.md")):
        for block in python_blocks(page.name):
            compile(block, page.name, "exec")


def test_the_command_reference_names_every_command() -> None:
    spec = importlib.util.spec_from_file_location("make_commands", DOCS / "make_commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.reference()
    for command in ("demo", "schema draft", "schema check", "plan", "synth", "resume", "answer", "report", "evaluate"):
        assert f"## dprap {command}\n" in made
    assert "None" not in made


def test_every_page_is_in_the_navigation_and_exists() -> None:
    listed = set(
        re.findall(r"(\S+\.md)", yaml.safe_dump(yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())["nav"]))
    )
    there = {page.name for page in DOCS.glob("*.md")} | {"commands.md"}
    assert listed == there
