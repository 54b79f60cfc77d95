"""Questions about numbers: a statistic, whose, by what, and where.

    mean income by region where age >= 65         quantile 0.9 of income where income > 0
    correlation of age and income                 histogram hours by sex

The words after `where` are conditions as in `question_language`. A question that does not begin
with a statistic is a condition alone, and asks for a count.
"""

from __future__ import annotations

from dataclasses import dataclass

from dprap.errors import WorkloadError
from dprap.release.question_language import TOKEN, Box, advising_quotes, parse
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.texts import read_number

COUNTS = ("count", "share")
ONE_COLUMN = ("sum", "mean", "variance", "stddev", "median", "quantile", "histogram")
TWO_COLUMNS = ("correlation",)
_EXTREMES = {"max": 0.99, "maximum": 0.99, "min": 0.01, "minimum": 0.01}
_WORDS = {
    "average": "mean",
    "avg": "mean",
    "sd": "stddev",
    "std": "stddev",
    "var": "variance",
    "corr": "correlation",
}
_JOINTS = ("of", "and", ",")


@dataclass(frozen=True)
class Statistic:
    """What is asked: a statistic of some columns, by the values of others, over the records in
    disjoint boxes.
    """

    name: str
    columns: tuple[str, ...]
    level: float | None
    by: tuple[str, ...]
    where: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Word:
    """A word or sign of a question, and where it stands."""

    text: str
    is_plain: bool  # neither quoted nor a sign
    start: int
    stop: int

    def is_one_of(self, *words: str) -> bool:
        """Whether it is one of these words, not quoted, in capitals or not."""
        return self.is_plain and self.text.lower() in words


def parse_statistic(question: str, schema: Schema) -> Statistic | None:
    """The statistic that a question asks for; None where it is a condition alone.

    Raises:
        WorkloadError: It begins with a statistic and goes on otherwise than one.

    >>> from dprap.datasets import example_schema
    >>> found = parse_statistic("mean income by sex, region where age >= 65", example_schema())
    >>> found.name, found.columns, found.by, found.where
    ('mean', ('income',), ('sex', 'region'), 'age >= 65')
    >>> parse_statistic("age >= 65", example_schema()) is None
    True
    """
    words = words_of(question)
    if not words or not words[0].is_plain:
        return None
    name = _WORDS.get(words[0].text.lower(), words[0].text.lower())
    if name in _EXTREMES and name not in schema.columns:
        raise WorkloadError(
            f"a release has no {name}: it is one person's value. Ask for a quantile, such as:"
            f" quantile {_EXTREMES[name]} of income."
        )
    if name not in (*COUNTS, *ONE_COLUMN, *TWO_COLUMNS) or not _goes_on(words, schema):
        return None
    where = next((at for at, word in enumerate(words) if word.is_one_of("where")), len(words))
    by = next((at for at, word in enumerate(words[:where]) if word.is_one_of("by")), where)
    condition = question[words[where].stop :].strip() if where < len(words) else ""
    if where < len(words) and not condition:
        raise WorkloadError("the question ends after where: name a condition such as age >= 65.")
    of = [
        word
        for word in words[1:by]
        if name in COUNTS or not (word.is_one_of(*_JOINTS) or word.text == ",")
    ]
    level = _level(of, name)
    columns = tuple(word.text for word in of)
    groups = tuple(word.text for word in words[by + 1 : where] if word.text != ",")
    if by < where and not groups:
        raise WorkloadError("the question names no column after by.")
    with advising_quotes(question, schema):
        _check(name, columns, groups, schema)
    return Statistic(name, columns, level, groups, condition, tuple(parse(condition, schema)))


def words_of(question: str) -> list[Word]:
    """The words and signs of a question."""
    found: list[Word] = []
    at = 0
    while (match := TOKEN.match(question, at)) is not None and match.end() > at:
        text = (
            match["quoted"][1:-1] if match["quoted"] is not None else match["sign"] or match["word"]
        )
        found.append(Word(text, match["word"] is not None, match.start(), match.end()))
        at = match.end()
    return found


def _goes_on(words: list[Word], schema: Schema) -> bool:
    """Whether the second word makes the first a statistic, rather than a column with that name."""
    if len(words) == 1:
        return words[0].text not in schema.columns
    return (
        words[0].text not in schema.columns
        or words[1].text in schema.columns
        or words[1].is_one_of("of", "by")
    )


def _level(of: list[Word], name: str) -> float | None:
    """Take the level of a quantile out of the words."""
    if name == "median":
        return 0.5
    if name != "quantile":
        return None
    # Python's own reader takes the digits of every script, underscores and blanks: a question is
    # read as it looks.
    level = read_number(of.pop(0).text) if of else None
    if level is None:
        raise WorkloadError("a quantile needs its level first, as in: quantile 0.9 of income.")
    if not 0 <= level <= 1:
        raise WorkloadError(f"the level of a quantile lies between 0 and 1; it is {level:g}.")
    return level


def _check(name: str, columns: tuple[str, ...], by: tuple[str, ...], schema: Schema) -> None:
    wanted = 0 if name in COUNTS else 2 if name in TWO_COLUMNS else 1
    if len(columns) != wanted:
        needs = {0: "no column", 1: "one column", 2: "two columns"}[wanted]
        given = ", ".join(columns) or "none"
        if wanted == 0:
            raise WorkloadError(
                f"{name} takes groups after by and a condition after where, as in: {name} by sex"
                " where age >= 65."
            )
        raise WorkloadError(
            f"{name} takes {needs}, not {given}. Conditions come after where, groups after by."
        )
    for column in (*columns, *by):
        schema.domain.position(column)
    for column in columns:
        kind = schema.columns[column]
        if not isinstance(kind, BinnedColumn):
            raise WorkloadError(
                f"column {column!r} holds no numbers, so it has no {name}. Ask for a count by"
                f" {column}."
            )
        if kind.is_calendar and name in ("sum", "variance", "stddev"):
            raise WorkloadError(
                f"column {column!r} holds dates, which have no {name}. Ask for its mean or a"
                " quantile."
            )
    if len(set(columns)) < len(columns) or set(columns) & set(by):
        raise WorkloadError(f"{name} names a column twice. Name each column once.")
