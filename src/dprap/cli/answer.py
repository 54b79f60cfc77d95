"""`dprap answer`: ask a release a question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o


def answer(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    question: Annotated[str, typer.Argument(help='Such as "age in 30..39 and sex = F".', metavar="QUESTION")],
    by: Annotated[list[str] | None, typer.Option(help="Break the answer down by a column; may be repeated.")] = None,
    as_json: o.Json = False,
) -> None:
    """Answer a counting question from a release: count and share, with a standard error where it is known."""
    from dprap.cli.output import print_json, results
    from dprap.errors import one_line
    from dprap.release import load
    from dprap.release.answer_question import ask

    answered = ask(load(release), question, by=tuple(by or ()))
    if as_json:
        print_json(answered.as_data())
        return
    for line in answered.lines():
        results.print(one_line(line), markup=False)
