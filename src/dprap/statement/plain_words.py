"""What a board or a lawyer needs to know about a release, in plain words.

Every sentence follows from the release or from what the steward stated. None promises more than the
guarantee does.
"""

from __future__ import annotations

from dataclasses import dataclass

from dprap.release import Release
from dprap.release.certified import rounded_up
from dprap.report.guarantee_texts import GuaranteeTexts, beliefs, plain_guarantee
from dprap.schema.review_record import vouched_sentences
from dprap.statement.about import About


@dataclass(frozen=True)
class BeliefTable:
    """How sure somebody was, and can at most become, in the language of the guarantee."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading and its paragraphs; that of the guarantee has a table of beliefs too."""

    title: str
    paragraphs: tuple[str, ...]
    table: BeliefTable | None = None


def sections(release: Release, about: About, texts: GuaranteeTexts) -> list[Section]:
    """The statement in plain words, section by section."""
    return [
        Section("What is published", _published(release, about)),
        Section("The guarantee", _guarantee(release, texts), _beliefs(release, texts)),
        Section("Who and what is protected", _protected(release)),
        Section("How accurate it is", _accuracy(release)),
        Section("What is kept and what is not", _kept(release)),
        Section("Who answers for the schema", _schema(release)),
        Section("Known limits", _limits(release)),
    ]


def unit(release: Release) -> str:
    """What one unit of protection is."""
    rows = release.privacy.max_rows_per_person
    return "one record" if rows == 1 else f"all records of one person, at most {rows}"


def _published(release: Release, about: About) -> tuple[str, ...]:
    kind = "A synthetic table and statistics" if release.relaxed is not None else "Statistics"
    by = "" if about.curator is None else f" and published by {about.curator}"
    found = [
        (
            f"{kind} about {release.rows:,} records in {len(release.schema.columns)}"
            f" columns{'' if release.rows_are_public else ' (a number with noise)'}, made by dprap"
            f" {release.facts.version} on {release.facts.created}{by}."
        ),
    ]
    if about.intended_use is not None:
        found.append(f"Intended use: {about.intended_use}.")
    silent = [
        said
        for said, value in (
            ("who publishes it", about.curator),
            ("what it is meant for", about.intended_use),
        )
        if value is None
    ]
    if silent:
        found.append(f"The papers do not say {' and '.join(silent)}.")
    if release.relaxed is not None:
        found.append(
            "The rows of the synthetic table are drawn from a fitted distribution. No row is a copy"
            " of a person's record on purpose. A row may equal somebody's record by chance, as it"
            " could if that person were not in the data."
        )
    return tuple(found)


def _guarantee(release: Release, texts: GuaranteeTexts) -> tuple[str, ...]:
    if not release.privacy.private:
        return (release.guarantee,)
    return plain_guarantee(release.privacy, texts), f"Exactly: {release.guarantee}"


def _beliefs(release: Release, texts: GuaranteeTexts) -> BeliefTable | None:
    if not release.privacy.private:
        return None
    rows = tuple(tuple(row) for row in beliefs(release.privacy, texts))
    return BeliefTable(texts.caption, (texts.prior, texts.posterior), rows)


def _protected(release: Release) -> tuple[str, ...]:
    change = (
        "Two tables are neighbours if one arises from the other by replacing"
        if release.privacy.relation == "replace"
        else "Two tables are neighbours if one arises from the other by adding or removing"
    )
    number = (
        "The number of records is public and not protected."
        if release.rows_are_public
        else "The number of records is protected."
    )
    return (
        f"The unit of protection is {unit(release)}. {change} one unit.",
        f"{number} The schema (names of columns, categories, bounds) is public and not protected.",
        "Facts about groups of people are not hidden: they are what the release is for.",
    )


def _accuracy(release: Release) -> tuple[str, ...]:
    certificate = release.certificate
    if certificate is None:
        return ("No bound on the errors was bought with the budget.",)
    counts = certificate.upper_bound_counts
    # The bound is stated as the release states it: a noisy number of records has an error too.
    bound = (
        f"{rounded_up(counts / release.rows, 4):.2%} of all records"
        if release.rows_are_public
        else f"{rounded_up(counts, 1):,.1f} records"
    )
    return (
        (
            f"Of {certificate.queries:,} statistics, none is off by more than {bound}, with"
            f" {certificate.confidence:.0%} confidence. This bound is itself differentially"
            " private."
        ),
        f"What it covers: {release.accuracy}.",
    )


def _kept(release: Release) -> tuple[str, ...]:
    widths = sorted({len(family.columns) for family in release.workload.families})
    joint = " and ".join(str(width) for width in widths)
    found = [f"The run aimed at the joint distributions of {joint} columns at a time."]
    if release.facts.method == "independent":
        found.append("Columns are treated as unrelated: no relation between columns is kept.")
    elif release.relaxed is None:
        found.append("Relations that were not measured are not in the release.")
    else:
        found.append(
            "Relations that were not measured are what the fit makes of the rest, and may be wrong."
            " Nothing is kept that is finer than the bins of a column and the shape inside them"
            " that the schema declares or the run measured."
        )
    if release.schema.constraints and release.relaxed is not None:
        found.append(
            f"{len(release.schema.constraints)} declared constraints hold in every synthetic"
            " record."
        )
    return tuple(found)


def _schema(release: Release) -> tuple[str, ...]:
    vouched = vouched_sentences(release.schema.vouched)
    if not vouched:
        return (
            (
                "The schema was given to the run as publicly known. Whoever ran it vouches that its"
                " categories and bounds were not taken from the data, or that they are public."
            ),
        )
    return (
        (
            "Parts of the schema were first read off the private data. These persons vouch that"
            " what they name is public knowledge all the same, and the guarantee rests on their"
            " word:"
        ),
        *(f"{sentence}." for sentence in vouched),
        "Whoever ran the software vouches for the rest of the schema.",
    )


def _limits_of_persons(release: Release) -> tuple[str, ...]:
    rows = release.privacy.max_rows_per_person
    if rows == 1:
        return (
            (
                "The promise is for one record. Whoever has several records in the table is protected"
                " less, as several people are."
            ),
        )
    beyond = (
        ""
        if release.privacy.relation == "replace"
        else f" Records of a person beyond {rows} are not counted, or the run was refused."
    )
    return (
        (
            "Persons are told apart by an id of the private table: who has several ids is protected"
            f" less.{beyond}"
        ),
    )


def _limits(release: Release) -> tuple[str, ...]:
    public = [] if release.public is None else [release.public.sentence()]
    return (
        "Several releases of the same data weaken the guarantee together: their budgets add up.",
        (
            "Several people together, such as a family, are protected less: for k people ε is k"
            " times as large, and δ grows too."
        ),
        *_limits_of_persons(release),
        (
            "That the run came about tells something too: a table that breaks its schema is"
            " refused, and the refusal is not covered by the guarantee."
        ),
        (
            "The machine that made the release, its running time and access to the private table"
            " are outside the guarantee."
        ),
        *public,
    )
