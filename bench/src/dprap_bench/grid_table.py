"""RAP's maximum error by T and K, as in the paper's grid: the draws by which a pair is chosen."""

from __future__ import annotations

import json

import pandas as pd

_GRID_FROM = 10
"""Fewer pairs (T, K) than this are no grid to show."""


def grid_tables(part: pd.DataFrame) -> list[str]:
    """A table for every workload, ε and number of relaxed rows at which at least ten pairs were
    run.
    """
    lines: list[str] = []
    ours = part[part["method"] == "rap"].dropna(subset=["choosing"])
    rows = ours["settings"].map(lambda settings: json.loads(settings).get("synthetic_rows", 1000))
    for (data, workload, epsilon, size), group in ours.groupby(
        ["data", "workload", "epsilon", rows]
    ):
        if len(group) < _GRID_FROM:
            continue
        given = [json.loads(settings) for settings in group["settings"]]
        pairs = [(settings["rounds"], settings["queries_per_round"]) for settings in given]
        errors = dict(zip(pairs, group["choosing"], strict=True))
        rounds, queries = (sorted({pair[place] for pair in pairs}) for place in (0, 1))
        lines += [f"{data}, {workload}, ε = {epsilon:g}, n' = {size}, rap by T and K", ""]
        lines += [
            "| | " + " | ".join(f"K = {k}" for k in queries) + " |",
            "|---|" + "---|" * len(queries),
        ]
        for t in rounds:
            entries = [f"{errors[t, k]:.4f}" if (t, k) in errors else "–" for k in queries]
            lines += [f"| T = {t} | " + " | ".join(entries) + " |"]
        fewest, most = int(group["choosing_draws"].min()), int(group["choosing_draws"].max())
        said = (
            f"{fewest} to {most} draws"
            if fewest < most
            else f"{fewest} draws"
            if most > 1
            else "one draw"
        )
        lines += [
            "",
            (
                f"Median maximum error of {len(pairs)} pairs over {said} each, by which the best is"
                " chosen."
            ),
            "",
        ]
    return lines
