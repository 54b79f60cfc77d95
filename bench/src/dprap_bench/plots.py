"""Figures in the paper's form, from the tidy results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from dprap_bench.figure_parts import (
    STYLES,
    from_zero,
    lines,
    logarithmic,
    panels_of,
    shared_legend,
    style_of,
    ticks,
)
from dprap_bench.medians import best, synthetic_rows, wide
from dprap_bench.published import FEM


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
                shared_legend(figure)
                path = out / f"{experiment}-{data}.png"
                figure.savefig(path, dpi=110)
                plt.close(figure)
                drawn.append(path)
    return drawn


_TITLES = {
    "hdmm15": "15 three-way marginals: cells",
    "hdmm15:prefix": "15 three-way marginals: prefixes",
    "1of3:64": "1-of-3 thresholds",
    "2of3:64": "2-of-3 thresholds",
}
_NUMBERS = {"3": "three", "5": "five"}


def _title(workload: str) -> str:
    """The name of a workload in words."""
    count = workload.partition(":")[2]
    return _TITLES.get(workload) or f"{count} {_width(workload)} marginals"


def _width(workload: str) -> str:
    """How wide its marginals are, in words."""
    columns = workload.partition("way")[0]
    return f"{_NUMBERS.get(columns, columns)}-way"


def _named(table: pd.DataFrame, prefix: str) -> list[str]:
    return [str(column) for column in table.columns if str(column).startswith(prefix)]


def _against_epsilon(table: pd.DataFrame) -> Any:
    """A column of panels for every workload: maximum error, and TV below where it is defined."""
    chosen = best(table)
    workloads = sorted(chosen["workload"].unique())
    metrics = [
        m for m in ("max", "tv") if m in chosen and chosen.groupby("workload")[m].any().all()
    ]
    figure, axes = panels_of(len(workloads) * len(metrics))
    panels = [(workload, metric) for metric in metrics for workload in workloads]
    for axis, (workload, metric) in zip(axes, panels, strict=True):
        lines(axis, chosen[chosen["workload"] == workload], "epsilon", metric)
        if metric == "max":
            _published(axis, str(chosen["data"].iloc[0]), workload)
        axis.set(
            title=_title(workload), xlabel="ε", ylabel="maximum error" if metric == "max" else "TV"
        )
        logarithmic(axis, y=True)
        axis.set_xticks(sorted(chosen["epsilon"].unique()))
    return figure


def _published(axis: Any, data: str, workload: str) -> None:
    """What FEM's authors report, beside what was measured."""
    points = sorted(
        (epsilon, error) for (d, w, epsilon), error in FEM.items() if (d, w) == (data, workload)
    )
    if points:
        style = style_of("fem") | {
            "ls": "",
            "mfc": "none",
            "ms": 7,
            "label": "fem, authors' figures",
        }
        axis.plot(*zip(*points, strict=True), **style)


def _marginals(data: str, workload: str) -> float:
    """How many marginals a workload has."""
    count = workload.partition(":")[2]
    return float(count) if count.isdigit() else float(_ALL[data, workload])


_ALL = {("adult", "3way:all"): 278, ("adult", "5way:all"): 156}
"""Marginals of ADULT with at most n cells."""


def _against_marginals(table: pd.DataFrame) -> Any:
    chosen = best(table).copy()
    pairs = zip(chosen["data"], chosen["workload"], strict=True)
    chosen["marginals"] = [_marginals(data, workload) for data, workload in pairs]
    chosen["width"] = chosen["workload"].str.partition(":")[0]
    panels = sorted(set(zip(chosen["width"], chosen["epsilon"], strict=True)))
    figure, axes = panels_of(len(panels))
    for axis, (width, epsilon) in zip(axes, panels, strict=True):
        lines(
            axis,
            chosen[(chosen["width"] == width) & (chosen["epsilon"] == epsilon)],
            "marginals",
            "max",
        )
        axis.set(
            title=f"{_width(width)}, ε = {epsilon:g}",
            xlabel="workload (marginals)",
            ylabel="maximum error",
        )
        logarithmic(axis, x=True, y=True)
        ticks(axis, sorted(chosen[chosen["width"] == width]["marginals"].unique()))
    return figure


def _against_oversampling(table: pd.DataFrame) -> Any:
    chosen = best(table)
    epsilons = sorted(chosen["epsilon"].unique())
    rounded = sorted(
        _named(chosen, "max_rounded_"), key=lambda column: int(column.rpartition("_")[2])
    )
    times = [int(column.rpartition("_")[2]) for column in rounded]
    figure, axes = panels_of(len(epsilons))
    for axis, epsilon in zip(axes, epsilons, strict=True):
        for row in chosen[chosen["epsilon"] == epsilon].to_dict("records"):
            style = style_of(row["method"])
            axis.plot(times, [row[column] for column in rounded], **style)
            axis.axhline(row["max"], ls=":", color=style["color"])
        axis.set(
            title=f"ε = {epsilon:g}; dotted: before rounding",
            xlabel="oversampling",
            ylabel="maximum error",
        )
        logarithmic(axis, x=True)
        axis.set_xticks(times)
        from_zero(axis)
        axis.grid(alpha=0.3)
    return figure


def _against_rows(table: pd.DataFrame) -> Any:
    table = table.copy()
    table["n'"] = synthetic_rows(table)
    table["ε"] = [f"ε = {epsilon:g}" for epsilon in table["epsilon"]]
    figure, axes = panels_of(3)
    compiled = "compiled_" if "compiled_cpu_seconds" in table else ""
    how = "without compiling" if compiled else "with compiling"
    table["ms"] = 1000 * table[f"{compiled}cpu_seconds_per_step"]
    metrics = (
        ("max", "maximum error", ""),
        ("ms", "CPU milliseconds", f"a step, {how}"),
        (f"{compiled}cpu_seconds", "CPU seconds", f"in all, {how}"),
    )
    for axis, (metric, label, title) in zip(axes, metrics, strict=True):
        lines(axis, table.dropna(subset=[metric]), "n'", metric, by="ε")
        axis.set(xlabel="relaxed rows n'", ylabel=label, title=title)
        logarithmic(axis, x=True)
        from_zero(axis)
    return figure


def _query_counts(table: pd.DataFrame) -> Any:
    table = table.copy()
    table["width"] = [_width(workload) for workload in table["workload"]]
    figure, axes = panels_of(1)
    lines(axes[0], table, "families", "queries", by="width")
    axes[0].set(xlabel="workload (marginals)", ylabel="queries")
    logarithmic(axes[0], x=True, y=True)
    ticks(axes[0], sorted(table["families"].unique()))
    return figure


def _error_distribution(table: pd.DataFrame) -> Any:
    """Box plots of the errors of all queries: quartiles, whiskers to 99%, marks at 99.9% and the
    maximum.
    """
    quantiles = _named(table, "error_q")
    chosen = best(table)
    if chosen.empty or not quantiles:
        return None
    figure, axes = panels_of(chosen["epsilon"].nunique())
    for axis, (epsilon, group) in zip(axes, chosen.groupby("epsilon"), strict=True):
        rows = sorted(group.to_dict("records"), key=lambda row: list(STYLES).index(row["method"]))
        boxes = [_box(row) for row in rows]
        drawn = axis.bxp(boxes, showfliers=True, patch_artist=True, medianprops={"color": "black"})
        for box, row in zip(drawn["boxes"], rows, strict=True):
            box.set_facecolor(style_of(row["method"])["color"])
        axis.set(title=f"ε = {epsilon:g}; bottom: 10⁻⁶ or less", ylabel="error of a query")
        axis.set_yscale("log")
        axis.grid(alpha=0.3, axis="y")
    return figure


_SMALLEST_SHOWN = 1e-6


def _box(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The statistics of a box plot, from quantiles that were measured."""
    shares = {"q1": "0.25", "med": "0.5", "q3": "0.75", "whishi": "0.99"}
    found = {
        name: max(row.get(f"error_q{share}", 0.0), _SMALLEST_SHOWN)
        for name, share in shares.items()
    }
    fliers = [max(row.get(name, 0.0), _SMALLEST_SHOWN) for name in ("error_q0.999", "max")]
    return {**found, "whislo": _SMALLEST_SHOWN, "fliers": fliers, "label": row["method"]}


def _unseen(table: pd.DataFrame) -> Any:
    if "unseen_max" not in table:
        return None
    chosen = best(table)
    epsilons = sorted(chosen["epsilon"].unique())
    figure, axes = panels_of(len(epsilons))
    for axis, epsilon in zip(axes, epsilons, strict=True):
        group = (
            chosen[chosen["epsilon"] == epsilon]
            .set_index("method")[["max", "unseen_max"]]
            .sort_values("max")
        )
        group.columns = pd.Index(["in the workload", "unseen"])
        group[::-1].plot.barh(ax=axis, legend=False)
        axis.set(title=f"ε = {epsilon:g}", xlabel="maximum error", ylabel="")
    return figure


def _beyond(table: pd.DataFrame) -> Any:
    """Errors and classifiers trained on synthetic records; below, CPU time and memory against
    whatever drives them.
    """
    figure, axes = panels_of(12)
    classified = (
        table.dropna(subset=["auc_synthetic"]) if "auc_synthetic" in table else table.iloc[:0]
    )
    for axis, (metric, label) in zip(axes, _CLASSIFIED, strict=False):
        if metric in classified and len(classified):
            lines(axis, classified, "epsilon", metric)
            if (real := metric.replace("synthetic", "real")) != metric:
                axis.axhline(
                    classified[real].mean(), ls=":", color="black", label="trained on real data"
                )
        axis.set(title="all pairs of columns", xlabel="ε", ylabel=label)
        logarithmic(axis, x=True)
        axis.set_xticks(sorted(classified["epsilon"].unique()))
    whole = (table["rows"] == 0) & (table["columns"] == 0)
    main = table["workload"] == "3way:64"
    by_size = whole & table["workload"].str.startswith("3way") & (table["epsilon"] == 0.1)
    drivers = (
        (table["rows"] > 0, "rows", "64 three-way marginals, ε = 1", "records"),
        (table["columns"] > 0, "columns", "pairs of the first columns, ε = 1", "columns"),
        (whole & main, "epsilon", "64 three-way marginals", "ε"),
        (by_size, "queries", "three-way marginals, ε = 0.1", "queries"),
    )
    costs = (("cpu_seconds", "CPU seconds"), ("peak_mb", "peak memory, MB"))
    panels = [(metric, label, *driver) for metric, label in costs for driver in drivers]
    for axis, (metric, label, rows, x, title, driver) in zip(axes[4:], panels, strict=True):
        part = best(table[rows])
        if len(part) and metric in part:
            lines(axis, part, x, metric)
        axis.set(title=title, xlabel=driver, ylabel=label)
        logarithmic(axis, x=True, y=metric == "cpu_seconds")
        if metric == "peak_mb":
            from_zero(axis)
        if x in ("epsilon", "columns") and len(part):
            axis.set_xticks(sorted(part[x].unique()))
    return figure


_CLASSIFIED = (
    ("max", "maximum error"),
    ("tv", "TV"),
    ("accuracy_synthetic", "accuracy on real test records"),
    ("auc_synthetic", "AUC on real test records"),
)


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
