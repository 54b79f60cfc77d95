"""The distribution of one column as inline SVG: upright bars along an axis, or a list of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dprap.report.column_views import Bar, ColumnView, axis_position, is_logarithmic
from dprap.report.figure import WARNING, figure, percent, short, ticks
from dprap.report.html import Html, el

# Units of the picture: a column's plot fits three abreast on a page.
_WIDTH = 340
_HIGH = 170

# The room that a value takes on the right of a list, and the height of its lines.
_LIST_VALUE = 46
_LIST_STEP = 19

# Error bars hold 95% of a normal distribution.
_WHISKER = 1.96

# The bar of missing values stands apart, at the right.
_MISSING_WIDTH = 14
_MISSING_ROOM = 46

# The mean width of a letter, for labels that must not overprint.
_SIGN_WIDTH = 5.6

# More bars than these have bands in place of error bars, which would overprint.
_MOST_WHISKERS = 24


def column_plot(view: ColumnView, name: str, *, private: bool) -> Html:
    """Synthetic shares as bars, measured ones as dots with 95 % error bars, the truth as ticks."""
    title = f"Distribution of {view.name}"
    if _is_upright(view):
        shapes, height = _upright(view)
    else:
        shapes, height = _listed(view)
    return figure(name, title, _described(view), _WIDTH, height, shapes, private=private)


def distribution_plot(
    column: str, curve: Sequence[tuple[float, float, float]], name: str, ends: tuple[str, str]
) -> Html:
    """Two distribution functions: the private table's as a line, the published table's dashed.

    NOT PRIVATE.

    `curve` has values with the shares of both tables up to each, `ends` the first and last in
    words.
    """
    left, right, base, head = 34, 6, _HIGH - 22, 16
    first, last = curve[0][0], curve[-1][0]

    def path(which: int) -> str:
        steps = [
            f"{left + (point[0] - first) / ((last - first) or 1) * (_WIDTH - left - right):.1f} "
            f"{base - point[which] * (base - head):.1f}"
            for point in curve
        ]
        return "M" + " L".join(steps)

    shapes = [
        *(
            el(
                "text",
                f"{share:.0%}",
                x=left - 4,
                y=base - share * (base - head) + 3,
                class_="tick",
                text_anchor="end",
            )
            for share in (0, 0.5, 1)
        ),
        el("line", x1=left, x2=_WIDTH - right, y1=base, y2=base, class_="axis"),
        el("path", d=path(1), class_="truth", fill="none"),
        el("path", d=path(2), class_="curve"),
        el("text", ends[0], x=left, y=_HIGH - 6, class_="tick"),
        el("text", ends[1], x=_WIDTH - right, y=_HIGH - 6, class_="tick", text_anchor="end"),
    ]
    said = (
        "Shares of records up to each value: the private table as a line, the published one dashed."
    )
    return figure(
        name, f"Distribution of the values of {column}", said, _WIDTH, _HIGH, shapes, private=False
    )


def _described(view: ColumnView) -> str:
    top = max(view.bars, key=lambda bar: bar.synthetic)
    text = (
        f"{len(view.bars)} bars. The largest synthetic share is {top.synthetic:.1%}, for"
        f" {top.label}."
    )
    if view.worst_deviation is not None:
        text += (
            f" Synthetic and measured shares differ by at most {view.worst_deviation:.1f} standard"
            " errors."
        )
    return text + " The numbers are in the table below."


def _top(bars: Sequence[Bar]) -> float:
    """End of the axis: all values, and error bars as far as they do not flatten everything."""
    single = [bar for bar in bars if not bar.rest]
    values = [
        value
        for bar in single
        for value in (bar.synthetic, bar.measured, bar.truth)
        if value is not None
    ]
    highest = max([*values, 1e-9])
    whiskers = [
        bar.measured + _WHISKER * (bar.standard_error or 0)
        for bar in single
        if bar.measured is not None
    ]
    return min(max([highest, *whiskers]), 1.5 * highest)


def has_bands(view: ColumnView) -> bool:
    """Whether error bars would overprint, so that bands stand in their place."""
    return _is_upright(view) and sum(not bar.missing for bar in view.bars) > _MOST_WHISKERS


def _is_upright(view: ColumnView) -> bool:
    """Whether bars stand along an axis, rather than one below the other."""
    return view.ordered and bool(view.ticks) and len(view.bars) > 6


def _upright(view: ColumnView) -> tuple[list[Html], float]:
    """Bars along an axis to scale; the missing values stand apart at the right."""
    left, base = 38, _HIGH - 34
    ordinary = [bar for bar in view.bars if not bar.missing]
    spans = [bar.span for bar in ordinary if bar.span is not None]
    gap = _MISSING_ROOM if len(ordinary) < len(view.bars) else 0
    wide = _WIDTH - 8 - left - gap
    density = _heights(ordinary, spans)
    top = _top([_scaled(bar, factor) for bar, factor in zip(ordinary, density, strict=True)])
    # The share of a bar that is cut off stands above it, below the warning of a figure.
    cut = any(bar.missing and bar.synthetic > top for bar in view.bars)
    head = 27 if cut else 22
    shapes = []
    for tick in ticks(top):
        y = base - tick / top * (base - head)
        shapes.append(el("line", x1=left, x2=_WIDTH - 8, y1=y, y2=y, class_="grid"))
        shapes.append(
            el("text", percent(tick), x=left - 4, y=y + 3, class_="tick", text_anchor="end")
        )

    def at(value: float) -> float:
        return base - min(max(value, 0), top) / top * (base - head)

    places = []
    for bar, factor in zip(ordinary, density, strict=True):
        ends = [left + axis_position(end, spans) * wide for end in bar.span or (0.0, 1.0)]
        places.append((_scaled(bar, factor), bar, ends[0], ends[1]))
    crowded = has_bands(view)
    if crowded:
        shapes.extend(_bands(places, at))
    for scaled, bar, start, stop in places:
        shapes.append(_bar(scaled, bar, start, stop, at, base=base, head=head, whisker=not crowded))
    for bar in view.bars:
        if bar.missing:
            start = _WIDTH - 8 - (_MISSING_ROOM + _MISSING_WIDTH - 8) / 2
            beyond = bar.synthetic > top
            shapes.append(
                _bar(
                    bar,
                    bar,
                    start,
                    start + _MISSING_WIDTH,
                    at,
                    base=base,
                    head=head,
                    whisker=not beyond,
                )
            )
            if beyond:
                text = percent(bar.synthetic)
                shapes.append(
                    el("text", text, x=_WIDTH - 8, y=head - 4, class_="tick", text_anchor="end")
                )
            shapes.append(
                el("text", "missing", x=_WIDTH - 8, y=base + 13, class_="tick", text_anchor="end")
            )
    shapes.append(el("line", x1=left, x2=left + wide, y1=base, y2=base, class_="axis"))
    shapes.extend(_axis_labels(view, spans, left, wide, base, avoid_end=gap > 0))
    title = "share of records" if all(factor == 1 for factor in density) else "density of records"
    shapes.append(el("text", title, x=2, y=11, class_="tick"))
    scale = ", logarithmic" if spans and is_logarithmic(spans) else ""
    shapes.append(
        el(
            "text",
            f"{short(view.name, 34)}{scale}",
            x=left + wide / 2,
            y=_HIGH - 5,
            class_="tick",
            text_anchor="middle",
        )
    )
    return shapes, _HIGH


def _heights(bars: Sequence[Bar], spans: Sequence[tuple[float, float]]) -> list[float]:
    """By what each bar's share is multiplied: 1, or the usual width over its own, so that areas are
    shares.
    """
    if not spans or is_logarithmic(spans):
        return [1.0] * len(bars)
    widths = [stop - start for start, stop in spans]
    usual = sorted(widths)[len(widths) // 2]
    return [1.0 if math.isclose(width, usual) else usual / width for width in widths]


def _scaled(bar: Bar, factor: float) -> Bar:
    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    return replace(
        bar,
        synthetic=bar.synthetic * factor,
        measured=times(bar.measured),
        standard_error=times(bar.standard_error),
        truth=times(bar.truth),
    )


def _bar(
    scaled: Bar,
    bar: Bar,
    start: float,
    stop: float,
    at: Callable[[float], float],
    *,
    base: float,
    head: float,
    whisker: bool,
) -> Html:
    """One bar with its marks; `scaled` is what is drawn, `bar` what is told."""
    inset = min(1.0, (stop - start) * 0.08)
    inner: list[Html] = [
        el("title", _told(bar)),
        el("rect", x=start, y=head, width=max(stop - start, 0.5), height=base - head, class_="hit"),
        el(
            "rect",
            x=start + inset,
            y=at(scaled.synthetic),
            width=max(stop - start - 2 * inset, 0.5),
            height=base - at(scaled.synthetic),
            class_="bar",
        ),
    ]
    middle = (start + stop) / 2
    if scaled.measured is not None and whisker:
        low, high = (
            scaled.measured + sign * _WHISKER * (scaled.standard_error or 0) for sign in (-1, 1)
        )
        inner.append(el("line", x1=middle, x2=middle, y1=at(low), y2=at(high), class_="whisker"))
        inner.append(el("circle", cx=middle, cy=at(scaled.measured), r=2.2, class_="dot"))
    if scaled.truth is not None:
        inner.append(
            el("line", x1=start, x2=stop, y1=at(scaled.truth), y2=at(scaled.truth), class_="truth")
        )
    return el("g", inner)


def _bands(
    places: Sequence[tuple[Bar, Bar, float, float]], at: Callable[[float], float]
) -> list[Html]:
    """The 95 % range of each measurement as a band: error bars side by side would overprint."""
    return [
        el(
            "rect",
            x=start,
            width=max(stop - start, 0.5),
            y=at(high),
            height=max(at(low) - at(high), 0.5),
            class_="band",
        )
        for scaled, _, start, stop in places
        if scaled.measured is not None
        for low, high in [
            tuple(
                scaled.measured + sign * _WHISKER * (scaled.standard_error or 0) for sign in (-1, 1)
            )
        ]
    ]


def _axis_labels(
    view: ColumnView,
    spans: Sequence[tuple[float, float]],
    left: float,
    wide: float,
    base: float,
    *,
    avoid_end: bool,
) -> list[Html]:
    shapes: list[Html] = []
    free_from = -math.inf
    for value, text in view.ticks:
        x = left + axis_position(value, spans) * wide
        length = len(text) * _SIGN_WIDTH
        start = min(max(x - length / 2, left - 10), left + wide - length + (0 if avoid_end else 2))
        shapes.append(el("line", x1=x, x2=x, y1=base, y2=base + 3, class_="axis"))
        if start > free_from:
            shapes.append(el("text", text, x=start, y=base + 13, class_="tick"))
            free_from = start + length + 8
    return shapes


def _listed(view: ColumnView) -> tuple[list[Html], float]:
    top = _top(view.bars)
    longest = max(len(bar.label) for bar in view.bars)
    left, right = min(20 + longest * 6.0, _WIDTH * 0.55), _WIDTH - _LIST_VALUE
    signs = int((left - 14) / 6.0)
    head = 16

    def at(value: float) -> float:
        return left + min(max(value, 0), top) / top * (right - left)

    shapes = []
    for position, bar in enumerate(view.bars):
        y = head + position * _LIST_STEP
        middle = y + _LIST_STEP / 2
        inner = [
            el("title", _told(bar)),
            el("rect", x=0, y=y, width=_WIDTH, height=_LIST_STEP, class_="hit"),
            el(
                "text",
                short(bar.label, signs),
                x=left - 6,
                y=middle + 3.5,
                class_="label",
                text_anchor="end",
            ),
            el(
                "rect",
                x=left,
                y=y + 3,
                width=at(bar.synthetic) - left,
                height=_LIST_STEP - 6,
                class_="bar rest" if bar.rest else "bar",
            ),
        ]
        if bar.measured is not None and not bar.rest:
            low, high = (
                bar.measured + sign * _WHISKER * (bar.standard_error or 0) for sign in (-1, 1)
            )
            inner.append(
                el("line", x1=at(low), x2=at(high), y1=middle, y2=middle, class_="whisker")
            )
            inner.append(el("circle", cx=at(bar.measured), cy=middle, r=2.4, class_="dot"))
        if bar.truth is not None and not bar.rest:
            inner.append(
                el(
                    "line",
                    x1=at(bar.truth),
                    x2=at(bar.truth),
                    y1=y + 1,
                    y2=y + _LIST_STEP - 1,
                    class_="truth",
                )
            )
        inner.append(
            el(
                "text",
                percent(bar.synthetic),
                x=_WIDTH - 2,
                y=middle + 3.5,
                class_="tick",
                text_anchor="end",
            )
        )
        shapes.append(el("g", inner))
    height = head + len(view.bars) * _LIST_STEP + 6
    shapes.append(el("line", x1=left, x2=left, y1=head, y2=height - 4, class_="axis"))
    return shapes, height


def _told(bar: Bar) -> str:
    parts = [f"{bar.label}: synthetic {bar.synthetic:.2%}"]
    if bar.measured is not None:
        parts.append(f"measured {bar.measured:.2%} ± {_WHISKER * (bar.standard_error or 0):.2%}")
    if bar.truth is not None:
        parts.append(f"{WARNING} truth {bar.truth:.2%}")
    return ", ".join(parts)
