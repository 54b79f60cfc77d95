"""The tables of docs/intervals.md: a summary, the coverage of every class, and its widths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dprap_bench.studies.interval_coverage import CLASSES, SIZES, TABLES

_EARLIER = " †"


def as_table(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Kept records as three tables: a summary, the coverage of every class, and its width.

    Each table of data at each ε is a line of the first and a column of the others. A dagger marks
    runs of another version of the program than that of the last record; these have a column where
    there is nothing else. Classes of which
    fewer than half of the answers have an interval are shown as a dash.
    """
    alike: dict[tuple[int, float, str], list[Mapping[str, Any]]] = {}
    for each in records:
        cell = each["cell"]
        place = (TABLES.index(cell["data"]), cell["epsilon"], cell["code"])
        alike.setdefault(place, []).append(each)
    last = records[-1]["cell"]["code"]
    shown = {
        f"{TABLES[place[0]]} {place[1]:g}{'' if place[2] == last else _EARLIER}": (
            sum(each["cell"]["runs"] for each in alike[place]),
            merged([each["figures"] for each in alike[place]]),
        )
        for place in sorted(alike)
    }
    lines = _summary_table(shown)
    columns = {
        name: found
        for name, (_, found) in shown.items()
        if not name.endswith(_EARLIER) or name.removesuffix(_EARLIER) not in shown
    }
    for figure, digits in (("covered", 3), ("width", 2)):
        lines += ["", *_class_table(columns, figure, digits)]
    return lines


def _summary_table(shown: Mapping[str, tuple[int, Mapping[str, float]]]) -> list[str]:
    """A line for each table and ε."""
    lines = [
        "| table, ε | runs | answers | held, of a record | held, all | width | lowest | calibration |",
        "|---" * 8 + "|",
    ]
    for name, (runs, figures) in shown.items():
        worst = min(_judged(figures), key=lambda each: figures[f"{each} covered"])
        group, _, size = worst.partition(":")
        lines.append(
            f"| {name} | {runs} | {figures['all n'] / 1e6:.1f} M |"
            f" {figures['of a record covered']:.3f} | {figures['all covered']:.3f} |"
            f" {figures['of a record width']:.2f} |"
            f" {figures[f'{worst} covered']:.3f}: {_label(group)}, {_size_label(size)} |"
            f" {figures['calibration_over_run']:.2f} |"
        )
    return lines


def _judged(figures: Mapping[str, float]) -> list[str]:
    """Classes of one size of which enough answers have an interval."""
    return [
        name
        for group in CLASSES
        if _is_shown(figures, group)
        for label, _, _ in SIZES
        if f"{(name := f'{group}:{label}')} covered" in figures
    ]


def _class_table(shown: Mapping[str, Mapping[str, float]], figure: str, digits: int) -> list[str]:
    """A line for each class, a column for each table and ε."""
    heads = {"covered": "held", "width": "width over the best"}
    lines = [f"| {heads[figure]} | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
    for group in CLASSES:
        if any(_is_shown(figures, group) for figures in shown.values()):
            texts = [
                f"{figures[f'{group} {figure}']:.{digits}f}"
                if _is_shown(figures, group) and f"{group} {figure}" in figures
                else "–"
                for figures in shown.values()
            ]
            lines.append(f"| {_label(group)} | {' | '.join(texts)} |")
    return lines


def _is_shown(figures: Mapping[str, float], group: str) -> bool:
    """Whether at least half of a class's answers have an interval."""
    return f"{group} covered" in figures and 2 * figures[f"{group} none"] <= figures[f"{group} n"]


def _label(group: str) -> str:
    """A class in words.

    >>> _label("cell2 outside"), _label("ratio inside")
    ('cells of 2 columns, outside', 'ratios, inside')
    """
    kind, where = group.split(" ")
    digits = kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    named = f"{kind[: len(kind) - len(digits)]}s"
    columns = f" of {digits} column{'s' if digits != '1' else ''}" if digits else ""
    return f"{named}{columns}, {where}"


def _size_label(size: str) -> str:
    """Sizes in words.

    >>> _size_label("10-100"), _size_label("1000-")
    ('10–100', '1000 and more')
    """
    low, _, high = size.partition("-")
    return f"{low}–{high}" if high else f"{low} and more"


def merged(parts: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """The figures of several cells as those of one: numbers of answers are added, shares and widths
    are means, weighted by the answers that they are of.
    """
    together: dict[str, float] = {}
    for name in {name for part in parts for name in part}:
        group, _, figure = name.rpartition(" ")
        known = [(part, value) for part in parts if (value := part.get(name)) is not None]
        if figure in ("n", "none"):
            together[name] = sum(value for _, value in known)
        elif known:
            of = figure in ("covered", "width")
            weights = [
                (part[f"{group} n"] or 0) - (part[f"{group} none"] or 0) if of else 1.0
                for part, _ in known
            ]
            together[name] = float(np.average([value for _, value in known], weights=weights))
    return together
