"""Results as Markdown tables: method by ε, and peers as ratios."""

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
    """Write `tables.md`, one section an experiment."""
    table = wide(results)
    parts = ["# Results", "", f"Measured on: {'; '.join(sorted(results['machine'].unique()))}.", ""]
    titles = {experiment.name: experiment.title for experiment in PAPER.values()}
    for experiment in sorted(table["experiment"].unique(), key=_number):
        part = table[table["experiment"] == experiment]
        parts += [f"## {titles.get(experiment, experiment)}", ""]
        parts += _ratios(part) if experiment == "peers" else []
        parts += _by_epsilon(part) or _query_counts(part)
    failed = results[results["metric"] == "failed"]
    if len(failed):
        parts += ["## Cells without a result", ""]
        parts += [
            f"- {row.experiment}: {row.method} {row.settings} on {row.data} {row.workload}, ε = {row.epsilon:g}: {row.note}"
            for row in failed.itertuples()
        ]
    path = out / "tables.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return [path]


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
    """Peers relative to dprap's default in the same run."""
    lines: list[str] = []
    for (data, workload, relation, epsilon), group in part.groupby(["data", "workload", "relation", "epsilon"]):
        ours = group[group["method"] == "adaptive"]
        if ours.empty:
            continue
        lines += [f"{data}, {workload}, {relation}, ε = {epsilon:g}: ratio to dprap's default", ""]
        lines += ["| method | max error | TV | CPU time | peak memory |", "|---|---|---|---|---|"]
        for row in group.to_dict("records"):
            ratios = [f"{row[metric] / ours.iloc[0][metric]:.2f}" for metric in ("max", "tv", "cpu_seconds", "peak_mb")]
            lines += [f"| {row['method']} | " + " | ".join(ratios) + " |"]
        lines += [""]
    return lines
