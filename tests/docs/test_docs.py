"""The documentation's own promises: its example works, its pages are listed, its command reference can be made."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

import dprap
from dprap.queries import Marginal
from dprap.relaxed import answers
from dprap.workload import all_kway

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = DOCS.parent / "src" / "dprap"
MADE_BY_A_RUN = ("release/",)


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


def test_the_architecture_names_every_module_and_no_other() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z_/]+\.py)` \| \S", page, re.MULTILINE)
    there = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(listed) == sorted(there)


def test_the_architecture_names_only_what_exists() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py)?)`", page)
    paths = [name for name in named if "/" in name or name.endswith(".py")]
    assert len(paths) > 150
    assert [name for name in paths if not (SOURCE / name).exists()] == []


def test_long_packages_give_each_module_a_line() -> None:
    long = 0
    for package in sorted({path.parent for path in SOURCE.rglob("*.py")} - {SOURCE}):
        modules = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
        if len(modules) > 5:
            long += 1
            opening = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
            # the first line says what the package is; a module's own line begins with its name, or a list of names
            starts = "\n".join(re.split(r"  |:|\| \w", line)[0] for line in opening.splitlines()[1:])
            named = set(re.findall(r"\w+", starts))
            assert set(modules) <= named, (package.name, sorted(set(modules) - named))
    assert long >= 10


def test_every_public_name_is_there() -> None:
    for name in dprap.__all__:
        assert getattr(dprap, name) is not None


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/privacy.md", "docs/how-it-works.md"]
)
def test_files_that_a_page_names_exist(page: str) -> None:
    root = DOCS.parent
    named = re.findall(r"`((?:[a-z_-]+/)+[a-z_]*(?:\.py|\.md|\.toml)?)`", (root / page).read_text(encoding="utf-8"))
    paths = [name.removeprefix("dprap/") for name in named if name not in MADE_BY_A_RUN]
    places = (root, SOURCE, root / "bench" / "src" / "dprap_bench")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []
