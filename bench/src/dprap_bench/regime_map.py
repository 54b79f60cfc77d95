"""The study `regimes` as a picture: by how much the default is ahead of the better baseline, cell
by cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import numpy as np

from dprap_bench.record import Record
from dprap_bench.regime_losses import ERRORS, TOLERANCE, by_regime, ratio
from dprap_bench.studies.regimes import DRAWS, Regime, usual_draws

mpl.use("Agg")

import matplotlib.pyplot as plt


def ratios(records: Iterable[Record]) -> dict[Regime, tuple[float, ...]]:
    """Max and TV of the default over the better baseline's, where all three were measured."""
    measured = by_regime((record.cell, record.figures) for record in records)
    return {
        regime: tuple(ratio(methods, error) for error in ERRORS)
        for regime, methods in measured.items()
    }


def _label(regime: Regime) -> str:
    """The cell, and how many draws it has if these are few."""
    draws = usual_draws(regime)
    return str(regime) if draws == DRAWS else f"{regime} ({draws} draws)"


def draw_regimes(records: Iterable[Record], out: Path) -> Path | None:
    """Draw `regimes.png`, one row for each cell of the grid that was measured, blue where the
    default is ahead.
    """
    measured = ratios(records)
    cells = list(measured)
    if not cells:
        return None
    values = np.log2([measured[cell] for cell in cells])
    figure, axis = plt.subplots(figsize=(6.4, 0.19 * len(cells) + 1.0), layout="constrained")
    axis.imshow(values, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
    for row, cell in enumerate(cells):
        for column, error in enumerate(measured[cell]):
            behind = "bold" if error > TOLERANCE else "normal"
            axis.text(
                column, row, f"{error:.2f}", ha="center", va="center", fontsize=6, weight=behind
            )
    axis.set_xticks([0, 1], ["max", "TV"])
    axis.set_yticks(range(len(cells)), [_label(cell) for cell in cells], fontsize=6)
    axis.xaxis.tick_top()
    axis.set_title("adaptive ÷ the better of independent and gaussian", fontsize=8)
    path = out / "regimes.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
