"""The statement as one page, without script, ready to be printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from dprap.report.html import Html, el, table
from dprap.statement.about import About
from dprap.statement.evaluation import Answer
from dprap.statement.plain_words import Section

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(
    about: About,
    sections: Sequence[Section],
    answers: Sequence[Answer],
    columns: Sequence[Mapping[str, Any]],
    *,
    citation: str,
    language: str,
) -> str:
    """The whole page."""
    style = resources.files("dprap.report").joinpath("style.css").read_text(encoding="utf-8")
    title = "Privacy statement" if about.title is None else f"Privacy statement: {about.title}"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        el("style", Html(style)),
    )
    body = el(
        "body",
        el(
            "header",
            el("h1", title),
            None
            if about.curator is None
            else el("p", f"Published by {about.curator}.", class_="lead"),
        ),
        el(
            "main",
            *(_section(section, language) for section in sections),
            el(
                "section",
                el("h2", "Questions of NIST SP 800-226"),
                el("div", _answers(answers), class_="card"),
            ),
            el("section", el("h2", "Columns"), el("div", _columns(columns), class_="card")),
            el("section", el("h2", "Citation"), el("p", citation)),
        ),
    )
    return "<!DOCTYPE html>\n" + el("html", head, body, lang="en") + "\n"


def _section(section: Section, language: str) -> Html:
    # the guarantee's first paragraph is in the language that was asked for
    def paragraph(at: int, text: str) -> Html:
        return el(
            "p", text, lang=language if section.title == "The guarantee" and at == 0 else None
        )

    first, *others = (paragraph(*each) for each in enumerate(section.paragraphs))
    beliefs = section.table
    shown = (
        None
        if beliefs is None
        else el(
            "div",
            table(beliefs.header, beliefs.rows, caption=beliefs.caption),
            class_="card",
            lang=language,
        )
    )
    return el("section", el("h2", section.title), first, shown, *others)


def _answers(answers: Sequence[Answer]) -> Html:
    rows = [[each.layer, each.question, each.answer] for each in answers]
    return table(
        ["", "question", "answer"],
        rows,
        caption="From the parameters down to what is trusted",
        numbers_from=3,
    )


def _columns(columns: Sequence[Mapping[str, Any]]) -> Html:
    described = any(each["description"] for each in columns)
    rows = [
        [
            each["name"],
            each["type"],
            *([each["description"]] if described else []),
            each["values"],
            "yes" if each["may_be_missing"] else "no",
        ]
        for each in columns
    ]
    header = ["column", "type", *(["meaning"] if described else []), "values", "may be missing"]
    return table(header, rows, caption="Data dictionary", numbers_from=len(header))
