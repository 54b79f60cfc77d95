"""Turn each tutorial, docs/tutorials/*.md, into a notebook beside it.

The page is the one source. A block of Python or of shell commands becomes a code cell, a block of
text right after it becomes that cell's output, and everything else becomes Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).with_name("tutorials")
_FENCE = re.compile(r"^```(python|sh|text)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
_DOWNLOAD = re.compile(r"^\[Download this page as a notebook\]\(\w+\.ipynb\)\. ", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A part of a page: `kind` is markdown, python or sh; `output` is what the page shows below a
    code block.
    """

    kind: str
    source: str
    output: str | None = None


def cells(page: str) -> Iterator[Cell]:
    """The parts of a page in order."""
    pieces = _FENCE.split(page)
    prose, rest = pieces[0], list(zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True))
    if prose.strip():
        yield Cell("markdown", prose.strip())
    while rest:
        kind, source, prose = rest.pop(0)
        if kind == "text":  # shown by itself, so it is part of the prose
            yield Cell("markdown", f"```text\n{source}```\n{prose}".strip())
            continue
        output = None
        if rest and rest[0][0] == "text" and not prose.strip():
            _, output, prose = rest.pop(0)
        yield Cell(kind, source.rstrip("\n"), output)
        if prose.strip():
            yield Cell("markdown", prose.strip())


def notebook(page: str) -> dict[str, Any]:
    """A page as a notebook, format 4.5."""
    made = [_cell(number, cell) for number, cell in enumerate(cells(_DOWNLOAD.sub("", page)))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(number: int, cell: Cell) -> dict[str, Any]:
    if cell.kind == "markdown":
        return {
            "cell_type": "markdown",
            "id": f"cell-{number}",
            "metadata": {},
            "source": cell.source,
        }
    source = (
        cell.source
        if cell.kind == "python"
        else "\n".join(f"!{line}" for line in cell.source.splitlines())
    )
    shown = (
        []
        if cell.output is None
        else [{"output_type": "stream", "name": "stdout", "text": cell.output}]
    )
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "metadata": {},
        "execution_count": None,
        "source": source,
        "outputs": shown,
    }


if __name__ == "__main__":
    for path in sorted(TUTORIALS.glob("*.md")):
        made = notebook(path.read_text(encoding="utf-8"))
        path.with_suffix(".ipynb").write_text(
            json.dumps(made, ensure_ascii=False, indent=1), encoding="utf-8"
        )
