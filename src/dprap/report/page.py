"""The report as one page: no script, no request to any network, everything escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from dprap.errors import ImpossibleTableError
from dprap.release import Release
from dprap.release.certified import rounded_up
from dprap.report import explanations
from dprap.report.association import association_section
from dprap.report.budget_plots import budget_bar, residual_plot
from dprap.report.budget_views import budget_parts, measured_families
from dprap.report.column_cards import columns_section
from dprap.report.column_views import Truth, released_as
from dprap.report.compared import by_value, true_errors
from dprap.report.figure import WARNING
from dprap.report.guarantee_texts import GuaranteeTexts
from dprap.report.html import Child, Html, breakable, el, table
from dprap.report.reliability import reliability_section

MAX_LISTED_FAMILIES = 200
# Rows that are shown as examples.
_SAMPLE_ROWS = 8
# With more columns they are shown turned, a line for each column: no paper is so wide.
_MANY_COLUMNS = 12
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
        (
            "association",
            "Association of columns",
            association_section(release, truth, private=private),
        ),
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
        [[el("span", class_="swatch", style=f"background:var(--p{at % 6})"), part.name], part.detail, f"{part.rho:.4g}", f"{part.rho / total:.1%}"]
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


def _sample(release: Release) -> Html:
    if release.relaxed is None:
        return el("p", "This release holds answers, not data.")
    try:
        drawn = release.table(_SAMPLE_ROWS, format="arrow")
    except ImpossibleTableError as error:
        return el("p", f"There is no table: {error}")
    rows = [[_shown(value) for value in row.values()] for row in drawn.to_pylist()]
    said = "Rows drawn from the release, to show its form. Read no meaning into a single row."
    header: list[Child] = [breakable(name) for name in release.schema.columns]
    lines: list[list[Child]] = [list(row) for row in rows]
    if len(header) > _MANY_COLUMNS:
        names, header = header, ["column", *(f"row {at + 1}" for at in range(len(rows)))]
        lines = [
            [name, *values] for name, values in zip(names, zip(*rows, strict=True), strict=True)
        ]
    return el(
        "div",
        table(header, lines, caption=said, numbers_from=len(header)),
        class_="card sample",
    )


def _shown(value: object) -> str:
    """A value of a record: digits that nobody reads are left out."""
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _measurements(release: Release, *, private: bool) -> Html:
    families, residuals = measured_families(release)
    shown = families[:MAX_LISTED_FAMILIES]
    rows = [
        [
            breakable(each.name),
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
                "Noisy measurements, the most expensive first; distance is the root mean square distance"
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
    ]
    settings = [[breakable(name), value] for name, value in _settings(facts.settings)]
    return el(
        "div",
        table(["", ""], rows, caption="How the release was made", numbers_from=2),
        el(
            "details",
            el("summary", f"All {len(settings)} settings of the method"),
            table(["", ""], settings, caption="Settings, for whoever repeats the run"),
        )
        if settings
        else None,
        class_="card",
    )


def _settings(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """The settings that say something, one by one, those inside of others too."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{above}{name}.")
        elif value is not None and value != () and value != []:
            yield f"{above}{name}", str(value)
