"""Results as Markdown tables: a summary, method by ε, and peers with their ratios to dprap's default."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dprap.bench.experiments import PAPER

_GROUP = ["experiment", "data", "workload", "relation", "rows", "columns", "method", "settings", "epsilon"]


def wide(results: pd.DataFrame) -> pd.DataFrame:
    """One row for every group of seeds, metrics as columns, averaged over the seeds."""
    kept = results[results["metric"] != "failed"].copy()
    kept[["rows", "columns"]] = kept[["rows", "columns"]].fillna(0).astype(int)
    kept["value"] = kept["value"].astype(float)
    table = kept.pivot_table(index=_GROUP, columns="metric", values="value", aggfunc="mean")
    return table.reset_index().rename_axis(columns=None)


def best(table: pd.DataFrame) -> pd.DataFrame:
    """The settings with the smallest maximum error of each method, as the paper reports."""
    by = [name for name in _GROUP if name != "settings"]
    if "max" not in table:
        return table.iloc[:0]
    measured = table.dropna(subset=["max"])
    return measured.loc[measured.groupby(by)["max"].idxmin()]


def write_tables(results: pd.DataFrame, out: Path) -> list[Path]:
    """Write `tables.md`, one section an experiment, and `summary.md`, method by data set and ε."""
    table = wide(results)
    parts = ["# Results", "", f"Measured on: {'; '.join(sorted(results['machine'].unique()))}.", ""]
    titles = {experiment.name: experiment.title for experiment in PAPER.values()}
    for experiment in sorted(table["experiment"].unique(), key=_number):
        part = table[table["experiment"] == experiment]
        parts += [f"## {titles.get(experiment, experiment)}", ""]
        parts += _ratios(part) if experiment == "peers" else _by_epsilon(part) or _query_counts(part)
    failed = results[results["metric"] == "failed"]
    if len(failed):
        parts += ["## Cells without a result", ""]
        parts += [
            f"- {row.experiment}: {row.method} {row.settings} on {row.data} {row.workload}, ε = {row.epsilon:g}: {row.note}"
            for row in failed.itertuples()
        ]
    path = out / "tables.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    short = out / "summary.md"
    short.write_text("\n".join(summary(results)) + "\n", encoding="utf-8")
    return [path, short]


_ANSWERS_ONLY = ("gaussian", "gaussian-query", "hdmm-lls", "hdmm-pgm", "zero")
_SUMMARY_EPSILONS = (0.1, 1.0)


def summary(results: pd.DataFrame) -> list[str]:
    """One table: every method, by data set, width of the marginals and ε; the best of each column in bold."""
    chosen = best(wide(results[results["experiment"] == "1-epsilon"]))
    if chosen.empty:
        return ["No results of experiment 1 yet."]
    chosen = chosen[chosen["epsilon"].isin(_SUMMARY_EPSILONS)]
    columns = sorted(set(zip(chosen["data"], chosen["workload"], chosen["epsilon"], strict=True)))
    lines = ["| method | " + " | ".join(f"{d.upper()} {w.partition(':')[0]}, ε = {e:g}" for d, w, e in columns) + " |"]
    lines += ["|---|" + "---|" * len(columns)]
    keys = list(zip(chosen["data"], chosen["workload"], chosen["epsilon"], strict=True))
    ranked = chosen.assign(rank=chosen["max"] / chosen.groupby(["data", "workload", "epsilon"])["max"].transform("min"))
    for method in ranked.groupby("method")["rank"].mean().sort_values().index:
        entries = []
        for column in columns:
            here = chosen[[key == column for key in keys]]
            ours = here[here["method"] == method]
            if ours.empty:
                entries.append("–")
            else:
                entries.append(" / ".join(_bold_if_best(ours.iloc[0], here, metric) for metric in ("max", "tv")))
        name = f"{method} *" if method in _ANSWERS_ONLY else f"`{method}`" if method == "adaptive" else method
        lines += [f"| {name} | " + " | ".join(entries) + " |"]
    return [*lines, "", "Maximum error / TV. * answers only, no synthetic records."]


def _bold_if_best(row: pd.Series, rivals: pd.DataFrame, metric: str) -> str:
    digits = 4 if metric == "max" else 3
    text = f"{row[metric]:.{digits}f}".removeprefix("0")
    return f"**{text}**" if round(row[metric], digits) <= round(rivals[metric].min(), digits) else text


def _number(experiment: str) -> tuple[int, str]:
    head = experiment.partition("-")[0]
    return (int(head), experiment) if head.isdigit() else (99, experiment)


def _by_epsilon(part: pd.DataFrame) -> list[str]:
    """A table for every workload: maximum error and TV, by method and ε."""
    lines: list[str] = []
    chosen = best(part[(part["rows"] == 0) & (part["columns"] == 0)])
    for (data, workload, relation), group in chosen.groupby(["data", "workload", "relation"]):
        epsilons = sorted(group["epsilon"].unique())
        lines += [f"{data}, {workload}, {relation}: maximum error / TV", ""]
        lines += ["| method | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |"]
        lines += ["|---|" + "---|" * len(epsilons)]
        order = group.groupby("method")["max"].mean().sort_values().index
        for method in order:
            rows = group[group["method"] == method].set_index("epsilon")
            lines += [f"| {method} | " + " | ".join(_entry(rows, epsilon) for epsilon in epsilons) + " |"]
        lines += [""]
    return lines


def _query_counts(part: pd.DataFrame) -> list[str]:
    """Queries of every workload, where nothing was run on it."""
    lines = ["| data | workload | marginals | queries |", "|---|---|---|---|"]
    for row in part.sort_values(["data", "workload", "queries"]).to_dict("records"):
        lines += [f"| {row['data']} | {row['workload']} | {row['families']:.0f} | {row['queries']:,.0f} |"]
    return [*lines, ""]


def _entry(rows: pd.DataFrame, epsilon: float) -> str:
    if epsilon not in rows.index:
        return "–"
    row = rows.loc[epsilon]
    tv = f" / {row['tv']:.3f}" if "tv" in row and pd.notna(row["tv"]) else ""
    return f"{row['max']:.4f}{tv}"


def _ratios(part: pd.DataFrame) -> list[str]:
    """Error, CPU time and memory of every method; in brackets the ratio to dprap's default in the same run."""
    lines = [
        "| data, workload, relation, ε | method | max error | TV | CPU seconds | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for (data, workload, relation, epsilon), group in part.groupby(["data", "workload", "relation", "epsilon"]):
        ours = group[group["method"] == "adaptive"]
        if ours.empty:
            continue
        for row in group.sort_values("max").to_dict("records"):
            entries = [
                f"{row[metric]:.{digits}f} ({row[metric] / ours.iloc[0][metric]:.2f})"
                for metric, digits in (("max", 4), ("tv", 3), ("cpu_seconds", 1), ("peak_mb", 0))
            ]
            lines += [
                f"| {data}, {workload}, {relation}, {epsilon:g} | {row['method']} | " + " | ".join(entries) + " |"
            ]
    return [*lines, ""]
