"""Figures of the documentation are those of the kept results: the tables that pages are made from,
and sentences that compute with the figures of a table.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, docs_script

from dprap_bench.experiments import COMPARISONS
from dprap_bench.markdown_tables import write_tables
from dprap_bench.results import Results

RESULTS = DOCS.parent / "bench" / "results"


def test_tables_are_those_of_the_kept_results(tmp_path: Path) -> None:
    """README and the pages take theirs from these two files, which another test holds them to."""
    for made in write_tables(Results(RESULTS).table(COMPARISONS), tmp_path):
        kept = DOCS / "figures" / made.name
        assert kept.read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), (
            f"{made.name}: run `dprap bench figures` and docs/make_result_tables.py"
        )


def prose(page: str) -> str:
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def shown(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def test_ratios_to_hdmm_follow_from_the_table_below_them() -> None:
    script = docs_script("make_result_tables")
    tables = script.tables_of((DOCS / "figures" / "tables.md").read_text(encoding="utf-8"))
    rows = script.entries_of(tables["numbers: adult, hdmm15:prefix, replace"])
    ratios = [
        shown(float(entry) / min(float(rows[name][ε]) for name in ("hdmm-lls", "hdmm-pgm")))
        for ε, entry in rows["adaptive"].items()
        if ε.startswith("ε")
    ]
    listed = f"{', '.join(ratios[:-1])} and {ratios[-1]}"
    assert f"`adaptive` has {listed} times the error of the better HDMM" in prose("numbers.md")


Areas = dict[str, list[list[float | None]]]


@pytest.fixture
def areas() -> Areas:
    """Of each row of the table of models, the areas of boosting and of logistic regression."""
    script = docs_script("make_result_tables")
    rows = script.entries_of(script.models(script.records_of("models")))
    return {
        name: [
            [None if part == "–" else float(part) for part in entry.split(" / ")]
            for head, entry in row.items()
            if head != "draws"
        ]
        for name, row in rows.items()
    }


def test_models_are_compared_as_their_table_has_them(areas: Areas) -> None:
    """The sentences below the table of docs/numbers.md."""

    def lead(one: str, other: str, model: int) -> list[float]:
        pairs = zip(areas[one], areas[other], strict=True)
        return [
            round(a[model] - b[model], 3)  # type: ignore[operator]
            for a, b in pairs
            if a[model] is not None and b[model] is not None
        ]

    def three(value: float) -> str:
        return f"{value:.3f}".removeprefix("0")

    def said(values: list[float]) -> str:
        least, most = three(min(values)), three(max(values))
        by = least if least == most else f"{least} to {most}"
        return f"{len(values)}( targets?)?( of 6)?, by {by}"

    text = " ".join(prose("numbers.md").split())
    for bins, words in (("bins", "the same bins"), ("bounds alone", "bounds alone")):
        leads = lead(f"`adaptive`, {bins}", "AIM, bins", 0)
        ahead = said([value for value in leads if value > 0])
        behind = said([-value for value in leads if value < 0])
        assert re.search(rf"{words}, [^.]*ahead (of AIM )?on {ahead}, and behind on {behind}", text)
    # The training records are the upper end: no sentence is needed while that holds.
    for name in areas:
        if name != "the training records":
            assert min(lead("the training records", name, 0)) > 0, name
