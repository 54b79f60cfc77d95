"""Questions that compare: shares of a group, and differences and ratios between two groups.

    share of smoker = true among age >= 65
    difference of mean income between sex = female versus sex = male where age >= 65
    ratio of median income between region = North versus region = South
    difference of share of smoker = true between sex = female versus sex = male

After `between` stand two conditions with `versus` (or `vs`) between them, and `where` holds for
both. What is compared is count, share of a condition, sum, mean, median or quantile LEVEL of a
column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprap.errors import WorkloadError
from dprap.release.breakdown import Asked, shares
from dprap.release.intervals import Interval, Kind, compound
from dprap.release.intervals.interval import count_intervals, from_least_to_most
from dprap.release.question_language import parse
from dprap.release.statistics_language import Word, words_of
from dprap.schema import Schema

if TYPE_CHECKING:
    from dprap.release.release import Release

COMPARISONS = ("difference", "ratio")
_VERSUS = ("versus", "vs", "vs.")
_COMPARABLE = ("count", "share", "sum", "mean", "median", "quantile")


@dataclass(frozen=True)
class Comparison:
    """A difference or a ratio of what is asked of two groups; `what` is a question without its
    condition.
    """

    name: str
    what: str
    groups: tuple[str, str]
    where: str

    def questions(self) -> tuple[str, str]:
        """What is asked of each group, as a question of its own."""
        joint = "among" if self.what.lower().startswith("share") else "where"
        first, second = (_both(group, self.where) for group in self.groups)
        return f"{self.what} {joint} {first}", f"{self.what} {joint} {second}"


@dataclass(frozen=True)
class Proportion:
    """The share of records with one condition among those with another."""

    of: str
    among: str


def parse_comparison(question: str, schema: Schema) -> Comparison | Proportion | None:
    """The comparison that a question asks for; None where it asks for something else.

    `ratio between A versus B` compares counts.

    Raises:
        WorkloadError: It begins as a comparison and goes on otherwise than one.

    >>> from dprap.datasets import example_schema
    >>> found = parse_comparison(
    ...     "ratio of mean income between sex = female vs sex = male", example_schema()
    ... )
    >>> found.name, found.what, found.groups
    ('ratio', 'mean income', ('sex = female', 'sex = male'))
    >>> parse_comparison("share of smoker = true among age >= 65", example_schema())
    Proportion(of='smoker = true', among='age >= 65')
    """
    words = words_of(question)
    if (
        len(words) < 2
        or not words[0].is_one_of(*COMPARISONS, "share")
        or not words[1].is_one_of("of", "in", "between")
    ):
        return None
    if words[0].text in schema.columns and not words[1].is_one_of("of"):
        return None  # a condition on a column of that name
    name = words[0].text.lower()
    if name == "share":
        return _proportion(question, words)
    between, versus = _place(words, "between"), _place(words, *_VERSUS)
    where = _place(words, "where")
    of_counts = between == 1
    if not (of_counts or between > 2) or not between < versus < len(words):
        raise WorkloadError(
            f"a {name} is of something between two groups, as in: {name} of mean income between sex"
            " = female versus sex = male."
        )
    if not (of_counts or words[2].is_one_of(*_COMPARABLE)):
        raise WorkloadError(
            f"a {name} is of one of {', '.join(_COMPARABLE)}, not of {words[2].text}."
        )
    return Comparison(
        name,
        "count" if of_counts else question[words[2].start : words[between].start].strip(),
        (
            _text(question, words, between, versus),
            _text(question, words, versus, where),
        ),
        _text(question, words, where, len(words)) if where < len(words) else "",
    )


def compared(name: str, first: Interval, second: Interval, *, correlation: float = 0.0) -> Interval:
    """The difference or ratio of two answers whose errors have a correlation."""
    if name == "ratio" and second.estimate == 0:
        raise WorkloadError("the second group of the ratio has the answer 0. Ask for a difference.")
    make = compound.difference if name == "difference" else compound.ratio
    return make(first, second, correlation=correlation)


def proportion(
    release: Release, asked: Proportion, *, level: float, population: bool
) -> tuple[Interval, float]:
    """A share among some records, with its interval, and the number of those records."""
    both = _both(asked.of, asked.among)
    parts, wholes = _asked(release, both), _asked(release, asked.among)
    part, whole = _count(release, parts), _count(release, wholes)
    if whole <= 0:
        raise WorkloadError(f"no records have {asked.among}, so that there is no share among them.")

    def share(part: float, rest: float) -> Interval:
        counts = np.array([part, rest])
        intervals = count_intervals(
            release,
            parts.pinned_columns,
            counts,
            kind=Kind.RANGE,
            level=level,
            population=population,
        )
        return compound.share(*intervals)

    found = share(part, max(whole - part, 0.0))
    if not parts.cut_columns and not wholes.cut_columns:
        return found, whole
    rests = _asked(release, _both(f"not ({asked.of})", asked.among))
    fewest, most = (_count(release, each) for each in parts.bounds)
    least_rest, most_rest = (_count(release, each) for each in rests.bounds)
    smallest = share(fewest, most_rest) if most_rest > 0 else share(most, 0.0)
    largest = share(most, least_rest) if most > 0 else share(0.0, most_rest)
    return from_least_to_most(found.estimate, smallest, largest), whole


def _asked(release: Release, condition: str) -> Asked:
    return Asked(release.schema, tuple(parse(condition, release.schema)), ())


def _count(release: Release, asked: Asked) -> float:
    return float(shares(release, asked).sum()) * release.rows


def _proportion(question: str, words: list[Word]) -> Proportion | None:
    among = _place(words, "among")
    if among == len(words):
        return None
    return Proportion(_text(question, words, 1, among), _text(question, words, among, len(words)))


def _place(words: list[Word], *wanted: str) -> int:
    """The place of the first of some words; the number of words where there is none."""
    return next((at for at, word in enumerate(words) if word.is_one_of(*wanted)), len(words))


def _text(question: str, words: list[Word], after: int, before: int) -> str:
    """The text between two words."""
    if before - after < 2:
        raise WorkloadError(f"the question names no condition after {words[after].text}.")
    return question[
        words[after].stop : words[before].start if before < len(words) else len(question)
    ].strip()


def _both(first: str, second: str) -> str:
    """Both conditions, of which the second may be empty."""
    return f"({first}) and ({second})" if second else first
