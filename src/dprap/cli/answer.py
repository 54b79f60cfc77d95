"""`dprap answer`: ask a release a question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dprap.cli import options as o


def answer(
    release: Annotated[Path, typer.Argument(help="A release directory.", metavar="DIR")],
    question: Annotated[
        str,
        typer.Argument(
            help='Such as "age in 30..39 and sex = F", or "mean income by region where age >= 65";'
            " without one, all records.",
            metavar="QUESTION",
            show_default=False,
        ),
    ] = "",
    by: Annotated[
        list[str] | None,
        typer.Option(help="Break the answer down by a column; may be repeated.", metavar="COLUMN"),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals, from 0.5 to 0.99.")] = 0.95,
    population: Annotated[
        bool,
        typer.Option(
            "--population", help="Intervals for a population of which the records are a sample."
        ),
    ] = False,
    as_json: o.Json = False,
) -> None:
    """Answer a question from a release, at no cost: how many, or a statistic of a column.

    A condition asks for count and share, each with an interval that says how far it may be off. A
    question about numbers begins with count, share, sum, mean, variance, stddev, median, quantile
    LEVEL, correlation or histogram, and may go on with by COLUMNS and where CONDITION. Two groups
    are compared by "difference of mean income between sex = F versus sex = M", or ratio; "share of
    A among B" is a part of some records.
    """
    from dprap.lazy_imports import importing

    with importing():
        from dprap.cli.output import print_json, print_line
        from dprap.runs.finished_release import answer as answer_from
        from dprap.runs.finished_release import load_release

        read = load_release(release)
    answered = answer_from(read, question, tuple(by or ()), level=level, population=population)
    if as_json:
        print_json(answered.as_data())
        return
    for line in answered.lines():
        print_line(line)
