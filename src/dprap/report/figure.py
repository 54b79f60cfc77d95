"""An SVG picture with its name and description. Colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dprap.report.html import Html, el

WARNING = "NOT PRIVATE"


def figure(
    name: str,
    title: str,
    description: str,
    width: float,
    height: float,
    shapes: Sequence[Html],
    *,
    private: bool,
    largest: float | None = None,
    least: float = 0.0,
) -> Html:
    """An SVG picture with its name and description for those who cannot see it, and the warning
    where it needs one.

    `largest` is the width in pixels beyond which the picture does not grow, and `least` the one
    below which its text could not be read: then it scrolls in its card.
    """
    warning = (
        None
        if private
        else el(
            "text",
            WARNING,
            x=width - 4,
            y=10,
            class_="warning",
            text_anchor="end",
            aria_hidden="true",
        )
    )
    said = title if private else f"{WARNING}: {title}"
    return el(
        "svg",
        el("title", said, id=f"{name}-t"),
        el("desc", description, id=f"{name}-d"),
        shapes,
        warning,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
        style=None if largest is None else f"min-width:{least:g}px;max-width:{largest:g}px",
    )


def ticks(top: float) -> list[float]:
    """Round numbers from 0 to at most `top`, about three steps."""
    raw = top / 3
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    return [step * position for position in range(int(top / step) + 1)]


def percent(value: float) -> str:
    """A share in percent, with as many digits as small shares need."""
    shown = value * 100
    return (
        f"{shown:.0f}%"
        if shown >= 9.95 or abs(shown - round(shown)) < 1e-9
        else f"{shown:.1f}%"
        if shown >= 0.95
        else f"{shown:.2f}%"
    )


def short(text: str, longest: int) -> str:
    """Text cut in the middle, since names often differ at their end."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"
