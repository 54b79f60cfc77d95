"""How columns go together, as inline SVG: a map of all pairs, and the cells of one pair."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dprap.array_types import Float
from dprap.report.column_plots import _WIDTH
from dprap.report.figure import WARNING, figure, short
from dprap.report.html import Html, el
from dprap.report.pair_views import PairView

# Above so many columns, the pairs of a heat map carry no text of their own: the page would grow by
# megabytes.
_TOLD_COLUMNS = 40


# The width of a letter, as wide ones have it.
_LETTER = 6.0

# Labels of intervals up to this length are shown whole.
_SHORT = 10
# A letter of a label that is turned by 60°, downwards and to the left, and the room of one line.
_DOWN, _ASIDE, _LINE = 4.9, 2.9, 12.0
# Letters that are wider than that, and how much.
_WIDE_LETTERS, _WIDE = frozenset("MWmw@%…"), 1.6
# What the height of its letters takes at the left.
_HEIGHT_ASIDE = 8.0


def heat_map(
    names: Sequence[str],
    lower: Float[np.ndarray, "columns columns"],
    upper: Float[np.ndarray, "columns columns"] | None,
    *,
    private: bool,
) -> Html:
    """Association of every pair: of the synthetic data below the diagonal, of the private data
    (where given) above it.
    """
    size = len(names)
    step = max(7.0, min(28.0, 760 / size))
    font = min(11.0, step * 0.82)
    room = 10 + max(len(short(name, 22)) for name in names) * font * 0.58
    head = 16.0 if upper is None else 16 + room
    shapes = _names(names, room, head, step, font, above=upper is not None)
    for row in range(size):
        for column in range(size):
            if column == row or (column > row and upper is None):
                continue
            value = lower[row, column] if column < row or upper is None else upper[row, column]
            which = "" if column < row else f"{WARNING} "
            told = (
                el("title", f"{which}{names[row]} and {names[column]}: {value:.2f}")
                if size <= _TOLD_COLUMNS
                else None
            )
            place = {
                "x": room + column * step,
                "y": head + row * step,
                "width": step - 0.6,
                "height": step - 0.6,
            }
            shapes.append(
                el("rect", told, class_="cell", fill_opacity=f"{0.05 + 0.95 * value:.2f}", **place)
            )
    width = room + size * step + (room if upper is None else 4)
    strongest = max(
        ((lower[a, b], a, b) for a in range(size) for b in range(a)), default=(0.0, 0, 0)
    )
    pair = f"{names[strongest[1]]} and {names[strongest[2]]}"
    text = f"{size} columns. The strongest association is {strongest[0]:.2f}, between {pair}."
    title = "Association of every pair of columns"
    return figure(
        "pairs",
        title,
        text,
        width,
        head + size * step + 4,
        shapes,
        private=private,
        largest=width * 1.15,
        least=0.8 * width,
    )


def _names(
    names: Sequence[str], room: float, head: float, step: float, font: float, *, above: bool
) -> list[Html]:
    """Names of the rows at the left; of the columns above, or along the diagonal where nothing
    stands right of it.
    """
    shapes = []
    for at, name in enumerate(names):
        middle = head + at * step + step / 2 + font * 0.35
        x = room + at * step
        text = short(name, 22)
        shapes.append(el("text", text, x=room - 5, y=middle, font_size=font, text_anchor="end"))
        if above:
            x += step / 2 + font * 0.35
            turned = f"rotate(-90 {x:.1f} {head - 5:.1f})"
            shapes.append(el("text", text, x=x, y=head - 5, font_size=font, transform=turned))
        else:
            shapes.append(el("text", text, x=x + 4, y=middle, font_size=font, class_="faint"))
    return shapes


def pair_plot(view: PairView, name: str, *, private: bool) -> Html:
    """The joint shares of two columns: each row of cells is scaled to its largest."""
    rows, columns = view.labels
    # Of values drawn together the first is told below the cells: there is no room for both ends.
    across = [_first_of(label) for label in columns]
    # Room for the labels of the rows, and for that of the first column, which is turned.
    room = max(20 + max(map(len, rows)) * _LETTER, _ASIDE * _extent(across[0]) + _HEIGHT_ASIDE)
    left = min(room, _WIDTH * 0.42)
    under = min(14 + max(map(_extent, across)) * _DOWN, 84.0)
    wide = (_WIDTH - left - 6) / len(columns)
    high = max(11.0, min(20.0, 170 / len(rows)))
    head = 16.0
    shapes = []
    for row, label in enumerate(rows):
        y = head + row * high
        text = short(label, int((left - 8) / _LETTER))
        shapes.append(
            el("text", text, x=left - 5, y=y + high / 2 + 3, class_="tick", text_anchor="end")
        )
        largest = max(float(view.shares[row].max()), 1e-12)
        for column, other in enumerate(columns):
            share = float(view.shares[row, column])
            told = el("title", f"{label} and {other}: {share:.2%}")
            place = {"x": left + column * wide, "y": y, "width": wide - 0.6, "height": high - 0.6}
            shapes.append(
                el(
                    "rect",
                    told,
                    class_="cell",
                    fill_opacity=f"{0.04 + 0.96 * share / largest:.2f}",
                    **place,
                )
            )
    bottom = head + len(rows) * high
    every = math.ceil(_LINE / wide)
    for column in range(0, len(across), every):
        x, y = left + (column + 0.5) * wide + 3, bottom + 6
        text = _fitted(across[column], min((under - 12) / _DOWN, (x - _HEIGHT_ASIDE) / _ASIDE))
        turned = f"rotate(-60 {x:.1f} {y:.1f})"
        shapes.append(
            el("text", text, x=x, y=y, class_="tick", text_anchor="end", transform=turned)
        )
    title = f"{view.columns[0]} (down) by {view.columns[1]} (across)"
    said = (
        "Each row of cells shows the shares of the second column among records with that value of"
        " the first."
    )
    return figure(name, title, said, _WIDTH, bottom + under, shapes, private=private)


def _extent(label: str) -> float:
    """The length of a label in letters of usual width."""
    return sum(_WIDE if letter in _WIDE_LETTERS else 1.0 for letter in label)


def _fitted(label: str, most: float) -> str:
    """The label, cut in the middle so far that it takes at most so many letters of usual width."""
    text, letters = label, len(label)
    while _extent(text) > most and letters > 1:
        letters -= 1
        text = short(label, letters)
    return text


def _first_of(label: str) -> str:
    """The first of the values that a label speaks of, if the label is long or they are groups."""
    for sign in (" … ", ".."):
        first, found, _ = label.partition(sign)
        if found and (sign != ".." or len(label) > _SHORT):
            return f"{first} …"
    return label
