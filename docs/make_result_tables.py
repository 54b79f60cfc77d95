"""Write the tables of measured figures into the pages, from docs/figures, which `dprap bench
figures` makes.

A table below the comment `<!-- NAME.jsonl -->` is made from that file of bench/results. A table
below the comment `<!-- tables.md: TITLE -->` is replaced by the one that stands below TITLE in
docs/figures/tables.md; below `<!-- summary.md -->` stands the table of docs/figures/summary.md.
Rows of README take their figures from the same tables; that of `adaptive` is of the published
table, from the study `adaptive`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from dprap_bench.regime_losses import losses

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "bench" / "results"
PAGES = (
    *(
        DOCS / f"{name}.md"
        for name in ("benchmarks", "adaptive-results", "numbers", "rap", "paper")
    ),
    DOCS.parent / "README.md",
)

README_NAMES = {
    "**dprap's default, `adaptive`: the published table**": "`adaptive`",
    "AIM": "aim",
    "MST": "mst",
    "Gaussian noise on every marginal, answers only": "gaussian *",
    "RAP, the paper's algorithm": "rap",
}
"""Method by the words of README's table."""

_SPREAD = re.compile(r" \([\d.]+–[\d.]+, (\d+) draws\)")
_TV_AND_SPREAD = re.compile(r"( / [\d.]+)?( \([\d.]+–[\d.]+), \d+ draws\)")
_PLACE = re.compile(
    r"(<!-- (?:tables\.md: (?P<title>.+?)|(?P<study>\w+)\.jsonl|summary\.md) -->\n\n)(?:\|.*\n)+"
)


def tables_of(text: str) -> dict[str, list[str]]:
    """The tables of a page by the last line of words above each; a heading has no marks.

    Of two tables with the same words above, the second has its section's heading before them:
    `numbers: adult, …`.
    """
    found: dict[str, list[str]] = {}
    section, title, key = "", "", None
    for line in text.splitlines():
        if line.startswith("|"):
            if key is None:
                key = f"{section}: {title}" if title in found else title
                found[key] = []
            found[key].append(line)
        elif line:
            title, key = line.lstrip("# ").removesuffix(": maximum error / TV"), None
            section = title if line.startswith("#") else section
    return found


def with_draws(table: list[str]) -> list[str]:
    """The table with the number of draws in a column of its own, and the range of a maximum error
    behind it.
    """
    if not any(_SPREAD.search(row) for row in table):
        return table
    made = [f"{table[0]} draws |", f"{table[1]}---|"]
    for row in table[2:]:
        entries = [entry for entry in row.strip("| ").split(" | ")[1:] if entry != "–"]
        draws = [int(found[1]) if (found := _SPREAD.search(entry)) else 1 for entry in entries]
        said = f"{min(draws)}" if min(draws) == max(draws) else f"{min(draws)} to {max(draws)}"
        ranged = _TV_AND_SPREAD.sub(lambda found: f"{found[2]}){found[1] or ''}", row)
        made.append(f"{ranged} {said} |")
    return made


def entries_of(table: list[str]) -> dict[str, dict[str, str]]:
    """Row to column to entry."""
    heads = [head.strip() for head in table[0].strip("|").split("|")]
    rows = [
        [_SPREAD.sub("", cell.strip()) for cell in row.strip("|").split(" | ")] for row in table[2:]
    ]
    return {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}


Records = list[dict[str, Any]]


def records_of(study: str) -> Records:
    """What a study has measured."""
    lines = (RESULTS / f"{study}.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for line in lines if (record := json.loads(line))["figures"]]


def short(value: float) -> str:
    """An error with four digits, as the pages write it."""
    return f"{value:.4f}".removeprefix("0")


def accuracy(records: Records) -> list[str]:
    """RAP on ADULT at the default spread of its starting rows: medians and ranges, beside the
    original algorithm.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        cell, figures = record["cell"], record["figures"]
        spread = 1 / 27 if cell["workload"].startswith("5way") else 1.0
        if cell["data"] == "adult" and math.isclose(
            figures["initial_spread"], spread, rel_tol=1e-4
        ):
            pair = (cell["rounds"], cell["queries_per_round"])
            place = (cell["workload"].partition(":")[0], -cell["epsilon"], pair, cell["accounting"])
            groups.setdefault(place, []).append(figures)
    lines = [
        "| queries | ε | (T, K) | accounting | draws | median | range | original |",
        "|" + "---|" * 8,
    ]
    for (kind, epsilon, pair, accounting), found in sorted(groups.items()):
        errors = [figures["max"] for figures in found]
        references = {figures["reference"] for figures in found if figures.get("reference")}
        # The reference has the paper's accounting.
        original = short(references.pop()) if references and accounting == "paper" else "–"
        spread_of = f"{short(min(errors))}–{short(max(errors))}"
        entries = [
            kind.replace("of", "-of-"),
            f"{-epsilon:g}",
            str(pair),
            accounting,
            str(len(errors)),
        ]
        lines.append(f"| {' | '.join([*entries, short(median(errors)), spread_of, original])} |")
    return lines


def departures(records: Records) -> list[str]:
    """What each departure of RAP from the paper does; of two cells with other numbers of draws the
    larger.
    """
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in sorted(records, key=lambda record: record["cell"]["draws"]):
        cell = record["cell"]
        place = (cell["workload"], cell["epsilon"], cell["rounds"], cell["departure"])
        cells[place] = {**record["figures"], "draws": cell["draws"]}
    order = ("default", "paper")
    lines = [
        "| queries, ε, (T, K) | what differs from the default | draws | median | range | steps |",
        "|" + "---|" * 6,
    ]
    for (workload, epsilon, rounds, departure), figures in sorted(
        cells.items(), key=lambda item: (*item[0][:2], item[0][3] not in order, item[0][3])
    ):
        what = {"default": "nothing", "paper": "all of it: `--preset paper`"}.get(
            departure, departure
        )
        where = f"{workload.partition(':')[0]}, {epsilon:g}, ({rounds}, 5)"
        spread = f"{short(figures['max_low'])}–{short(figures['max_high'])}"
        entries = [
            where,
            what,
            str(figures["draws"]),
            short(figures["max"]),
            spread,
            f"{figures['steps']:,.0f}",
        ]
        lines.append(f"| {' | '.join(entries)} |")
    return lines


# Records of earlier seeds are of earlier versions of the mechanism, and of rounding column by
# column.
_FIRST_PUBLISHED_SEED = 9300


Runs = list[dict[str, Any]]


def published_runs(
    records: Records, *, accounting: str = "exact"
) -> dict[tuple[Any, ...], dict[str, Runs]]:
    """Figures of every draw by method, by place: table, workload, whether neighbours add a
    record, and ε.
    """
    draws: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in records:
        cell = record["cell"]
        place = (cell["data"], cell["workload"], cell["relation"] != "replace", cell["epsilon"])
        if cell["seed"] >= _FIRST_PUBLISHED_SEED and cell["accounting"] == accounting:
            # Of a seed that two versions of the code were run with, the last counts.
            draws[place, cell.get("method", "adaptive"), cell["seed"]] = record["figures"]
    groups: dict[tuple[Any, ...], dict[str, Runs]] = {}
    for (place, method, _), figures in draws.items():
        groups.setdefault(place, {}).setdefault(method, []).append(figures)
    return groups


def readme_row(records: Records) -> list[str]:
    """Errors of the table that `adaptive` publishes on 64 marginals of ADULT, in the form of the
    rows of its peers and with their accounting, and the number of draws.
    """
    groups = published_runs(records, accounting="tight")
    cells = [
        groups["adult", f"{k}way:64", False, epsilon]["adaptive"]
        for k in (3, 5)
        for epsilon in (0.1, 1.0)
    ]
    errors = [
        f"{short(median(run['rounded_max'] for run in runs))} / "
        + f"{median(run['rounded_tv'] for run in runs):.3f}".removeprefix("0")
        for runs in cells
    ]
    least, most = min(map(len, cells)), max(map(len, cells))
    return [*errors, f"{least}" if least == most else f"{least} to {most}"]


def published(records: Records) -> list[str]:
    """Errors of `adaptive`, of its fit and of the published table, with those of peers on the same
    runs beside them.
    """
    groups = published_runs(records)

    def both(found: Runs | None, kind: str = "") -> str:
        if not found:
            return "–"
        values = [median(figures[f"{kind}{name}"] for figures in found) for name in ("max", "tv")]
        return " / ".join(
            f"{value:.5f}".removeprefix("0") if value < 0.001 else short(value) for value in values
        )

    columns = "table, workload|neighbours|ε|draws|fit|published|÷ fit|CPU s|Gaussian|MST|AIM"
    lines = ["| " + columns.replace("|", " | ") + " |"]
    lines.append("|" + "---|" * 11)
    for (data, workload, adds, epsilon), found in sorted(groups.items()):
        own = found.get("adaptive")
        if own is None:
            continue
        ratios = [
            median(f[f"rounded_{name}"] for f in own) / median(f[name] for f in own)
            for name in ("max", "tv")
        ]
        seconds = median(f["cpu_seconds"] + f["rounding_cpu_seconds"] for f in own)
        peers = [
            f"{both(found.get(name))} ({len(found[name])})" if name in found else "–"
            for name in ("gaussian", "mst", "aim")
        ]
        entries = [
            f"{data}, {workload}",
            "add-remove" if adds else "replace",
            f"{epsilon:g}",
            str(len(own)),
            both(own),
        ]
        entries += [
            both(own, "rounded_"),
            " / ".join(f"{ratio:.2f}" for ratio in ratios),
            f"{seconds:.0f}",
            *peers,
        ]
        lines.append(f"| {' | '.join(entries)} |")
    return lines


_MODELS = {
    "real": "the training records",
    "adaptive": "`adaptive`, bounds alone",
    "adaptive, bins": "`adaptive`, bins",
    "aim": "AIM, bins",
    "rap++": "`rap++`, bins",
    "independent": "independent columns, bins",
}


def models(records: Records) -> list[str]:
    """Areas under the curve of boosting / logistic regression, by what both were trained on."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        cell = record["cell"]
        for name, value in record["figures"].items():
            if value is not None:
                found.setdefault((cell["data"], cell["method"], name), []).append(value)
    targets = {(data, name.split("_")[0]): None for data, _, name in sorted(found)}
    heads = [f"{data}: {target}" for data, target in targets]
    lines = ["| trained on | " + " | ".join(heads) + " | draws |", "|---" * (len(heads) + 2) + "|"]
    for method, words in _MODELS.items():
        entries, draws = [], set()
        for data, target in targets:
            both = [
                found.get((data, method, f"{target}_{model}_auc"))
                for model in ("boosting", "logistic")
            ]
            draws |= {len(each) for each in both if each}
            entries.append(
                " / ".join(
                    f"{median(each):.3f}".removeprefix("0") if each else "–" for each in both
                )
            )
        if draws:
            said = f"{min(draws)}" if len(draws) == 1 else f"{min(draws)} to {max(draws)}"
            lines.append(f"| {words} | {' | '.join(entries)} | {said} |")
    return lines


def targets(records: Records) -> list[str]:
    """Models of a target and errors of the table, by table and by what the models are trained on:
    the median, and the range of the area under the curve of boosting.
    """
    found: dict[tuple[str, str], Runs] = {}
    for record in records:
        cell = record["cell"]
        found.setdefault((cell["data"], cell["trained_on"]), []).append(record["figures"])
    columns = ("table", "trained on", "draws", "boosting (range)", "logistic", "max / TV")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for (data, trained_on), runs in sorted(found.items()):
        boosting = [run["boosting_auc"] for run in runs]
        entries = [data, trained_on, str(len(runs)), _area(median(boosting))]
        if len(runs) > 1:
            entries[-1] += f" ({_area(min(boosting))}–{_area(max(boosting))})"
        entries.append(_area(median(run["logistic_auc"] for run in runs)))
        errors = [median(run[name] for run in runs) for name in ("max", "tv") if name in runs[0]]
        entries.append(" / ".join(f"{error:.4f}".removeprefix("0") for error in errors) or "–")
        lines.append(f"| {' | '.join(entries)} |")
    return lines


def _area(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


def regimes(records: Records) -> list[str]:
    """Where `adaptive` is behind a plain baseline, and how often it is not."""
    return losses((record["cell"], record["figures"]) for record in records)


STUDIES = {
    "adaptive": published,
    "models": models,
    "rap_accuracy": accuracy,
    "rap_departures": departures,
    "regimes": regimes,
    "targets": targets,
}
"""Study to the table made of its records."""


def filled(page_name: str, page: str, tables: Mapping[str, list[str]], summary: list[str]) -> str:
    """A page with its tables as the results have them."""

    def table_at(found: re.Match[str]) -> str:
        if found["study"]:
            table = STUDIES[found["study"]](records_of(found["study"]))
        else:
            table = with_draws(tables[found["title"]]) if found["title"] else summary
        return found[1] + "\n".join(table) + "\n"

    page = _PLACE.sub(table_at, page)
    brief = {
        name: [entry.replace("*", "") for entry in row.values()]
        for name, row in entries_of(summary).items()
    }
    for words, name in (README_NAMES if "README" in page_name else {}).items():
        entries = [*brief[name][:4], entries_of(summary)[name]["draws, ADULT"]]
        if name == "`adaptive`":  # people hold the table, not the fitted answers
            entries = readme_row(records_of("adaptive"))
        page = re.sub(
            rf"^\| {re.escape(words)} \|.*$", _row(words, entries), page, flags=re.MULTILINE
        )
    return page


def _row(name: str, entries: list[str]) -> str:
    return f"| {name} | " + " | ".join(entries) + " |"


def made() -> dict[Path, str]:
    """What each page should be."""
    tables = tables_of((DOCS / "figures" / "tables.md").read_text(encoding="utf-8"))
    summary = [
        line
        for line in (DOCS / "figures" / "summary.md").read_text(encoding="utf-8").splitlines()
        if line[:1] == "|"
    ]
    return {
        page: filled(page.name, page.read_text(encoding="utf-8"), tables, summary) for page in PAGES
    }


if __name__ == "__main__":
    for page, text in made().items():
        page.write_text(text, encoding="utf-8")
