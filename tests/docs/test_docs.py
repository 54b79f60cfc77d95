"""The documentation's own promises: its example works, its pages are listed, its command reference
can be made.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer
import yaml
from tests.docs.pages import DOCS, docs_script
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

import dprap
from dprap.accounting.budget import largest_belief, percent_rounded_up
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
        pytest.param(
            "rap",
            {"rounds": 2, "queries_per_round": 9},
            marks=pytest.mark.slow,
            id="rap",
        ),
        ("adaptive", {"synthetic_rows": 50, "steps": 30, "final_steps": 60}),
    ],
)
def test_the_queries_of_the_guide_are_answered(
    own_queries: types.ModuleType, method: str, settings: dict[str, int]
) -> None:
    """Each class of the tutorial, with the paper's method and with the default, against the exact
    answers.
    """
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
        intervals="no",
        insecure_noise_seed=1,
    )
    exact = table_answers(encode(table, schema), families)
    for found, truth in zip(release.shares(families), exact, strict=True):
        assert 0 < truth.max() <= 1
        np.testing.assert_allclose(found, truth, atol=0.05)


@pytest.mark.parametrize("method", ["adaptive", "rap"])
def test_the_workload_file_of_the_guide_is_read(
    own_queries: types.ModuleType,
    method: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every entry stands for queries that both methods take."""
    monkeypatch.setitem(sys.modules, "my_queries", own_queries)
    (entries,) = re.findall(
        r"```yaml\n(.*?)```", (DOCS / "custom-queries.md").read_text(encoding="utf-8"), re.DOTALL
    )
    file = tmp_path / "workload.yaml"
    file.write_text(entries, encoding="utf-8")
    planned = dprap.plan(
        example_schema(),
        records=4000,
        epsilon=1.0,
        workload=file,
        queries="my_queries",
        method=method,
    )
    kinds = [type(family).__name__ for family in planned.workload]
    assert kinds == ["Marginal", "Threshold", "Range", "Range", "Range", "Custom"]
    assert planned.workload.weights[-1] == 2


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
    parts = dict(
        zip(headings, re.split(r"^## dprap .+$", made, flags=re.MULTILINE)[1:], strict=True)
    )
    assert {"`--epsilon` `-e`", "`--schema`", "`--out`"} <= set(
        re.findall(r"^\| (.+?) \|", parts["dprap synth"], re.M)
    )


def test_every_page_is_in_the_navigation_and_exists() -> None:
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = re.findall(r"(\S+\.md)", yaml.safe_dump(site["nav"]))
    hidden = {name.lstrip("/") for name in site["not_in_nav"].split()}
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | {"commands.md"}
    assert sorted(listed) == sorted(there - hidden)  # each once
    kinds = ["Start here", "Tutorials", "How-to guides", "Explanation", "Reference"]
    assert [next(iter(entry)) for entry in site["nav"]] == kinds


def test_prose_is_broken_at_100_columns() -> None:
    """docs/wrap_pages.py breaks it; tables and code are as long as they must be."""
    wrapped = docs_script("wrap_pages").wrapped
    for page in (DOCS.parent / "README.md", *DOCS.rglob("*.md")):
        if "figures" in page.parts or page.name == "commands.md":
            continue
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```|^\s*\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
        long = [line for line in prose.splitlines() if len(line) > 100]
        assert [line for line in long if wrapped(line) != line + "\n"] == [], page.name
    assert max(map(len, wrapped("word " * 100).splitlines())) <= 100


def test_no_item_of_a_list_is_swallowed_by_an_indented_paragraph() -> None:
    """Behind a paragraph inside of an item, the next item needs an empty line to begin."""
    item = re.compile(r"\s*([-*]|\d+\.) +\S")
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        for block in re.split(r"\n\s*\n", prose):
            first, *others = block.lstrip("\n").split("\n")
            if first.startswith(" ") and not item.match(first) and "|" not in first:
                assert not any(map(item.match, others)), (page.name, first)


def test_the_guide_to_epsilon_states_beliefs_that_are_bounds() -> None:
    rows = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) % \|$",
        (DOCS / "epsilon.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) == 6
    for epsilon, *stated in rows:
        for prior, percent in zip((0.01, 0.5), stated, strict=True):
            assert percent == percent_rounded_up(largest_belief(prior, float(epsilon)))


def test_a_linked_page_or_picture_exists() -> None:
    made = {
        "commands.md",
        *(f"tutorials/{path.stem}.ipynb" for path in (DOCS / "tutorials").glob("*.md")),
    }
    for page in (*DOCS.rglob("*.md"), DOCS.parent / "README.md"):
        prose = re.sub(
            r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", prose):
            if "://" not in target:
                path = (page.parent / target).resolve()
                assert path.exists() or str(path.relative_to(DOCS)) in made, (page.name, target)


def test_figures_are_those_of_the_kept_results() -> None:
    """README and the pages repeat the tables that `dprap bench figures` makes; a figure never
    differs between pages.
    """
    script = docs_script("make_result_tables")
    for page, text in script.made().items():
        assert page.read_text(encoding="utf-8") == text, (
            f"{page.name}: run docs/make_result_tables.py"
        )
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert all(f"| {words} | ." in readme for words in script.README_NAMES)
    assert (DOCS / "benchmarks.md").read_text(encoding="utf-8").count("<!-- tables.md: ") > 15


def test_a_table_shows_how_many_draws_its_entries_have() -> None:
    table = [
        "| method | ε = 1 | ε = 2 |",
        "|---|---|---|",
        "| a | 0.1 (0.1–0.2, 3 draws) | 0.3 / 0.5 (0.2–0.4, 2 draws) |",
        "| b | – | 0.2 |",
    ]
    script = docs_script("make_result_tables")
    assert script.with_draws(table)[2:] == [
        "| a | 0.1 (0.1–0.2) | 0.3 (0.2–0.4) / 0.5 | 2 to 3 |",
        "| b | – | 0.2 | 1 |",
    ]
    assert script.with_draws(table[:2] + table[3:]) == table[:2] + table[3:]


def test_tables_with_the_same_words_above_are_two_tables() -> None:
    page = (
        "# Results\n## one\nwords\n\n| a |\n|---|\n\n## two\n\nwords: maximum error / TV\n\n| b"
        " |\n|---|\n"
    )
    assert docs_script("make_result_tables").tables_of(page) == {
        "words": ["| a |", "|---|"],
        "two: words": ["| b |", "|---|"],
    }


def test_the_architecture_names_every_module_and_no_other() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z_/]+\.py)` \| \S", page, re.MULTILINE)
    there = [
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if path.name != "__init__.py"
    ]
    assert sorted(listed) == sorted(there)


def test_the_architecture_names_only_what_exists() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py)?)`", page)
    paths = [name for name in named if "/" in name or name.endswith(".py")]
    assert len(paths) > 150
    assert [name for name in paths if not (SOURCE / name).exists()] == []


SHARED_NAMES = {
    # One subject, seen by several packages: the noun itself, its command, its page in the studio.
    "discover", "ledger", "options", "plan", "release", "review", "schema",
    # The same act or form at two places.
    "arguments", "files", "models", "outline", "protocol", "touched_values",
}  # fmt: skip


def test_no_two_files_of_one_name_have_different_subjects() -> None:
    """Names that stand twice are listed above, and none is listed that does not."""
    trees = (SOURCE, DOCS.parent / "bench" / "src" / "dprap_bench")
    names = [path.stem for tree in trees for path in tree.rglob("*.py") if path.stem != "__init__"]
    assert {name for name in names if names.count(name) > 1} == SHARED_NAMES


def test_long_packages_give_each_module_a_line() -> None:
    long = 0
    for package in sorted({path.parent for path in SOURCE.rglob("*.py")} - {SOURCE}):
        modules = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
        if len(modules) > 5:
            long += 1
            opening = (
                ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
                or ""
            )
            # the first line says what the package is; a module's own line begins with its name, or
            # a list of names
            starts = "\n".join(
                re.split(r"  |:|\| \w", line)[0] for line in opening.splitlines()[1:]
            )
            named = set(re.findall(r"\w+", starts))
            assert set(modules) <= named, (package.name, sorted(set(modules) - named))
    assert long >= 10


def test_every_public_name_is_there_and_in_the_reference() -> None:
    documented = set(
        re.findall(
            r"^::: [\w.]*?(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
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
    named = re.findall(
        r"`((?:[a-z_-]+/)+[a-z_]*(?:\.py|\.md|\.toml)?)`", (root / page).read_text(encoding="utf-8")
    )
    paths = [name.removeprefix("dprap/") for name in named if name not in MADE_BY_A_RUN]
    places = (root, SOURCE, root / "bench" / "src" / "dprap_bench")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def resolved(name: str) -> object:
    """What a dotted name of docs/paper.md means: a module, or something in one; `dprap.` and its
    package may be left out.
    """
    packages = (
        "",
        "dprap.",
        "dprap.mechanisms.",
        "dprap.accounting.",
        "dprap.privacy.",
        "dprap.queries.",
    )
    for package in packages:
        parts = f"{package}{name}".split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found: object = importlib.import_module(".".join(parts[:cut]))
                for attribute in parts[cut:]:
                    found = getattr(found, attribute)
            except (ImportError, AttributeError):
                continue
            return found
    return None


def test_the_page_on_the_paper_names_what_is_there() -> None:
    """Each dotted name in the tables of docs/paper.md exists, each option is a command's, each
    figure is drawn.
    """
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("|")]
    spans = {span for row in rows for span in re.findall(r"`([^`]+)`", row[1])}
    names = {span for span in spans if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", span)}
    assert len(names) > 20
    assert {name for name in names if resolved(name) is None} == set()
    reference = docs_script("make_commands").reference()
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page))
    assert len(options) > 10
    assert {option for option in options if f"`{option}`" not in reference} == set()
