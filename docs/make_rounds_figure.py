"""Draw docs/figures/rounds.png: one run of the adaptive mechanism on the invented table, round by
round.

The figure is made once and kept, because a run has fresh noise each time: `python
docs/make_rounds_figure.py`.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import dprap


def draw(target: Path) -> None:
    """Misfit and budget after each round, and when each pair of columns was first measured."""
    rounds: list[tuple[float, float]] = []

    def watch(progress: Any) -> None:
        found = re.match(r"(\d+)% of ρ spent, misfit ([\d.]+)", progress.detail)
        if progress.stage == "round" and found:
            rounds.append((float(found[1]), float(found[2])))

    release = dprap.synthesize(
        dprap.datasets.example(20_000, seed=0),
        dprap.datasets.example_schema(),
        epsilon=1.0,
        kway=3,
        progress=watch,
        intervals="no",
    )
    spent, misfit = zip(*rounds, strict=True)
    names = release.schema.domain.names
    picked = [m.marginal.columns for m in release.measurements if len(m.marginal.columns) > 1]
    first = np.full((len(names), len(names)), np.nan)
    for number, columns in reversed(list(enumerate(picked))):
        for one, other in combinations(sorted(names.index(name) for name in columns), 2):
            first[other, one] = 1 + number * len(rounds) // len(picked)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=(1, 1.3)
    )
    at = range(1, len(rounds) + 1)
    left.plot(at, misfit, "o-", color="#3949ab")
    left.set(
        title="After each round",
        xlabel="round",
        ylabel="misfit, in units of the noise",
        ylim=(0, None),
    )
    right_axis = left.twinx()
    right_axis.bar(at, spent, color="#8a8f98", alpha=0.35)
    right_axis.set(ylabel="budget spent, % (bars)", ylim=(0, 100))
    shown = right.imshow(first, cmap="viridis", vmin=1, vmax=len(rounds))
    right.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    right.set_yticks(range(len(names)), names, fontsize=8)
    right.set(title="Round in which a pair of columns was first measured")
    right.spines[["top", "right"]].set_visible(False)
    figure.colorbar(shown, ax=right, label="round")
    figure.savefig(target, dpi=100)


if __name__ == "__main__":
    draw(Path(__file__).with_name("figures") / "rounds.png")
