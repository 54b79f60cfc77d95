"""Results as Markdown tables: a summary, method by ε, and peers with their ratios to dprap's
default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import pandas as pd

from dprap_bench.experiments import PAPER
from dprap_bench.grid_table import grid_tables
from dprap_bench.medians import best, natural, synthetic_rows, wide
from dprap_bench.record import Record


def write_tables(results: pd.DataFrame, out: Path) -> list[Path]:
    """Write `tables.md`, one section an experiment, and `summary.md`, method by data set and ε."""
    table = wide(results)
    parts = ["# Results", "", f"Measured on: {'; '.join(sorted(results['machine'].unique()))}.", ""]
    titles = {experiment.name: experiment.title for experiment in PAPER.values()}
    for experiment in sorted(table["experiment"].unique(), key=_number):
        part = table[table["experiment"] == experiment]
        parts += [f"## {titles.get(experiment, experiment)}", ""]
        parts += _SECTIONS.get(experiment, _by_epsilon)(part)
    last = results.drop_duplicates(["experiment", "key"], keep="last")
    failed = last[last["metric"] == "failed"]
    if len(failed):
        parts += ["## Cells without a result", ""]
        parts += [
            f"- {row.experiment}: {row.method} {row.settings} on {row.data} {row.workload}, ε ="
            f" {row.epsilon:g}: {row.note}"
            for row in failed.itertuples()
        ]
    path = out / "tables.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    short = out / "summary.md"
    short.write_text("\n".join(summary(results)) + "\n", encoding="utf-8")
    return [path, short]


def study_table(records: Sequence[Record]) -> list[str]:
    """Medians of a study's figures over noise seeds, as a Markdown table; cells without a result
    are left out.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if not record.failed:
            said = [
                f"{name} {value}"
                for name, value in record.cell.items()
                if name not in ("seed", "code")
            ]
            groups.setdefault(", ".join(said), []).append(record)
    names = list(
        dict.fromkeys(
            name for group in groups.values() for record in group for name in record.figures
        )
    )
    lines = ["| cell | runs | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 2)]
    for words, group in groups.items():
        entries = [_median([record.figures.get(name) for record in group]) for name in names]
        lines += [f"| {words} | {len(group)} | " + " | ".join(entries) + " |"]
    return lines


def _median(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known):.4g}" if known else "–"


_ANSWERS_ONLY = ("gaussian", "gaussian-query", "hdmm-lls", "hdmm-pgm", "zero")
_SUMMARY_EPSILONS = (0.1, 1.0)


def summary(results: pd.DataFrame) -> list[str]:
    """One table: every method, by data set, width of the marginals and ε; the best of each column
    in bold.
    """
    chosen = best(wide(results))
    chosen = chosen[chosen["experiment"] == "1-epsilon"]
    if chosen.empty:
        return ["No results of experiment 1 yet."]
    chosen = chosen[chosen["epsilon"].isin(_SUMMARY_EPSILONS)]
    columns = sorted(set(zip(chosen["data"], chosen["workload"], chosen["epsilon"], strict=True)))
    tables = sorted(set(chosen["data"]))
    heads = [f"{d.upper()} {w.partition(':')[0]}, ε = {e:g}" for d, w, e in columns]
    heads += [f"draws, {data.upper()}" for data in tables]
    lines = ["| method | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    keys = list(zip(chosen["data"], chosen["workload"], chosen["epsilon"], strict=True))
    ranked = chosen.assign(
        rank=chosen["max"] / chosen.groupby(["data", "workload", "epsilon"])["max"].transform("min")
    )
    for method in ranked.groupby("method")["rank"].mean().sort_values().index:
        entries = []
        for column in columns:
            here = chosen[[key == column for key in keys]]
            ours = here[here["method"] == method]
            if ours.empty:
                entries.append("–")
            else:
                entries.append(
                    " / ".join(
                        _bold_if_best(ours.iloc[0], here, metric) for metric in ("max", "tv")
                    )
                )
        drawn = chosen[chosen["method"] == method].groupby("data")["draws"]
        entries += [
            _draws(list(drawn.get_group(data))) if data in drawn.groups else "–" for data in tables
        ]
        name = (
            f"{method} *"
            if method in _ANSWERS_ONLY
            else f"`{method}`"
            if method == "adaptive"
            else method
        )
        lines += [f"| {name} | " + " | ".join(entries) + " |"]
    return [*lines, "", "Maximum error / TV. * answers only, no synthetic records."]


def _draws(draws: Sequence[float]) -> str:
    fewest, most = int(min(draws)), int(max(draws))
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def _bold_if_best(row: pd.Series, rivals: pd.DataFrame, metric: str) -> str:
    digits = 4 if metric == "max" else 3
    text = f"{row[metric]:.{digits}f}".removeprefix("0")
    return (
        f"**{text}**" if round(row[metric], digits) <= round(rivals[metric].min(), digits) else text
    )


def _number(experiment: str) -> tuple[int, str]:
    head = experiment.partition("-")[0]
    return (int(head), experiment) if head.isdigit() else (99, experiment)


def _by_epsilon(part: pd.DataFrame) -> list[str]:
    """A table for every workload: maximum error and TV, by method and ε."""
    lines: list[str] = []
    chosen = best(part[(part["rows"] == 0) & (part["columns"] == 0)])
    for (data, workload, relation), group in sorted(
        chosen.groupby(["data", "workload", "relation"]),
        key=lambda found: (found[0][0], natural(str(found[0][1]))),
    ):
        epsilons = sorted(group["epsilon"].unique())
        lines += [f"{data}, {workload}, {relation}: maximum error / TV", ""]
        lines += ["| method | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |"]
        lines += ["|---|" + "---|" * len(epsilons)]
        order = group.groupby("method")["max"].mean().sort_values().index
        for method in order:
            rows = group[group["method"] == method].set_index("epsilon")
            lines += [
                f"| {method} | " + " | ".join(_entry(rows, epsilon) for epsilon in epsilons) + " |"
            ]
        lines += ["", *_pairs(group, part)]
    return lines


def _by_marginals(part: pd.DataFrame) -> list[str]:
    """A table for every width of marginals and ε: maximum error and TV, by method and number of
    marginals.
    """
    lines: list[str] = []
    chosen = best(part)
    width = chosen["workload"].str.partition(":")[0]
    for (data, kind, epsilon), group in chosen.assign(kind=width).groupby(
        ["data", "kind", "epsilon"]
    ):
        workloads = sorted(group["workload"].unique(), key=natural)
        lines += [f"{data}, {kind}, ε = {epsilon:g}: maximum error / TV", ""]
        lines += ["| method | " + " | ".join(name.partition(":")[2] for name in workloads) + " |"]
        lines += ["|---|" + "---|" * len(workloads)]
        for method in group.groupby("method")["max"].mean().sort_values().index:
            rows = group[group["method"] == method].set_index("workload")
            lines += [
                f"| {method} | "
                + " | ".join(_entry(rows, workload) for workload in workloads)
                + " |"
            ]
        pairs = dict.fromkeys(_pair(given) for given in group[group["method"] == "rap"]["settings"])
        lines += ["", *([f"rap: (T, K) = {', '.join(pairs)} throughout.", ""] if pairs else [])]
    return lines


def _pairs(group: pd.DataFrame, part: pd.DataFrame) -> list[str]:
    """Which pairs (T, K) of RAP a table shows, and how they were chosen: where several were run or
    draws judge, by looking at the error, as the paper does.
    """
    ours = group[group["method"] == "rap"].sort_values("epsilon")
    if ours.empty:
        return []
    shown = {row["epsilon"]: _pair(row["settings"]) for row in ours.to_dict("records")}
    chosen = [f"{pair} at ε = {epsilon:g}" for epsilon, pair in shown.items()]
    place = ["data", "workload", "relation", "epsilon"]
    tried = part[part["method"] == "rap"].merge(ours[place], on=place)
    if not ours["judged"].any() and tried.groupby(place)["settings"].nunique().max() == 1:
        return [f"rap: (T, K) = {', '.join(chosen)}; no other pair was run here.", ""]
    how = "chosen by looking at the error, as in the paper, which is not paid for"
    judged = [f"{epsilon:g}" for epsilon in sorted(ours[ours["judged"]]["epsilon"])]
    fresh = (
        f" At ε = {', '.join(judged)} the figures are of other draws than those that chose."
        if judged
        else ""
    )
    return [f"rap: (T, K) = {', '.join(chosen)}; {how}.{fresh}", ""]


def _pair(settings: str) -> str:
    given = json.loads(settings)
    return f"({given.get('rounds')}, {given.get('queries_per_round')})"


_WHAT = {"data": "data", "workload": "workload", "epsilon": "ε", "method": "method"}


def _listing(
    part: pd.DataFrame, columns: Mapping[str, str], digits: Mapping[str, int]
) -> list[str]:
    """A row for every row of the results: `columns` maps its columns to their headings."""
    shown = {column: heading for column, heading in columns.items() if column in part}
    ordered = part.assign(order=part["workload"].map(natural))
    ordered = ordered.sort_values(
        [name for name in ("data", "order", "epsilon", "method", "size", "n'") if name in ordered]
    )
    lines = ["| " + " | ".join(shown.values()) + " |", "|" + "---|" * len(shown)]
    for row in ordered.to_dict("records"):
        lines += [
            "| " + " | ".join(_shown(row[column], digits.get(column, 4)) for column in shown) + " |"
        ]
    return [*lines, ""]


def _shown(value: object, digits: int) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value != value:
        return "–"
    return f"{value:g}" if value in (0.05, 0.1, 0.25, 0.5, 1.0) else f"{value:,.{digits}f}"


def _query_counts(part: pd.DataFrame) -> list[str]:
    """Queries of every workload, where nothing was run on it."""
    columns = {
        "data": "data",
        "workload": "workload",
        "families": "marginals",
        "queries": "queries",
    }
    return _listing(part, columns, {"families": 0, "queries": 0})


def _rounding(part: pd.DataFrame) -> list[str]:
    rounded = sorted(
        (int(str(c).rpartition("_")[2]), str(c)) for c in part if str(c).startswith("max_rounded_")
    )
    columns = (
        _WHAT
        | {"max": "max error before rounding"}
        | {c: f"after, × {times}" for times, c in rounded}
    )
    return _listing(best(part), columns, {})


_DIFFERENCE_OF_RUNS = 0.1
# Processor seconds of two equal runs differ by this share on a busy machine: a run of two minutes
# took longer without compiling than with. A smaller difference says nothing about compiling.


def _rows(part: pd.DataFrame) -> list[str]:
    columns = _WHAT | {"n'": "n'", "max": "max error", "tv": "TV", "steps": "steps"}
    columns |= {
        "compiled_cpu_seconds_per_step": "CPU ms a step",
        "compiled_cpu_seconds": "CPU s without compiling",
    }
    columns |= {"compilation_cpu_seconds": "CPU s compiling", **_COST}
    part = part.assign(**{"n'": synthetic_rows(part)})
    if "compiled_cpu_seconds_per_step" in part:
        part["compiled_cpu_seconds_per_step"] *= 1000
        measurable = _DIFFERENCE_OF_RUNS * part["compiled_cpu_seconds"]
        compilation = part["compilation_cpu_seconds"]
        part["compilation_cpu_seconds"] = compilation.where(compilation > measurable)
    digits = {
        "compiled_cpu_seconds_per_step": 2,
        "compiled_cpu_seconds": 1,
        "compilation_cpu_seconds": 1,
    }
    return _listing(part, columns, {"tv": 3, "steps": 0} | digits | _COST_DIGITS)


def _distribution(part: pd.DataFrame) -> list[str]:
    shares = sorted(
        (float(str(c).removeprefix("error_q")), str(c))
        for c in part
        if str(c).startswith("error_q")
    )
    columns = (
        _WHAT
        | {c: f"{100 * share:g} % below" for share, c in shares}
        | {"max": "max", "tv": "TV", **_COST}
    )
    return _listing(
        best(part), columns, dict.fromkeys(map(str, part.columns), 5) | {"tv": 3} | _COST_DIGITS
    )


def _unseen(part: pd.DataFrame) -> list[str]:
    columns = _WHAT | {
        "max": "max error",
        "unseen_max": "max error, unseen",
        "tv": "TV",
        "unseen_tv": "TV, unseen",
    }
    return _listing(best(part), columns, {"tv": 3, "unseen_tv": 3})


_COST = {"cpu_seconds": "CPU seconds", "peak_mb": "peak MB"}
_COST_DIGITS = {"cpu_seconds": 1, "peak_mb": 0}


def _beyond(part: pd.DataFrame) -> list[str]:
    """Classifiers, then what every run cost."""
    lines: list[str] = []
    if "auc_synthetic" in part:
        columns = _WHAT | {
            "max": "max error",
            "tv": "TV",
            "accuracy_synthetic": "accuracy",
            "auc_synthetic": "AUC",
        }
        columns |= {"accuracy_real": "accuracy, real data", "auc_real": "AUC, real data"}
        lines += [
            (
                "Income classifier trained on synthetic records (all pairs as workload), tested on"
                " real ones"
            ),
            "",
        ]
        lines += _listing(part.dropna(subset=["auc_synthetic"]), columns, {"tv": 3})
        part = part[part["auc_synthetic"].isna()]
    columns = _WHAT | {
        "rows": "records",
        "columns": "columns",
        "max": "max error",
        "tv": "TV",
        **_COST,
    }
    whole = part.assign(
        rows=part["rows"].map(lambda given: f"{given:,}" if given else "all"),
        columns=part["columns"].map(lambda given: str(given) if given else "all"),
        size=part["rows"] + part["columns"],
    )
    return [
        *lines,
        "Processor time and memory",
        "",
        *_listing(whole, columns, {"tv": 3} | _COST_DIGITS),
    ]


def _entry(rows: pd.DataFrame, place: float | str) -> str:
    if place not in rows.index:
        return "–"
    row = rows.loc[place]
    tv = f" / {row['tv']:.3f}" if "tv" in row and pd.notna(row["tv"]) else ""
    spread = (
        f" ({row['max_low']:.4f}–{row['max_high']:.4f}, {row['draws']:.0f} draws)"
        if row["draws"] > 1
        else ""
    )
    return f"{row['max']:.4f}{tv}{spread}"


def _ratios(part: pd.DataFrame) -> list[str]:
    """Error, CPU time and memory of every method; in brackets the ratio to dprap's default in the
    same run.
    """
    lines = [
        "| data, workload, relation, ε | method | max error | TV | CPU seconds | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for (data, workload, relation, epsilon), group in part.groupby(
        ["data", "workload", "relation", "epsilon"]
    ):
        ours = group[group["method"] == "adaptive"]
        if ours.empty:
            continue
        for row in group.sort_values("max").to_dict("records"):
            entries = [
                f"{row[metric]:.{digits}f} ({row[metric] / ours.iloc[0][metric]:.2f})"
                for metric, digits in (("max", 4), ("tv", 3), ("cpu_seconds", 1), ("peak_mb", 0))
            ]
            lines += [
                f"| {data}, {workload}, {relation}, {epsilon:g} | {row['method']} | "
                + " | ".join(entries)
                + " |"
            ]
    return [*lines, ""]


_SECTIONS = {
    "2-marginals": _by_marginals,
    "4-rounding": _rounding,
    "5-rows": _rows,
    "6-queries": _query_counts,
    "8-ablation": _distribution,
    "9-unseen": _unseen,
    "10-beyond": _beyond,
    "grid": grid_tables,
    "peers": _ratios,
}
"""What a section holds where it is not maximum error and TV by ε."""
