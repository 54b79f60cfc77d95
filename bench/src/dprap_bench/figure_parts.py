"""Panels, axes, lines and legends that the figures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

STYLES = {
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


# Height of an axis that begins at 0, as a multiple of the largest value on it.
_ROOM_ABOVE = 1.06


def style_of(method: str) -> dict[str, Any]:
    """How a method's line is drawn."""
    colour, marker = STYLES.get(method, (None, "o"))
    line = "--" if method == "zero" else "-"
    weight = 2.5 if method == "adaptive" else 1.4
    return {"color": colour, "marker": marker, "ms": 4, "ls": line, "lw": weight, "label": method}


def panels_of(count: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels, and their axes."""
    across = {4: 2, 6: 3, 12: 4}.get(count, count)
    down = -(-count // across)
    figure, axes = plt.subplots(
        down, across, figsize=(4.2 * across + 1.2, 3.2 * down), squeeze=False, layout="constrained"
    )
    return figure, list(axes.ravel())


def shared_legend(figure: Any) -> None:
    """One legend beside the panels for the lines of all of them."""
    shown: dict[str, Any] = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    order = sorted(
        shown, key=lambda label: list(STYLES).index(label) if label in STYLES else len(STYLES)
    )
    figure.legend(
        [shown[label] for label in order],
        order,
        loc="outside right upper",
        fontsize=8,
        frameon=False,
    )


def logarithmic(axis: Any, *, x: bool = False, y: bool = False) -> None:
    """Logarithmic axes with plain numbers at 1, 2 and 5 (at powers of ten alone where they span
    many).
    """
    for name, chosen in (("x", x), ("y", y)):
        if not chosen:
            continue
        getattr(axis, f"set_{name}scale")("log")
        low, high = sorted(getattr(axis, f"get_{name}lim")())
        line = getattr(axis, f"{name}axis")
        line.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
        line.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
        line.set_minor_formatter(NullFormatter())


def from_zero(axis: Any) -> None:
    """Begin the y axis at 0, with room above what is drawn even where all values are alike."""
    axis.set_ylim(0, _ROOM_ABOVE * axis.dataLim.y1)


def ticks(axis: Any, values: Sequence[float]) -> None:
    """A tick at each value of a logarithmic x axis, and a number where the next one leaves room for
    it.
    """
    axis.set_xticks(values)
    following = [*values[1:], math.inf]
    axis.set_xticklabels(
        [
            f"{value:g}" if after > _ROOM * value else ""
            for value, after in zip(values, following, strict=True)
        ]
    )
    axis.minorticks_off()


_ROOM = 1.5
"""Two numbers that differ by less than this factor would touch on a logarithmic axis."""


def _plain(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e4 else f"{value:g}"


def lines(axis: Any, table: pd.DataFrame, x: str, y: str, by: str = "method") -> None:
    """A line for every method; a band from the smallest to the largest maximum error of its
    draws.
    """
    for name, group in table.groupby(by):
        ordered = group.dropna(subset=[y]).sort_values(x)
        style = style_of(str(name))
        axis.plot(ordered[x], ordered[y], **style)
        if y == "max" and (ordered["draws"] > 1).any():
            axis.fill_between(
                ordered[x],
                ordered["max_low"],
                ordered["max_high"],
                color=style["color"],
                alpha=0.15,
                lw=0,
            )
    axis.grid(alpha=0.3)
