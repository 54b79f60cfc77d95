"""The documentation's own promises: its example works, its pages are listed, its command reference can be made."""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest
import typer
import yaml
from tests.docs.pages import DOCS, docs_script
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

import dprap
from dprap.cli.app import app
from dprap.datasets import example, example_schema
from dprap.encoding import encode
from dprap.queries import Marginal
from dprap.relaxed import answers
from dprap.release.table_answers import table_answers
from dprap.workload import all_kway

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


@pytest.fixture(scope="module")
def own_queries() -> types.ModuleType:
    """The code of the guide to custom queries, as a module."""
    module = types.ModuleType("my_queries")
    for block in python_blocks("custom-queries.md"):
        assert len(block.splitlines()) <= 15
        exec(block, module.__dict__)  # noqa: S102 - our own page
    return module


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("rap", {"rounds": 2, "queries_per_round": 9, "synthetic_rows": 30}),
        ("adaptive", {"synthetic_rows": 50, "steps": 30, "final_steps": 60}),
    ],
)
def test_the_queries_of_the_guide_are_answered(
    own_queries: types.ModuleType, method: str, settings: dict[str, int]
) -> None:
    """Each class of the tutorial, with the paper's method and with the default, against the exact answers."""
    schema, table = example_schema(), example(4000, seed=3)
    names = ("two_risks", "parity", "hours_by_region", "halfspaces")
    families = [getattr(own_queries, name)(schema) for name in names]
    release = dprap.synthesize(
        table,
        schema,
        epsilon=20.0,
        delta=1e-9,
        workload=dprap.Workload(schema.domain, families),
        method=method,
        settings=settings,
        certificate_share=0.0,
        insecure_noise_seed=1,
    )
    exact = table_answers(encode(table, schema), families)
    for found, truth in zip(release.shares(families), exact, strict=True):
        assert 0 < truth.max() <= 1
        np.testing.assert_allclose(found, truth, atol=0.05)


def test_python_blocks_are_python() -> None:
    for page in sorted(DOCS.rglob("*.md")):
        for block in python_blocks(str(page.relative_to(DOCS))):
            compile(block, page.name, "exec")


def registered(line: typer.Typer, path: str) -> Iterator[str]:
    """The words that call each command of a command line, read from what was registered with it."""
    for command in line.registered_commands:
        assert command.callback is not None
        yield f"{path} {command.name or command.callback.__name__.replace('_', '-')}"
    for group in line.registered_groups:
        assert group.typer_instance is not None
        name = group.name or group.typer_instance.info.name
        yield from registered(group.typer_instance, f"{path} {name}")


def test_the_command_reference_has_every_command_and_option() -> None:
    made = docs_script("make_commands").reference()
    headings = re.findall(r"^## (dprap .+)$", made, re.MULTILINE)
    assert len(headings) == len(set(headings))
    own = set(registered(app, "dprap"))
    assert {"dprap statement", "dprap schema review", "dprap ledger verify"} <= own
    assert {heading for heading in headings if not heading.startswith("dprap bench ")} == own
    assert "None" not in made
    parts = dict(zip(headings, re.split(r"^## dprap .+$", made, flags=re.MULTILINE)[1:], strict=True))
    assert {"`--epsilon` `-e`", "`--schema`", "`--out`"} <= set(re.findall(r"^\| (.+?) \|", parts["dprap synth"], re.M))


def test_every_page_is_in_the_navigation_and_exists() -> None:
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = re.findall(r"(\S+\.md)", yaml.safe_dump(site["nav"]))
    hidden = {name.lstrip("/") for name in site["not_in_nav"].split()}
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | {"commands.md"}
    assert sorted(listed) == sorted(there - hidden)  # each once
    kinds = ["Start here", "Tutorials", "How-to guides", "Explanation", "Reference"]
    assert [next(iter(entry)) for entry in site["nav"]] == kinds


def test_a_linked_page_or_picture_exists() -> None:
    made = {"commands.md", *(f"tutorials/{path.stem}.ipynb" for path in (DOCS / "tutorials").glob("*.md"))}
    for page in (*DOCS.rglob("*.md"), DOCS.parent / "README.md"):
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", prose):
            if "://" not in target:
                path = (page.parent / target).resolve()
                assert path.exists() or str(path.relative_to(DOCS)) in made, (page.name, target)


def rows_of(text: str) -> list[list[str]]:
    """The cells of every row of the tables in a text, without marks of emphasis."""
    return [
        [cell.strip("*` ") for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"
    ]


def test_figures_are_those_of_the_kept_results() -> None:
    """README and benchmarks repeat the tables that `dprap bench figures` makes; a figure never differs between pages."""
    summary = {
        row[0]: [cell.replace("*", "") for cell in row] for row in rows_of((DOCS / "figures/summary.md").read_text())
    }
    names = {"dprap's default, `adaptive": "adaptive", "AIM": "aim", "MST": "mst", "RAP, the paper's algorithm": "rap"}
    names["Gaussian noise on every marginal, answers only"] = "gaussian"
    readme = {row[0]: row[1:] for row in rows_of((DOCS.parent / "README.md").read_text(encoding="utf-8"))}
    for written, kept in names.items():
        assert readme[written] == summary[kept][1:5], written
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert (DOCS / "figures/summary.md").read_text(encoding="utf-8").split("\n\n")[0] in page
    kept_rows = {
        tuple(re.sub(r" \(.*?\)", "", cell) for cell in row)
        for row in rows_of((DOCS / "figures/tables.md").read_text())
    }
    adult = page[page.index("### ADULT") : page.index("### Number of marginals\n")]
    assert {tuple(row) for row in rows_of(adult)} <= kept_rows


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


def test_every_public_name_is_there_and_in_the_reference() -> None:
    documented = set(re.findall(r"^::: [\w.]*?(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE))
    for name in dprap.__all__:
        if callable(getattr(dprap, name)):
            assert name in documented
    assert {"synthesize", "combine", "Release", "example"} <= documented


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/index.md"),
        *("docs/privacy.md", "docs/how-it-works.md", "docs/adaptive.md"),
    ],
)
def test_files_that_a_page_names_exist(page: str) -> None:
    root = DOCS.parent
    named = re.findall(r"`((?:[a-z_-]+/)+[a-z_]*(?:\.py|\.md|\.toml)?)`", (root / page).read_text(encoding="utf-8"))
    paths = [name.removeprefix("dprap/") for name in named if name not in MADE_BY_A_RUN]
    places = (root, SOURCE, root / "bench" / "src" / "dprap_bench")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []
