"""The code and the commands of guides: code runs on an invented table, commands are ones that there
are.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from tests.docs.pages import DOCS

import dprap
from dprap.cli.app import app
from dprap.datasets import example, example_schema
from dprap.sources import open as sources_open

PAGES = (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md")))
NAMES = [
    *("age", "sex", "region", "education", "education_years", "marital", "income", "smoker"),
]
# Commands of the second package, whose own tests have them.
ELSEWHERE = {"bench"}


def blocks(page: Path, kinds: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [found[1] for found in re.finditer(rf"^```(?:{kinds})\n(.*?)^```", text, re.M | re.S)]


def commands_of(page: Path) -> Iterator[str]:
    """Every command that a page shows: in blocks of their own, and within lines."""
    for block in blocks(page, "|sh"):
        for line in block.replace("\\\n", " ").splitlines():
            yield from (part.strip() for part in line.split("&&"))
    for found in re.finditer(r"`(dprap [^`]*)`", page.read_text(encoding="utf-8")):
        yield " ".join(found[1].split())


def wrong(line: str) -> str | None:
    """What is wrong with a command: no such command, or no such option; None if nothing is."""
    words = shlex.split(line, comments=True)[1:]
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] in ELSEWHERE or words[0].isupper():
            return None
        if words[0] not in command.commands:
            return f"there is no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    known |= {"--help", "-h", "--version"}
    unknown = [
        word for word in words if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known
    ]
    return f"there is no option {unknown[0]}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    shown = [line for line in commands_of(page) if line.startswith("dprap ")]
    assert [(line, wrong(line)) for line in shown if wrong(line)] == []


def test_a_command_that_there_is_not_is_noticed() -> None:
    assert wrong("dprap schema revew schema.yaml") == "there is no command revew"
    assert wrong("dprap synth people.csv --epsilom 1") == "there is no option --epsilom"
    assert wrong("dprap synth people.csv -e 1 --yes  # once") is None
    assert sum(line.startswith("dprap ") for page in PAGES for line in commands_of(page)) > 100


@pytest.mark.slow
def test_the_code_of_the_guides_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    described = example_schema().as_mapping()
    described["columns"] = {name: described["columns"][name] for name in NAMES}
    described.pop("constraints", None)
    dprap.Schema.of(described).save("schema.yaml")
    names: dict[str, Any] = {"df": example(2000, seed=1).select(NAMES).to_pandas()}
    for page in ("own-table.md", "../README.md", "release.md", "intervals.md"):
        of_page = blocks(DOCS / page, "python")
        assert of_page, page
        for block in of_page:
            exec(compile(block, page, "exec"), names)  # noqa: S102 - our own page
            names["release"].save("release") if not Path("release").exists() else None
            Path("release").rename("of-own-table") if page == "own-table.md" else None


def test_the_sources_of_the_guide_are_called_as_they_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = []
    signature = inspect.signature(sources_open.open_source)
    monkeypatch.setattr(
        sources_open,
        "open_source",
        lambda *given, **named: called.append(signature.bind(*given, **named)),
    )
    (block,) = blocks(DOCS / "sources.md", "python")
    names = {"schema": example_schema(), "spark": SimpleNamespace(table=lambda _: None)}
    exec(compile(block, "sources.md", "exec"), names)  # noqa: S102 - our own page
    assert len(called) == 5
