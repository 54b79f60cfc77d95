"""The words of a report: what the guarantee means, what it does not promise, how to ask for
more.
"""

from __future__ import annotations

import shlex

from dprap.public_table import PublicFacts
from dprap.release import Release
from dprap.release.certified import rounded_up
from dprap.report.guarantee_texts import GuaranteeTexts, beliefs, plain_guarantee
from dprap.report.html import Html, el, table


def guarantee(release: Release, texts: GuaranteeTexts) -> Html:
    """The guarantee in the plain words of a language, then exactly."""
    privacy = release.privacy
    if not privacy.private:
        return el("p", release.guarantee, class_="not-private")
    one = (
        "one record"
        if privacy.max_rows_per_person == 1
        else f"all records of one person (at most {privacy.max_rows_per_person})"
    )
    plain = el(
        "div",
        el("h3", texts.title),
        el("p", plain_guarantee(privacy, texts)),
        table([texts.prior, texts.posterior], beliefs(privacy, texts), caption=texts.caption),
        class_="card",
        lang=texts.code,
    )
    counted = (
        "The number of records is public."
        if privacy.relation == "replace"
        else "The number of records is protected too."
    )
    exact = el(
        "div",
        el("h3", "Exactly"),
        el("p", privacy.sentence()),
        table(
            ["", ""],
            [
                ["ε", f"{privacy.epsilon:g}"],
                ["δ", f"{privacy.delta:.3g}"],
                ["ρ planned (zCDP)", f"{privacy.rho_planned:.6g}"],
                ["ρ spent (zCDP)", f"{privacy.rho_spent:.6g}"],
                *([["discovery", privacy.discovery()]] if privacy.discovery() else []),
                [
                    "neighbouring tables",
                    f"{'replace' if privacy.relation == 'replace' else 'add or remove'} {one}",
                ],
                ["why ε and δ hold", privacy.reason()],
                [
                    "noise",
                    (
                        "discrete Gaussian; choices by the exponential mechanism; both from the"
                        " operating system's entropy"
                    ),
                ],
            ],
            caption="Parameters of the guarantee",
            numbers_from=2,
        ),
        el("p", counted, class_="soft"),
        class_="card exact",
    )
    both = el("div", plain, exact, class_="two")
    beyond = [] if release.public is None else [_public_table(release.public)]
    if release.vouched is not None:
        beyond.append(el("p", release.vouched, class_="soft"))
    return el("div", both, *beyond) if beyond else both


def _public_table(public: PublicFacts) -> Html:
    """What is not protected."""
    return el(
        "div",
        el("h3", "A public table was used"),
        el(
            "p",
            "The fit started from a public table and kept of it what the measurements of the"
            " private table do not contradict. The guarantee is for the private table alone: it"
            " does not cover the public one.",
        ),
        table(
            ["", ""],
            [["name", public.name], ["records", f"{public.rows:,}"], ["digest", public.digest]],
            caption="The public table",
            numbers_from=2,
        ),
        class_="card",
    )


def certificate(release: Release) -> Html:
    """What is certified about accuracy."""
    found = release.certificate
    if found is None:
        return el(
            "p",
            "This release was made without an accuracy certificate, so nothing is known about its"
            " largest error.",
        )
    stated = release.accuracy or ""
    later = (
        "Tables of other rows or another seed have a wider bound, which follows from the release."
    )
    return el(
        "div",
        el(
            "p",
            f"{stated[:1].upper()}{stated[1:]}. The first bound is"
            f" {rounded_up(found.upper_bound_counts, 1):,.1f} records of {release.rows:,}. "
            + (later if release.relaxed is not None else ""),
        ),
        el(
            "p",
            "The largest error was itself measured through noise:"
            f" {found.noisy_max_error_counts:,.1f} records, with a standard deviation of"
            f" {found.stddev_counts:,.1f}; the bound adds what the confidence needs. It cost"
            f" {found.rho / release.privacy.rho_spent:.1%} of the budget. It is a bound"
            " for the worst of them: others may be far better.",
            class_="soft",
        ),
        class_="card exact",
    )


def more_answers(directory: str, column: str, *, has_rows: bool) -> Html:
    """How to ask for what this page does not show.

    Args:
        directory: The directory of the release.
        column: A column to ask about.
        has_rows: Whether the release has rows, from which tables are drawn.

    Returns:
        The words and the commands.

    """
    written = shlex.quote(column)
    about = (
        "about any columns, whether or not the run knew of them"
        if has_rows
        else "about all that the published answers add up to"
    )
    load = f'import dprap\n\nrelease = dprap.load("{directory}")\n'
    answer = f"# counts with intervals, as a table\nrelease.answer({column!r})"
    tables = (
        "\n# a synthetic table of any size\nrelease.table(rows=100_000)"
        "\n# rows that satisfy conditions\nrelease.table(1_000, where='…')"
    )
    return el(
        "div",
        el(
            "p",
            "Whatever is computed from a release costs no further privacy. Ask as many questions as"
            f" you like, {about}.",
        ),
        el(
            "pre",
            el(
                "code",
                f'dprap answer {directory} "" --by {written}\ndprap answer {directory} --help',
            ),
        ),
        el(
            "pre",
            el("code", load + answer + (tables if has_rows else "")),
        ),
    )


def limits(release: Release) -> Html:
    """What the reader must not expect."""
    unit = "record" if release.privacy.max_rows_per_person == 1 else "person"
    items = [
        (
            f"The guarantee is for each {unit}. Facts about groups, which hold whether or not any"
            f" one {unit} is in the table, are not hidden: they are what the release is for."
        ),
        (
            f"Several people's data together are protected less: for k {unit}s, ε grows k-fold. So"
            " does the guarantee over several releases of the same table: their ρ add up."
        ),
        (
            "The schema (columns, categories, bounds) is taken as public and is not protected."
            " Neither are side channels of the machine that made the release, such as its running"
            " time."
        ),
        (
            "Noise makes small counts unreliable. Compare a count with its standard error before"
            " believing it."
        ),
    ]
    if release.relaxed is not None:
        items += [
            (
                "Do not read meaning into single synthetic rows: each is drawn from the fitted"
                " distribution, and may equal somebody's by chance."
            ),
            (
                "The fit knows what was measured. Relations of columns that were not measured"
                " together are what the fit makes of the rest; they may be wrong."
            ),
            (
                "Inside a bin values are drawn evenly, or by the bin's fine shape where the schema"
                " or the run knows one. Nothing finer is known."
            ),
        ]
    if release.facts.method == "independent":
        items.insert(
            0,
            "This release treats all columns as unrelated. No association between columns in it"
            " means anything.",
        )
    return el("ul", *(el("li", item) for item in items))
