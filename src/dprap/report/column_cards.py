"""The columns of a report: a card each, with a plot and the numbers behind it."""

from __future__ import annotations

from dprap.release import Release
from dprap.report.column_plots import column_plot, has_bands
from dprap.report.column_views import Bar, ColumnView, Truth, column_view, released_as
from dprap.report.figure import WARNING
from dprap.report.html import Html, breakable, el, table


def columns_section(release: Release, truth: Truth | None, *, private: bool) -> Html:
    """Every column, with what the marks of its plot mean."""
    views = []
    silent = []
    for name in release.schema.columns:
        view = column_view(release, name, None if truth is None else truth.columns.get(name))
        if view is None:
            silent.append(name)
        else:
            views.append(view)
    cards = [
        _column_card(view, f"c{at}", release.rows, private=private) for at, view in enumerate(views)
    ]
    missing = (
        f"The release does not say anything about {', '.join(silent)} by themselves."
        if silent
        else None
    )
    return el(
        "div",
        _key(released_as(release), truth, banded=any(map(has_bands, views))),
        _fit_table(views) if len(views) > 12 and any(view.measured_by for view in views) else None,
        el("div", *cards, class_="grid-of-cards"),
        None if missing is None else el("p", missing, class_="soft"),
    )


def _key(bars: str, truth: Truth | None, *, banded: bool) -> Html:
    def sign(*shapes: Html) -> Html:
        return el("svg", *shapes, viewBox="0 0 26 14", aria_hidden="true")

    items = [
        el("li", sign(el("rect", x=3, y=2, width=20, height=10, class_="bar")), bars),
        el(
            "li",
            sign(
                el("line", x1=2, x2=24, y1=7, y2=7, class_="whisker"),
                el("circle", cx=13, cy=7, r=3, class_="dot"),
            ),
            "noisy measurement, with 95 % error bar",
        ),
    ]
    if banded:
        items.append(
            el(
                "li",
                sign(el("rect", x=3, y=2, width=20, height=10, class_="band")),
                "where bars are many: 95 % range of the noisy measurement",
            )
        )
    if truth is not None:
        items.append(
            el(
                "li",
                sign(el("line", x1=13, x2=13, y1=1, y2=13, class_="truth")),
                f"{WARNING}: private table",
            )
        )
    return el("ul", *items, class_="key")


def _fit_table(views: list[ColumnView]) -> Html:
    known = sorted(
        (view for view in views if view.worst_deviation is not None),
        key=lambda view: -(view.worst_deviation or 0),
    )
    rows = [
        [
            el("a", view.name, href=f"#{_anchor(views, view)}"),
            view.kind,
            f"{view.codes:,}",
            f"{view.worst_deviation:.1f} σ",
        ]
        for view in known
    ]
    return el(
        "details",
        el("summary", "All columns, those farthest from their measurement first"),
        table(["column", "type", "codes", "farthest"], rows, caption="Largest distance between synthetic and measured shares, in standard errors", numbers_from=2),
        class_="card",
        style="margin-bottom:14px",
    )  # fmt: skip


def _anchor(views: list[ColumnView], view: ColumnView) -> str:
    return f"c{views.index(view)}"


def _interval_text(bar: Bar, rows: int) -> Html | str:
    """The interval as shares, greyed where the share is too noisy to publish."""
    if bar.interval is None or bar.interval.low is None or bar.interval.high is None:
        return "none"
    text = f"{bar.interval.low / rows:.3%} to {bar.interval.high / rows:.3%}"
    return el("span", f"{text}, too noisy", class_="noisy") if bar.noisy else text


def _column_card(view: ColumnView, anchor: str, rows_of_release: int, *, private: bool) -> Html:
    with_truth = any(bar.truth is not None for bar in view.bars)
    with_interval = any(bar.interval is not None and bar.interval.known for bar in view.bars)
    between = ["95% interval"] if with_interval else []
    header = [
        "value",
        "synthetic",
        *between,
        "measured",
        "± s.e.",
        *(["truth"] if with_truth else []),
    ]
    rows = [
        [
            el("span", bar.label, class_="noisy") if bar.noisy else bar.label,
            (
                el("span", f"{bar.synthetic:.3%}", class_="noisy")
                if bar.noisy
                else f"{bar.synthetic:.3%}"
            ),
            *(_interval_text(bar, rows_of_release) for _ in between),
            "–" if bar.measured is None else f"{bar.measured:.3%}",
            "–" if bar.standard_error is None else f"{bar.standard_error:.3%}",
            *([] if not with_truth else ["–" if bar.truth is None else f"{bar.truth:.3%}"]),
        ]
        for bar in view.bars
    ]
    measured = (
        ", ".join(view.measured_by)
        if len(view.measured_by) <= 2
        else f"{len(view.measured_by)} marginals"
    )
    caption = f"{'' if private else WARNING + ': '}Shares of {view.name}" + (
        f"; measured by {measured}" if measured else "; not measured by itself"
    )
    return el(
        "article",
        el(
            "div",
            el("h3", breakable(view.name)),
            el(
                "span",
                f"{view.kind} ·"
                f" {view.codes:,}{_merged(view)}{'' if view.measured_by else ' · not measured alone'}",
                class_="meta",
            ),
            class_="head",
        ),
        column_plot(view, anchor, private=private),
        el(
            "details",
            el("summary", "Numbers", el("span", " of ", breakable(view.name), class_="soft")),
            table(header, rows, caption=caption),
        ),
        class_="card column",
        id=anchor,
    )


def _merged(view: ColumnView) -> str:
    """Whether codes are drawn together."""
    return f" values in {len(view.bars)} bars" if view.codes > len(view.bars) else ""
