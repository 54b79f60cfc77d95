"""Figures in the paper's form, from the tidy results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from dprap_bench.published import FEM
from dprap_bench.tables import best, synthetic_rows, wide

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

_STYLES = {
    "adaptive": ("#d62728", "o"),
    "rap": ("#1f77b4", "s"),
    "rp": ("#17becf", "D"),
    "fem": ("#2ca02c", "^"),
    "dualquery": ("#006d2c", "v"),
    "gaussian": ("#9467bd", "P"),
    "gaussian-query": ("#c5b0d5", "P"),
    "independent": ("#8c564b", "<"),
    "zero": ("#7f7f7f", ""),
    "mst": ("#e377c2", ">"),
    "aim": ("#ff7f0e", "X"),
    "hdmm-lls": ("#bcbd22", "d"),
    "hdmm-pgm": ("#6b6b00", "h"),
    "mwem": ("#4c6b9a", "*"),
}
"""Colour and marker of every method: two lines that lie on each other can still be told apart."""


def _style(method: str) -> dict[str, Any]:
    colour, marker = _STYLES.get(method, (None, "o"))
    line = "--" if method == "zero" else "-"
    weight = 2.5 if method == "adaptive" else 1.4
    return {"color": colour, "marker": marker, "ms": 4, "ls": line, "lw": weight, "label": method}


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
    across = {4: 2, 6: 3, 12: 4}.get(count, count)
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
    order = sorted(shown, key=lambda label: list(_STYLES).index(label) if label in _STYLES else len(_STYLES))
    figure.legend([shown[label] for label in order], order, loc="outside right upper", fontsize=8, frameon=False)


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


def _logarithmic(axis: Any, *, x: bool = False, y: bool = False) -> None:
    """Logarithmic axes with plain numbers at 1, 2 and 5 (at powers of ten alone where they span many)."""
    for name, chosen in (("x", x), ("y", y)):
        if not chosen:
            continue
        getattr(axis, f"set_{name}scale")("log")
        low, high = sorted(getattr(axis, f"get_{name}lim")())
        line = getattr(axis, f"{name}axis")
        line.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
        line.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
        line.set_minor_formatter(NullFormatter())


def _plain(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e4 else f"{value:g}"


def _named(table: pd.DataFrame, prefix: str) -> list[str]:
    return [str(column) for column in table.columns if str(column).startswith(prefix)]


def _lines(axis: Any, table: pd.DataFrame, x: str, y: str, by: str = "method") -> None:
    """A line for every method; a band from the smallest to the largest maximum error of its draws."""
    for name, group in table.groupby(by):
        ordered = group.dropna(subset=[y]).sort_values(x)
        style = _style(str(name))
        axis.plot(ordered[x], ordered[y], **style)
        if y == "max" and (ordered["draws"] > 1).any():
            axis.fill_between(
                ordered[x], ordered["max_low"], ordered["max_high"], color=style["color"], alpha=0.15, lw=0
            )
    axis.grid(alpha=0.3)


def _against_epsilon(table: pd.DataFrame) -> Any:
    """A column of panels for every workload: maximum error, and TV below where it is defined."""
    chosen = best(table)
    workloads = sorted(chosen["workload"].unique())
    metrics = [m for m in ("max", "tv") if m in chosen and chosen.groupby("workload")[m].any().all()]
    figure, axes = _panels(len(workloads) * len(metrics))
    panels = [(workload, metric) for metric in metrics for workload in workloads]
    for axis, (workload, metric) in zip(axes, panels, strict=True):
        _lines(axis, chosen[chosen["workload"] == workload], "epsilon", metric)
        if metric == "max":
            _published(axis, str(chosen["data"].iloc[0]), workload)
        axis.set(title=_title(workload), xlabel="ε", ylabel="maximum error" if metric == "max" else "TV")
        _logarithmic(axis, y=True)
        axis.set_xticks(sorted(chosen["epsilon"].unique()))
    return figure


def _published(axis: Any, data: str, workload: str) -> None:
    """What FEM's authors report, beside what was measured."""
    points = sorted((epsilon, error) for (d, w, epsilon), error in FEM.items() if (d, w) == (data, workload))
    if points:
        style = _style("fem") | {"ls": "", "mfc": "none", "ms": 7, "label": "fem, authors' figures"}
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
    figure, axes = _panels(len(panels))
    for axis, (width, epsilon) in zip(axes, panels, strict=True):
        _lines(axis, chosen[(chosen["width"] == width) & (chosen["epsilon"] == epsilon)], "marginals", "max")
        axis.set(title=f"{_width(width)}, ε = {epsilon:g}", xlabel="workload (marginals)", ylabel="maximum error")
        _logarithmic(axis, x=True, y=True)
        axis.set_xticks(sorted(chosen[chosen["width"] == width]["marginals"].unique()))
        axis.minorticks_off()
    return figure


def _against_oversampling(table: pd.DataFrame) -> Any:
    chosen = best(table)
    epsilons = sorted(chosen["epsilon"].unique())
    rounded = sorted(_named(chosen, "max_rounded_"), key=lambda column: int(column.rpartition("_")[2]))
    times = [int(column.rpartition("_")[2]) for column in rounded]
    figure, axes = _panels(len(epsilons))
    for axis, epsilon in zip(axes, epsilons, strict=True):
        for row in chosen[chosen["epsilon"] == epsilon].to_dict("records"):
            style = _style(row["method"])
            axis.plot(times, [row[column] for column in rounded], **style)
            axis.axhline(row["max"], ls=":", color=style["color"])
        axis.set(title=f"ε = {epsilon:g}; dotted: before rounding", xlabel="oversampling", ylabel="maximum error")
        _logarithmic(axis, x=True)
        axis.set_xticks(times)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    return figure


def _against_rows(table: pd.DataFrame) -> Any:
    table = table.copy()
    table["n'"] = synthetic_rows(table)
    table["ε"] = [f"ε = {epsilon:g}" for epsilon in table["epsilon"]]
    figure, axes = _panels(3)
    compiled = "compiled_" if "compiled_cpu_seconds" in table else ""
    how = "without compiling" if compiled else "with compiling"
    metrics = (
        ("max", "maximum error"),
        (f"{compiled}cpu_seconds_per_step", f"CPU seconds a step, {how}"),
        (f"{compiled}cpu_seconds", f"CPU seconds in all, {how}"),
    )
    for axis, (metric, label) in zip(axes, metrics, strict=True):
        if metric in table:
            _lines(axis, table.dropna(subset=[metric]), "n'", metric, by="ε")
        axis.set(xlabel="relaxed rows n'", ylabel=label)
        _logarithmic(axis, x=True)
        axis.set_ylim(bottom=0)
    return figure


def _query_counts(table: pd.DataFrame) -> Any:
    table = table.copy()
    table["width"] = [_width(workload) for workload in table["workload"]]
    figure, axes = _panels(1)
    _lines(axes[0], table, "families", "queries", by="width")
    axes[0].set(xlabel="marginals", ylabel="queries")
    _logarithmic(axes[0], x=True, y=True)
    return figure


def _error_distribution(table: pd.DataFrame) -> Any:
    """Box plots of the errors of all queries: quartiles, whiskers to 99%, marks at 99.9% and the maximum."""
    quantiles = _named(table, "error_q")
    chosen = best(table)
    if chosen.empty or not quantiles:
        return None
    figure, axes = _panels(chosen["epsilon"].nunique())
    for axis, (epsilon, group) in zip(axes, chosen.groupby("epsilon"), strict=True):
        rows = sorted(group.to_dict("records"), key=lambda row: list(_STYLES).index(row["method"]))
        boxes = [_box(row) for row in rows]
        drawn = axis.bxp(boxes, showfliers=True, patch_artist=True, medianprops={"color": "black"})
        for box, row in zip(drawn["boxes"], rows, strict=True):
            box.set_facecolor(_style(row["method"])["color"])
        axis.set(title=f"ε = {epsilon:g}", ylabel="error of a query (10⁻⁶ or less at the bottom)")
        axis.set_yscale("log")
        axis.grid(alpha=0.3, axis="y")
    return figure


_SMALLEST_SHOWN = 1e-6


def _box(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The statistics of a box plot, from quantiles that were measured."""
    shares = {"q1": "0.25", "med": "0.5", "q3": "0.75", "whishi": "0.99"}
    found = {name: max(row.get(f"error_q{share}", 0.0), _SMALLEST_SHOWN) for name, share in shares.items()}
    fliers = [max(row.get(name, 0.0), _SMALLEST_SHOWN) for name in ("error_q0.999", "max")]
    return {**found, "whislo": _SMALLEST_SHOWN, "fliers": fliers, "label": row["method"]}


def _unseen(table: pd.DataFrame) -> Any:
    if "unseen_max" not in table:
        return None
    chosen = best(table)
    epsilons = sorted(chosen["epsilon"].unique())
    figure, axes = _panels(len(epsilons))
    for axis, epsilon in zip(axes, epsilons, strict=True):
        group = chosen[chosen["epsilon"] == epsilon].set_index("method")[["max", "unseen_max"]].sort_values("max")
        group.columns = pd.Index(["in the workload", "unseen"])
        group.plot.bar(ax=axis, rot=30, legend=False)
        axis.set(title=f"ε = {epsilon:g}", ylabel="maximum error", xlabel="")
    return figure


def _beyond(table: pd.DataFrame) -> Any:
    """Errors and classifiers trained on synthetic records; below, CPU time and memory against whatever drives them."""
    figure, axes = _panels(12)
    classified = table.dropna(subset=["auc_synthetic"]) if "auc_synthetic" in table else table.iloc[:0]
    for axis, (metric, label) in zip(axes, _CLASSIFIED, strict=False):
        if metric in classified and len(classified):
            _lines(axis, classified, "epsilon", metric)
            if (real := metric.replace("synthetic", "real")) != metric:
                axis.axhline(classified[real].mean(), ls=":", color="black", label="trained on real data")
        axis.set(title="all pairs of columns", xlabel="ε", ylabel=label)
        _logarithmic(axis, x=True)
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
            _lines(axis, part, x, metric)
        axis.set(title=title, xlabel=driver, ylabel=label)
        _logarithmic(axis, x=True, y=metric == "cpu_seconds")
        if metric == "peak_mb":
            axis.set_ylim(bottom=0)
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
