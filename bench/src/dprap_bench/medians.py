"""Results as one row for every group of draws, and the best settings of each method."""

from __future__ import annotations

import math

import pandas as pd

from dprap_bench.chosen_pair import JUDGING
from dprap_bench.record import COSTS

_GROUP = [
    "experiment",
    "data",
    "workload",
    "relation",
    "rows",
    "columns",
    "method",
    "settings",
    "epsilon",
]

# A cell that both of these experiments have is one cell, and has one figure.
_ONE_FIGURE = ("1-epsilon", "2-marginals")
_CELL = ["data", "workload", "relation", "rows", "columns", "method", "settings", "epsilon"]


def shared(results: pd.DataFrame) -> pd.DataFrame:
    """The same results, where draws of a cell that two comparisons have belong to both. A cell has
    settings: the sweep over workloads has RAP at one pair (T, K), which need not be the best one.
    """
    among = results["experiment"].isin(_ONE_FIGURE)
    wanted = results.loc[among, ["experiment", *_CELL]].drop_duplicates()
    draws = results[among].drop(columns="experiment")
    draws = draws.drop_duplicates([*_CELL, "seed", "metric"], keep="last")
    both = wanted.merge(draws, on=_CELL)
    return pd.concat([results[~among], both[results.columns]], ignore_index=True)


def wide(results: pd.DataFrame) -> pd.DataFrame:
    """One row for every group of seeds, metrics as columns: medians over the seeds.

    Where draws that judge were made, the figures are theirs alone, and `judged` says so; `choosing`
    is the median maximum error of the other `choosing_draws`. `draws` is the number of seeds,
    `max_low` and `max_high` are the extremes of the maximum error among them.
    """
    results = shared(results)
    kept = results[results["metric"] != "failed"].copy()
    kept[["rows", "columns"]] = kept[["rows", "columns"]].fillna(0).astype(int)
    kept["value"] = kept["value"].astype(float)
    judges = kept["seed"] >= JUDGING
    kept["judged"] = judges.groupby([kept[name] for name in _GROUP]).transform("any")
    choosing = kept[~judges & (kept["metric"] == "max")].groupby(_GROUP)
    chose = choosing["value"].agg(choosing="median", choosing_draws="count")
    # Costs are those of seed 0, which judges nothing.
    kept = kept[judges | ~kept["judged"] | kept["metric"].isin(COSTS)]
    table = kept.pivot_table(index=_GROUP, columns="metric", values="value", aggfunc="median")
    errors = kept[kept["metric"] == "max"].groupby(_GROUP)
    table = table.join(errors["value"].agg(max_low="min", max_high="max")).join(
        errors["seed"].nunique().rename("draws")
    )
    table = table.join(kept.groupby(_GROUP)["judged"].any()).join(chose)
    return table.reset_index().rename_axis(columns=None)


def best(table: pd.DataFrame) -> pd.DataFrame:
    """The settings with the smallest maximum error of each method, as the paper reports; judged
    ones where there are any.
    """
    by = [name for name in _GROUP if name != "settings"]
    if "max" not in table:
        return table.iloc[:0]
    measured = table.dropna(subset=["max"])
    ranked = measured.assign(
        unjudged=~measured["judged"], rank=measured["choosing"].fillna(measured["max"])
    )
    return ranked.sort_values(["unjudged", "rank"]).groupby(by).head(1).sort_index()


def synthetic_rows(part: pd.DataFrame) -> pd.Series:
    """The n' that a method was asked for."""
    return part["settings"].str.extract(r'"synthetic_rows": (\d+)')[0].astype(int)


def natural(workload: str) -> tuple[str, float]:
    """A key that sorts workloads by their number of marginals, everything eligible last."""
    kind, _, count = workload.partition(":")
    return (kind, float(count)) if count.isdigit() else (workload.removesuffix(":all"), math.inf)
