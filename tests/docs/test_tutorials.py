"""The code of the first page and of the tutorials runs, and prints what the pages show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli.driving import in_process
from tests.docs.pages import DOCS, docs_script

notebooks = docs_script("make_notebooks")
TUTORIALS = sorted(path.stem for path in (DOCS / "tutorials").glob("*.md"))
# The first page runs the demo on 20,000 people, which takes a minute.
SMALLER = {
    "dprap demo --out demo-release": "dprap demo --out demo-release --rows 2000 --epsilon 20"
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["index", "tutorials/steward", "tutorials/analyst", "tutorials/researcher"]
)
def test_a_page_runs_and_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__tutorial__"}
    ran = 0
    for cell in notebooks.cells((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        printed = ""
        if cell.kind == "python":
            exec(compile(cell.source, page, "exec"), names)  # noqa: S102 - our own page
            printed = capsys.readouterr().out
        elif cell.kind == "sh":
            for line in cell.source.splitlines():
                done = in_process(monkeypatch, capsys, *shlex.split(SMALLER.get(line, line))[1:])
                assert done.code == 0, (line, done.err)
                printed += done.err + done.out
        ran += cell.kind != "markdown"
        if cell.output is not None:
            labels = {label(line) for line in cell.output.splitlines()}
            assert labels <= {label(line) for line in printed.splitlines()}, printed
    assert ran >= 3


def label(line: str) -> str:
    """The words that begin a line of output; numbers differ from run to run."""
    found = re.match(r"[^\d(/]*", line)
    return " ".join(found[0].split()).rstrip(" -") if found else ""


@pytest.mark.slow  # nbformat takes seconds to load
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_becomes_a_notebook(name: str) -> None:
    page = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    made = notebooks.notebook(page)
    import nbformat  # takes seconds to load

    nbformat.validate(nbformat.from_dict(made))
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert sum(page.count(f"```{kind}\n") for kind in ("python", "sh")) == len(code) >= 3
    for source in code:
        if not source.startswith("!"):
            compile(source, name, "exec")
    assert f"({name}.ipynb)" in page
    assert ".ipynb" not in made["cells"][0]["source"]
