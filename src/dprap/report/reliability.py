"""The section on reliability: what of the release is kept, approximate or not kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dprap.release import Release
from dprap.release.intervals.fidelity import Fidelity, Verdict, manifest
from dprap.report.figure import figure, short
from dprap.report.html import Html, breakable, el, table

MAX_LISTED = 150
_SIGNS = {
    Verdict.KEPT: "kept",
    Verdict.APPROXIMATE: "approximate",
    Verdict.NOT_KEPT: "lost",
    Verdict.UNKNOWN: "unknown",
}


def reliability_section(release: Release, *, private: bool) -> Html:
    """Every column and pair at a glance, and the numbers behind it."""
    if release.errors is None:
        return el(
            "p",
            "The release does not tell how far its answers may be off, beyond the noise of each"
            " measurement.",
        )
    judged = manifest(release)
    columns = [each for each in judged if len(each.columns) == 1]
    pairs = [each for each in judged if len(each.columns) == 2]
    return el(
        "div",
        el(
            "p",
            "A count is too noisy to publish where its standard error is more than a third of it. A"
            " relation is kept where four of five records lie in counts that are sure enough and"
            " that were measured, or follow from measurements. It is approximate where half of them"
            " do, or where only the model speaks for it.",
        ),
        el("ul", *(_key(verdict) for verdict in Verdict), class_="key"),
        _card("Columns", columns),
        el("div", _grid(release, judged, private=private), class_="card pairs"),
        _card("Pairs of columns, the least reliable first", pairs),
        class_="stack",
    )


def _key(verdict: Verdict) -> Html:
    square = el("rect", x=5, y=1, width=12, height=12, class_=f"verdict {_SIGNS[verdict]}")
    return el("li", el("svg", square, viewBox="0 0 26 14", aria_hidden="true"), str(verdict))


def _card(title: str, judged: Sequence[Fidelity]) -> Html | None:
    if not judged:
        return None
    counted = Counter(each.verdict for each in judged)
    said = ", ".join(f"{counted[verdict]:,} {verdict}" for verdict in Verdict if counted[verdict])
    listed = sorted(
        judged, key=lambda each: (each.publishable is not None, each.publishable or 0.0)
    )[:MAX_LISTED]
    rows = [
        [
            breakable(" × ".join(each.columns)),
            str(each.verdict),
            str(each.basis),
            "–" if each.publishable is None else f"{each.publishable:.0%}",
            "–" if each.median_error is None else f"± {each.median_error:.3%}",
        ]
        for each in listed
    ]
    header = ["", "verdict", "basis", "records in sure counts", "usual standard error"]
    return el(
        "details",
        el("summary", f"{title}: {said}"),
        table(header, rows, caption=title, numbers_from=3),
        (
            el("p", f"and {len(judged) - len(listed):,} more", class_="soft")
            if len(judged) > len(listed)
            else None
        ),
        class_="card",
    )


def _grid(release: Release, judged: Sequence[Fidelity], *, private: bool) -> Html:
    """All pairs as squares, the columns on the diagonal."""
    names = release.schema.domain.names
    place = {name: at for at, name in enumerate(names)}
    side = 16
    shown = [short(name, 18) for name in names]
    # A letter of this size is at most 7 wide, but for a few.
    left = right = 12 + 7 * max(map(len, shown))
    shapes = []
    for each in judged:
        a, b = sorted((place[each.columns[0]], place[each.columns[-1]]))
        shapes.append(
            el(
                "rect",
                x=left + a * side,
                y=b * side,
                width=side - 2,
                height=side - 2,
                class_=f"verdict {_SIGNS[each.verdict]}",
            )
        )
    labels = [
        el(
            "text",
            name,
            x=left - 6,
            y=at * side + 11,
            text_anchor="end",
            class_="label",
        )
        for at, name in enumerate(shown)
    ]
    # the same names stand behind the diagonal, where a column of squares begins
    labels += [
        el(
            "text",
            name,
            x=left + (at + 1) * side + 2,
            y=at * side + 11,
            class_="label",
        )
        for at, name in enumerate(shown)
    ]
    counted = Counter(each.verdict for each in judged if len(each.columns) == 2)
    said = ", ".join(f"{counted[verdict]:,} {verdict}" for verdict in Verdict if counted[verdict])
    width = left + len(names) * side + right
    return figure(
        "reliability",
        "Reliability of every column and pair of columns",
        f"Pairs of columns: {said or 'none'}. The table below has each.",
        width,
        len(names) * side + 4,
        [*labels, *shapes],
        private=private,
        largest=max(width, 360),
        least=0.8 * width,
    )
