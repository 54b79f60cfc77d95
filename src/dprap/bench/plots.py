"""Figures in the paper's form, from the tidy results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from dprap.bench.tables import best, wide

mpl.use("Agg")

import matplotlib.pyplot as plt

_COLOURS = {
    "adaptive": "#d62728",
    "rap": "#1f77b4",
    "rp": "#17becf",
    "fem": "#2ca02c",
    "dualquery": "#98df8a",
    "gaussian": "#9467bd",
    "gaussian-query": "#c5b0d5",
    "independent": "#8c564b",
    "zero": "#7f7f7f",
    "mst": "#e377c2",
    "aim": "#ff7f0e",
    "hdmm-lls": "#bcbd22",
    "hdmm-pgm": "#dbdb8d",
    "mwem": "#aec7e8",
}


def draw_all(results: pd.DataFrame, out: Path) -> list[Path]:
    """Draw every experiment that has results."""
    table = wide(results)
    drawn: list[Path] = []
    for experiment, draw in _DRAWINGS.items():
        part = table[table["experiment"] == experiment]
        for data, group in part.groupby("data"):
            figure = draw(group)
            if figure is not None:
                figure.suptitle(str(data).upper(), x=0.01, ha="left", fontsize=9)
                _shared_legend(figure)
                path = out / f"{experiment}-{data}.png"
                figure.savefig(path, dpi=110)
                plt.close(figure)
                drawn.append(path)
    return drawn


def _panels(count: int) -> tuple[Any, list[Any]]:
    across = 2 if count == 4 else count
    down = -(-count // across)
    figure, axes = plt.subplots(
        down, across, figsize=(4.2 * across + 1.2, 3.2 * down), squeeze=False, layout="constrained"
    )
    return figure, list(axes.ravel())


def _shared_legend(figure: Any) -> None:
    """One legend beside the panels for the lines of all of them."""
    shown: dict[str, Any] = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside right upper", fontsize=8, frameon=False)


def _named(table: pd.DataFrame, prefix: str) -> list[str]:
    return [str(column) for column in table.columns if str(column).startswith(prefix)]


def _lines(axis: Any, table: pd.DataFrame, x: str, y: str, by: str = "method") -> None:
    for name, group in table.groupby(by):
        ordered = group.dropna(subset=[y]).sort_values(x)
        style = "--" if name == "zero" else "-"
        axis.plot(ordered[x], ordered[y], style, marker="o", ms=3, label=str(name), color=_COLOURS.get(str(name)))
    axis.grid(alpha=0.3)


def _against_epsilon(table: pd.DataFrame) -> Any:
    chosen = best(table)
    workloads = sorted(chosen["workload"].unique())
    figure, axes = _panels(len(workloads))
    for axis, workload in zip(axes, workloads, strict=True):
        _lines(axis, chosen[chosen["workload"] == workload], "epsilon", "max")
        axis.set(title=workload, xlabel="ε", ylabel="maximum error", yscale="log")
    return figure


def _against_marginals(table: pd.DataFrame) -> Any:
    chosen = best(table).copy()
    chosen["width"] = chosen["workload"].str.partition(":")[0]
    panels = sorted(set(zip(chosen["width"], chosen["epsilon"], strict=True)))
    figure, axes = _panels(len(panels))
    for axis, (width, epsilon) in zip(axes, panels, strict=True):
        _lines(axis, chosen[(chosen["width"] == width) & (chosen["epsilon"] == epsilon)], "queries", "max")
        axis.set(
            title=f"{width}, ε = {epsilon:g}", xlabel="queries", ylabel="maximum error", xscale="log", yscale="log"
        )
    return figure


def _against_oversampling(table: pd.DataFrame) -> Any:
    chosen = best(table)
    epsilons = sorted(chosen["epsilon"].unique())
    rounded = sorted(_named(chosen, "max_rounded_"), key=lambda column: int(column.rpartition("_")[2]))
    figure, axes = _panels(len(epsilons))
    for axis, epsilon in zip(axes, epsilons, strict=True):
        for row in chosen[chosen["epsilon"] == epsilon].to_dict("records"):
            colour = _COLOURS.get(row["method"])
            times = [int(column.rpartition("_")[2]) for column in rounded]
            axis.plot(times, [row[column] for column in rounded], marker="o", ms=3, label=row["method"], color=colour)
            axis.axhline(row["max"], ls=":", color=colour)
        axis.set(title=f"ε = {epsilon:g}; dotted: before rounding", xlabel="oversampling", ylabel="maximum error")
        axis.grid(alpha=0.3)
    return figure


def _against_rows(table: pd.DataFrame) -> Any:
    table = table.copy()
    table["n'"] = table["settings"].str.extract(r'"synthetic_rows": (\d+)')[0].astype(int)
    table["ε"] = "ε = " + table["epsilon"].astype(str)
    figure, axes = _panels(3)
    for axis, (metric, label) in zip(
        axes,
        (("max", "maximum error"), ("cpu_seconds_per_step", "seconds a step"), ("wall_seconds", "seconds in all")),
        strict=True,
    ):
        if metric in table:
            _lines(axis, table, "n'", metric, by="ε")
        axis.set(xlabel="relaxed rows n'", ylabel=label, xscale="log", yscale="log")
    return figure


def _query_counts(table: pd.DataFrame) -> Any:
    table = table.copy()
    table["width"] = table["workload"].str.partition(":")[0]
    figure, axes = _panels(1)
    _lines(axes[0], table, "families", "queries", by="width")
    axes[0].set(xlabel="marginals", ylabel="queries", xscale="log", yscale="log")
    return figure


def _error_distribution(table: pd.DataFrame) -> Any:
    quantiles = _named(table, "error_q")
    figure, axes = _panels(max(table["epsilon"].nunique(), 1))
    for axis, (epsilon, group) in zip(axes, table.groupby("epsilon"), strict=True):
        for row in group.to_dict("records"):
            marks = sorted((float(c.removeprefix("error_q")), row[c]) for c in quantiles)
            shares = [str(share) for share, _ in marks] + ["max"]
            axis.plot(
                shares,
                [value for _, value in marks] + [row["max"]],
                marker="o",
                ms=3,
                label=row["method"],
                color=_COLOURS.get(row["method"]),
            )
        axis.set(title=f"ε = {epsilon:g}", xlabel="share of queries with less error", ylabel="error", yscale="log")
        axis.tick_params(labelsize=6)
        axis.grid(alpha=0.3)
    return figure


def _unseen(table: pd.DataFrame) -> Any:
    if "unseen_max" not in table:
        return None
    chosen = best(table)
    epsilons = sorted(chosen["epsilon"].unique())
    figure, axes = _panels(len(epsilons))
    for axis, epsilon in zip(axes, epsilons, strict=True):
        group = chosen[chosen["epsilon"] == epsilon].set_index("method")[["max", "unseen_max"]]
        group.columns = pd.Index(["in the workload", "unseen"])
        group.plot.bar(ax=axis, rot=30, legend=False)
        axis.set(title=f"ε = {epsilon:g}", ylabel="maximum error", xlabel="")
    return figure


def _beyond(table: pd.DataFrame) -> Any:
    figure, axes = _panels(3)
    if "auc_synthetic" in table:
        _lines(axes[0], table.dropna(subset=["auc_synthetic"]), "epsilon", "auc_synthetic")
        axes[0].axhline(table["auc_real"].mean(), ls=":", color="black")
    axes[0].set(title="income, trained on synthetic (dotted: real)", xlabel="ε", ylabel="AUC on the real test set")
    by_rows = table[table["rows"] > 0]
    if len(by_rows):
        _lines(axes[1], by_rows, "rows", "wall_seconds")
        _lines(axes[2], by_rows, "rows", "peak_mb")
    axes[1].set(title="3-way:64, ε = 1", xlabel="records", ylabel="seconds", xscale="log")
    axes[2].set(title="3-way:64, ε = 1", xlabel="records", ylabel="peak memory, MB", xscale="log")
    return figure


_DRAWINGS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "1-epsilon": _against_epsilon,
    "2-marginals": _against_marginals,
    "3-hdmm": _against_epsilon,
    "4-rounding": _against_oversampling,
    "5-rows": _against_rows,
    "6-queries": _query_counts,
    "7-thresholds": _against_epsilon,
    "8-ablation": _error_distribution,
    "9-unseen": _unseen,
    "10-beyond": _beyond,
}
