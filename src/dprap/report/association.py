"""How columns go together: the section of the report."""

from __future__ import annotations

import numpy as np

from dprap.array_types import Float
from dprap.release import Release
from dprap.report.column_views import Truth
from dprap.report.figure import WARNING
from dprap.report.html import Html, breakable, el, table
from dprap.report.pair_plots import heat_map, pair_plot
from dprap.report.pair_views import association, pair_views

MAX_LISTED_PAIRS = 60


def association_section(release: Release, truth: Truth | None, *, private: bool) -> Html:
    """A map of all pairs, the strongest ones cell by cell, and as a table."""
    names = list(release.schema.columns)
    if release.relaxed is None or len(names) < 2:
        return el(
            "p", "This release holds answers, not data, so associations cannot be read off it."
        )
    found = association(release.relaxed)
    upper = None if truth is None else truth.association
    pairs = sorted(
        ((found[a, b], a, b) for a in range(len(names)) for b in range(a)), reverse=True
    )[:MAX_LISTED_PAIRS]
    header = ["pair", "synthetic", *(["truth"] if upper is not None else [])]
    rows = [
        [
            breakable(f"{names[b]} × {names[a]}"),
            f"{value:.3f}",
            *([f"{upper[a, b]:.3f}"] if upper is not None else []),
        ]
        for value, a, b in pairs
    ]
    said = (
        "Cramér's V of every pair of columns in the synthetic data: 0 (faint) where they are"
        " unrelated, 1 (strong) where one determines the other."
    )
    if upper is not None:
        said += f" Below the diagonal the synthetic data, above it the private table ({WARNING})."
    caption = f"{'' if private else WARNING + ': '}The {len(rows)} strongest associations"
    return el(
        "div",
        el("p", said),
        _scale(),
        el(
            "div",
            heat_map(names, found, upper, private=private),
            class_="card pairs",
        ),
        el("h3", "The strongest pairs"),
        el(
            "p",
            "Each row of cells shows how records with one value of the first column spread over the"
            " second. The strongest colour of a row is where most of them are.",
            class_="soft",
        ),
        el("div", *_pair_cards(release, found, private=private), class_="grid-of-cards"),
        el(
            "details",
            el("summary", "The strongest pairs as a table"),
            table(header, rows, caption=caption),
            class_="card",
        ),
    )


def _pair_cards(
    release: Release, found: Float[np.ndarray, "columns columns"], *, private: bool
) -> list[Html]:
    return [
        el(
            "article",
            el("h3", breakable(f"{view.columns[0]} by {view.columns[1]}")),
            pair_plot(view, f"p{at}", private=private),
            class_="card column",
        )
        for at, view in enumerate(pair_views(release, found))
    ]


def _scale() -> Html:
    steps = [
        el(
            "li",
            el(
                "svg",
                el(
                    "rect",
                    x=2,
                    y=1,
                    width=22,
                    height=12,
                    class_="cell",
                    fill_opacity=f"{0.05 + 0.95 * value:.2f}",
                ),
                viewBox="0 0 26 14",
                aria_hidden="true",
            ),
            f"{value:g}",
        )
        for value in (0, 0.25, 0.5, 0.75, 1)
    ]
    return el("ul", *steps, class_="key")
