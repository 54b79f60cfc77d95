"""Draw docs/figures/release.png: the release of `dprap demo` beside the invented table that it is
about.

The figure is made once and kept, because a release has fresh noise each time:

    dprap demo --out demo-release
    python docs/make_release_figure.py demo-release
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import dprap
from dprap.datasets.example import EDUCATION

TRUTH, RELEASED = "#8a8f98", "#3949ab"


def draw(release: dprap.Release, target: Path) -> None:
    """Three statistics of the synthetic table beside those of the invented table of the same
    size.
    """
    tables = [
        (
            "invented table (the truth)",
            TRUTH,
            dprap.datasets.example(release.table_rows, seed=0).to_pandas(),
        ),
        (f"synthetic table (ε = {release.privacy.epsilon:g})", RELEASED, release.table()),
    ]
    figure, (ages, incomes, smokers) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    at = np.arange(len(EDUCATION))
    for side, (label, colour, table) in enumerate(tables):
        counts, edges = np.histogram(table["age"].dropna(), bins=np.arange(15, 101, 5))
        ages.stairs(
            counts, edges, color=colour, linewidth=2, label=label, linestyle=("-", "--")[side]
        )
        place, width = at + (side - 0.5) * 0.4, 0.4
        median = table.groupby("education")["income"].median()[list(EDUCATION)]
        incomes.bar(place, median / 1000, width, color=colour, label=label)
        share = table.groupby("education")["smoker"].mean()[list(EDUCATION)]
        smokers.bar(place, 100 * share.astype(float), width, color=colour, label=label)
    ages.set(title="Records by age", xlabel="age in years", ylabel="records")
    incomes.set(title="Median income by education", ylabel="thousand a year")
    smokers.set(title="Smokers by education", ylabel="% of records")
    for axes in (incomes, smokers):
        axes.set_xticks(at, EDUCATION, rotation=35, ha="right", fontsize=8)
    for axes in (ages, incomes, smokers):
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *ages.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False
    )
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    draw(dprap.load(sys.argv[1]), Path(__file__).with_name("figures") / "release.png")
