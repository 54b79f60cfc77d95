"""Write the tables of measured figures into the pages, from docs/figures, which `dprap bench figures` makes.

A table below the comment `<!-- tables.md: TITLE -->` is replaced by the one that stands below TITLE in
docs/figures/tables.md; below `<!-- summary.md -->` stands the table of docs/figures/summary.md. Rows that name a
method "in `dprap bench`", and those of README, take their figures from the same tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = (DOCS / "benchmarks.md", DOCS / "adaptive-results.md", DOCS.parent / "README.md")

README_NAMES = {
    "**dprap's default, `adaptive`**": "`adaptive`",
    "AIM": "aim",
    "MST": "mst",
    "Gaussian noise on every marginal, answers only": "gaussian *",
    "RAP, the paper's algorithm": "rap",
}
"""Method by the words of README's table."""

_SPREAD = re.compile(r" \([\d.]+–[\d.]+, (\d+) draws\)")
_PLACE = re.compile(r"(<!-- (?:tables\.md: (?P<title>.+?)|summary\.md) -->\n\n)(?:\|.*\n)+")
_IN_BENCH = re.compile(r"^\| (AIM|MST|RAP|Gaussian) in `dprap bench`(?:, k = (\d))? \|.*$", re.MULTILINE)
_OTHER_EPSILONS = ("ε = 0.25", "ε = 0.5")


def tables_of(text: str) -> dict[str, list[str]]:
    """The tables of a page by the last line of words above each; a heading has no marks."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("|"):
            found.setdefault(title, []).append(line)
        elif line:
            title = line.lstrip("# ").removesuffix(": maximum error / TV")
    return found


def with_draws(table: list[str]) -> list[str]:
    """The table with the number of draws in a column of its own, in place of the spreads in each entry."""
    if not any(_SPREAD.search(row) for row in table):
        return table
    made = [f"{table[0]} draws |", f"{table[1]}---|"]
    for row in table[2:]:
        entries = [entry for entry in row.strip("| ").split(" | ")[1:] if entry != "–"]
        draws = [int(found[1]) if (found := _SPREAD.search(entry)) else 1 for entry in entries]
        said = f"{min(draws)}" if min(draws) == max(draws) else f"{min(draws)} to {max(draws)}"
        made.append(f"{_SPREAD.sub('', row)} {said} |")
    return made


def entries_of(table: list[str]) -> dict[str, dict[str, str]]:
    """Row to column to entry."""
    heads = [head.strip() for head in table[0].strip("|").split("|")]
    rows = [[_SPREAD.sub("", cell.strip()) for cell in row.strip("|").split(" | ")] for row in table[2:]]
    return {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}


def filled(page_name: str, page: str, tables: Mapping[str, list[str]], summary: list[str]) -> str:
    """A page with its tables as the results have them."""

    def table_at(found: re.Match[str]) -> str:
        table = with_draws(tables[found["title"]]) if found["title"] else summary
        return found[1] + "\n".join(table) + "\n"

    page = _PLACE.sub(table_at, page)
    short = {name: [entry.replace("*", "") for entry in row.values()] for name, row in entries_of(summary).items()}
    for words, name in (README_NAMES if "README" in page_name else {}).items():
        page = re.sub(rf"^\| {re.escape(words)} \|.*$", _row(words, short[name][:4]), page, flags=re.MULTILINE)

    def row_of(found: re.Match[str]) -> str:
        method = found[1].lower()
        if found[2] is None:
            return _row(f"{found[1]} in `dprap bench`", short[method][:4])
        by_size = entries_of(tables[f"adult, {found[2]}way, ε = 0.05"])[method]["64"]
        by_epsilon = entries_of(tables[f"adult, {found[2]}way:64, replace"])[method]
        entries = [by_size, *(by_epsilon[epsilon] for epsilon in _OTHER_EPSILONS)]
        said = [entry.replace("0.", ".") for entry in entries]
        return _row(f"{found[1]} in `dprap bench`, k = {found[2]}", said)

    return _IN_BENCH.sub(row_of, page)


def _row(name: str, entries: list[str]) -> str:
    return f"| {name} | " + " | ".join(entries) + " |"


def made() -> dict[Path, str]:
    """What each page should be."""
    tables = tables_of((DOCS / "figures" / "tables.md").read_text(encoding="utf-8"))
    summary = [
        line for line in (DOCS / "figures" / "summary.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"
    ]
    return {page: filled(page.name, page.read_text(encoding="utf-8"), tables, summary) for page in PAGES}


if __name__ == "__main__":
    for page, text in made().items():
        page.write_text(text, encoding="utf-8")
