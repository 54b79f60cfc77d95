"""The study `regimes` as a picture: by how much the default is ahead of the better baseline, cell
by cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import numpy as np

from dprap_bench.record import Record
from dprap_bench.regime_losses import ERRORS, TOLERANCE, Methods, by_regime, draws_of, ratio
from dprap_bench.studies.regimes import DRAWS, Regime

mpl.use("Agg")

import matplotlib.pyplot as plt


def ratios(records: Iterable[Record]) -> dict[Regime, tuple[float, ...]]:
    """Max and TV of the default over the better baseline's, where all three were measured."""
    return {regime: _of_both(methods) for regime, methods in _measured(records).items()}


def _measured(records: Iterable[Record]) -> dict[Regime, Methods]:
    return by_regime((record.cell, record.figures) for record in records)


def _of_both(methods: Methods) -> tuple[float, ...]:
    return tuple(ratio(methods, error) for error in ERRORS)


def _label(regime: Regime, draws: int) -> str:
    """The cell, and how many draws it has if these are few."""
    return str(regime) if draws == DRAWS else f"{regime} ({draws} draws)"


def draw_regimes(records: Iterable[Record], out: Path) -> Path | None:
    """Draw `regimes.png`, one row for each cell of the grid that was measured, blue where the
    default is ahead.
    """
    measured = _measured(records)
    if not measured:
        return None
    found = [_of_both(methods) for methods in measured.values()]
    values = np.log2(found)
    figure, axis = plt.subplots(figsize=(6.4, 0.19 * len(found) + 1.0), layout="constrained")
    axis.imshow(values, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
    for row, errors in enumerate(found):
        for column, error in enumerate(errors):
            behind = "bold" if error > TOLERANCE else "normal"
            axis.text(
                column, row, f"{error:.2f}", ha="center", va="center", fontsize=6, weight=behind
            )
    axis.set_xticks([0, 1], ["max", "TV"])
    labels = [_label(regime, draws_of(methods)) for regime, methods in measured.items()]
    axis.set_yticks(range(len(labels)), labels, fontsize=6)
    axis.xaxis.tick_top()
    axis.set_title("adaptive ÷ the better of independent and gaussian", fontsize=8)
    path = out / "regimes.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
