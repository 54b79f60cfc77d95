"""The report as one page: no script, no request to any network, everything escaped."""

from __future__ import annotations

from importlib import resources

import numpy as np

from dprap.array_types import Float
from dprap.errors import ImpossibleTableError
from dprap.release import Release
from dprap.release.certified import rounded_up
from dprap.report import explanations
from dprap.report.budget_plots import budget_bar, residual_plot
from dprap.report.budget_views import budget_parts, measured_families
from dprap.report.column_cards import columns_section
from dprap.report.column_views import Truth, released_as
from dprap.report.compared import by_value, true_errors
from dprap.report.figure import WARNING
from dprap.report.guarantee_texts import GuaranteeTexts
from dprap.report.html import Html, breakable, el, table
from dprap.report.pair_plots import heat_map, pair_plot
from dprap.report.pair_views import association, pair_views
from dprap.report.reliability import reliability_section

MAX_LISTED_FAMILIES = 200
MAX_LISTED_PAIRS = 60
# Rows that are shown as examples.
_SAMPLE_ROWS = 8
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WARNING = (
    "NOT PRIVATE: this page shows figures of the private table without noise. Do not publish it."
)


def page(release: Release, *, directory: str, truth: Truth | None, texts: GuaranteeTexts) -> str:
    """The whole page; with `truth` it is marked as not private, in its title and on every plot."""
    private = truth is None and release.privacy.private
    title = (
        "Differentially private release"
        if private
        else f"{WARNING}: release" + (" against the private table" if truth else "")
    )
    sections = [
        ("guarantee", "Guarantee", explanations.guarantee(release, texts)),
        *_compared(release, truth),
        ("accuracy", "Accuracy certificate", explanations.certificate(release)),
        ("budget", "Budget by step", _budget(release, private=private)),
        ("columns", "Columns", columns_section(release, truth, private=private)),
        ("reliability", "Reliability", reliability_section(release, private=private)),
        ("rows", "Sample rows", _sample(release)),
        ("association", "Association of columns", _association(release, truth, private=private)),
        ("measurements", "What was measured", _measurements(release, private=private)),
        (
            "more",
            "Ask for more",
            explanations.more_answers(
                directory,
                next(iter(release.schema.columns)),
                has_rows=release.relaxed is not None,
            ),
        ),
        ("limits", "Limits", explanations.limits(release)),
        ("run", "The run", _run(release)),
    ]
    style = resources.files("dprap.report").joinpath("style.css").read_text(encoding="utf-8")
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="generator", content=f"dprap {release.facts.version}"),
        el("title", title),
        el("style", Html(style)),
    )
    body = el(
        "body",
        el("a", "Skip to the content", href="#guarantee", class_="skip"),
        el(
            "header",
            None if private else el("p", _warning(truth), class_="not-private", role="alert"),
            _summary(release, title, truth),
        ),
        el(
            "nav",
            el("ul", *(el("li", el("a", name, href=f"#{key}")) for key, name, _ in sections)),
            aria_label="Sections",
        ),
        el(
            "main",
            *(
                el(
                    "section",
                    el("h2", name, id=f"{key}-h"),
                    inner,
                    id=key,
                    aria_labelledby=f"{key}-h",
                )
                for key, name, inner in sections
            ),
        ),
        el(
            "footer",
            f"Made by dprap {release.facts.version} on {release.facts.created}. This page loads"
            " nothing from any network.",
        ),
    )
    first = (
        "<!-- "
        + (_WARNING if truth is not None else release.privacy.sentence().replace("--", "−−"))
        + " -->\n"
    )
    return (
        ("" if private else first) + "<!DOCTYPE html>\n" + el("html", head, body, lang="en") + "\n"
    )


def _compared(release: Release, truth: Truth | None) -> list[tuple[str, str, Html]]:
    if truth is None:
        return []
    sections = [("errors", "True errors", true_errors(truth.evaluation))]
    if truth.evaluation.tables is not None:
        sections.append(("values", "Values", by_value(truth.evaluation.tables, release.schema)))
    return sections


def _warning(truth: Truth | None) -> str:
    return (
        _WARNING
        if truth is not None
        else "NOT PRIVATE: the noise came from a seed, so this release protects nobody."
    )


def _summary(release: Release, title: str, truth: Truth | None) -> Html:
    privacy, certificate = release.privacy, release.certificate
    told = [
        release.schema.description,
        (
            f"A synthetic table and answers to {release.workload.queries:,} queries."
            if release.relaxed is not None
            else f"Answers to {release.workload.queries:,} queries; the method makes no table."
        ),
    ]
    if truth is None:
        told.append(
            "Everything on this page is computed from the release; the private table was not"
            " consulted."
        )
    facts = [
        ("ε", f"{privacy.epsilon:g}", f"δ = {privacy.delta:.3g}"),
        (
            "records",
            f"{release.rows:,}",
            "public" if privacy.relation == "replace" else "with noise",
        ),
        (
            "columns",
            f"{len(release.schema.columns):,}",
            f"{release.schema.domain.onehot_size:,} values and bins",
        ),
        (
            "queries answered",
            f"{release.workload.queries:,}",
            f"{len(release.workload):,} families",
        ),
    ]
    if certificate is not None:
        counts = certificate.upper_bound_counts
        bound, unit = (
            (f"{rounded_up(counts / release.rows, 4):.2%}", "of all records")
            if release.rows_are_public
            else (f"{rounded_up(counts, 1):,.1f}", "records")
        )
        facts.append(
            ("largest error at most", bound, f"{unit}, {certificate.confidence:.0%} confidence")
        )
    return el(
        "div",
        el("h1", title),
        el("p", " ".join(text for text in told if text), class_="lead"),
        el(
            "dl",
            *(
                el("div", el("dt", name), el("dd", value, el("small", detail)))
                for name, value, detail in facts
            ),
            class_="facts",
        ),
    )


def _budget(release: Release, *, private: bool) -> Html:
    parts = budget_parts(release)
    total = sum(part.rho for part in parts)
    rows = [
        [[el("span", class_="swatch", style=f"background:var(--p{at % 6})"), part.name], part.detail, f"{part.rho:.6g}", f"{part.rho / total:.1%}"]
        for at, part in enumerate(parts)
    ]  # fmt: skip
    return el(
        "div",
        budget_bar(parts, private=private),
        table(
            ["step", "", "ρ", "share"],
            rows,
            caption="Privacy budget by step, in zero-concentrated differential privacy",
            numbers_from=2,
        ),
        class_="card",
    )


def _association(release: Release, truth: Truth | None, *, private: bool) -> Html:
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
            f"{names[b]} × {names[a]}",
            f"{value:.3f}",
            *([f"{upper[a, b]:.3f}"] if upper is not None else []),
        ]
        for value, a, b in pairs
    ]
    said = (
        "Cramér's V of every pair of columns in the synthetic data: 0 (pale) where they are"
        " unrelated, 1 (strong) where one determines the other."
    )
    if upper is not None:
        said += f" Below the diagonal the synthetic data, above it the private table ({WARNING})."
    caption = f"{'' if private else WARNING + ': '}The {len(rows)} strongest associations"
    return el(
        "div",
        el("p", said),
        _scale(),
        el("div", heat_map(names, found, upper, private=private), class_="card"),
        el("h3", "The strongest pairs"),
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


def _sample(release: Release) -> Html:
    if release.relaxed is None:
        return el("p", "This release holds answers, not data.")
    try:
        drawn = release.table(_SAMPLE_ROWS, format="arrow")
    except ImpossibleTableError as error:
        return el("p", f"There is no table: {error}")
    rows = [
        ["" if value is None else str(value) for value in row.values()] for row in drawn.to_pylist()
    ]
    said = "Rows drawn from the release, to show its form. Read no meaning into a single row."
    return el(
        "div",
        table(
            list(release.schema.columns),
            rows,
            caption=said,
            numbers_from=len(release.schema.columns),
        ),
        class_="card sample",
    )


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


def _measurements(release: Release, *, private: bool) -> Html:
    families, residuals = measured_families(release)
    shown = families[:MAX_LISTED_FAMILIES]
    rows = [
        [
            each.name,
            f"{each.measured:,} of {each.cells:,}",
            f"{each.stddev_counts:,.1f}",
            f"{each.stddev_counts / release.rows:.3%}",
            f"{each.rho / release.privacy.rho_spent:.2%}",
            "–" if each.residual is None else f"{each.residual:.2f}",
        ]
        for each in shown
    ]
    left = len(families) - len(shown)
    listed = el(
        "div",
        table(
            ["marginal", "cells", "σ in records", "σ as a share", "of the budget", "distance / σ"],
            rows,
            caption=(
                "Noisy measurements, the dearest first; distance is the root mean square distance"
                f" of the {released_as(release)} from them"
            ),
        ),
        el("p", f"and {left:,} more in measurements.parquet", class_="soft") if left else None,
        class_="card",
    )
    picture = el(
        "div",
        el("h3", "Fit against noise"),
        el("p", f"If the {released_as(release)} were the truth, the distances would follow the dashed curve. A wider histogram means that the fit misses something, a narrower one that it follows the noise.", class_="soft"),
        residual_plot(residuals, private=private),
        class_="card",
    )  # fmt: skip
    if not families:
        return el("p", "Nothing was measured.")
    return el("div", listed, picture if residuals.size else None, class_="stack")


def _run(release: Release) -> Html:
    facts = release.facts
    rows = [
        ["method", facts.method],
        ["seed of public randomness", str(facts.seed)],
        ["time after counting", f"{facts.seconds:,.1f} s"],
        [
            "peak memory",
            (
                "not published"
                if facts.peak_memory_mb is None
                else f"up to {facts.peak_memory_mb:,.0f} MB"
            ),
        ],
        ["version", facts.version],
        ["made", facts.created],
        *(
            [f"setting: {name}", str(value)]
            for name, value in facts.settings.items()
            if value is not None
        ),
    ]
    return el(
        "div",
        table(["", ""], rows, caption="How the release was made", numbers_from=2),
        class_="card",
    )
