"""The question language: conditions on columns, joined by and, or, not and parentheses.

    age in 30..39 and sex = female          hired >= 2020-03 or hired is null
    region in {North, "South East"}         not (smoker = true and age < 40)

A comparison is never true of a missing value; `not (…)` turns that around, and `is null` asks for
it. Names and values with spaces or signs in them are quoted, with '…', "…" or `…`. Dates may be
shortened to a month or a year.

A question becomes disjoint boxes, each a set of values for some columns, so that its share is a sum
over boxes of products over columns in every relaxed row: exact, without counting anything twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from dprap.errors import WorkloadError, meant
from dprap.schema import Schema
from dprap.schema.value_sets import ValueSet, complement, union

Box: TypeAlias = Mapping[str, ValueSet]
"""Records whose value in every named column is in the column's set."""

MAX_BOXES = 1000
"""Most boxes a question may fall into."""

TOKEN = re.compile(
    r"""\s*(?:
        (?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)
      | (?P<sign>\.\.|<=|>=|!=|<>|==|=|<|>|\(|\)|\{|\}|,)
      | (?P<word>(?:(?!\.\.)[^\s=!<>(){},'"`])+)
    )""",
    re.VERBOSE,
)
_EQUAL = ("=", "==")
_DIFFERENT = ("!=", "<>")
_ORDER = ("<", "<=", ">", ">=")
_KEYWORDS = ("and", "or", "not", "in", "is", "null")


@dataclass(frozen=True)
class _Token:
    kind: str  # quoted, sign, word or end
    text: str

    def is_word(self, *keywords: str) -> bool:
        return self.kind == "word" and self.text.lower() in keywords

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


def parse(question: str, schema: Schema) -> list[Box]:
    """Disjoint boxes that together hold exactly the records a question asks for; an empty question
    asks for all.

    >>> from dprap.datasets import example_schema
    >>> [
    ...     sorted(box)
    ...     for box in parse("age in 30..39 and (sex = male or smoker = true)", example_schema())
    ... ]
    [['age', 'sex'], ['age', 'sex', 'smoker']]
    """
    try:
        with advising_quotes(question, schema):
            return _Parser(_tokens(question), schema).parse()
    except RecursionError:
        raise WorkloadError(
            "the question is nested too deeply. Ask for its parts one by one."
        ) from None


@contextmanager
def advising_quotes(question: str, schema: Schema) -> Iterator[None]:
    """Let an error inside the block say that a name in the question needs quotes, if one does."""
    try:
        yield
    except WorkloadError:
        bare = [name for name in schema.columns if quoted(name) != name and name in question]
        if not bare or any(f"{sign}{bare[0]}{sign}" in question for sign in "'\"`"):
            raise
        raise WorkloadError(
            f"the name of column {bare[0]} has spaces or signs, so a question needs it in quotes:"
            f" {quoted(bare[0])}."
        ) from None


def quoted(name: str) -> str:
    r"""A name as questions need it: in quotes if it has spaces or signs.

    >>> quoted("age"), quoted("pay (EUR)"), quoted("mother's age")
    ('age', "'pay (EUR)'", '"mother\'s age"')
    """
    match = TOKEN.fullmatch(name)
    if match is not None and match["word"] == name and name.lower() not in _KEYWORDS:
        return name
    sign = next((sign for sign in "'\"`" if sign not in name), "'")
    return f"{sign}{name}{sign}"


def _tokens(question: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(question.rstrip())
    while at < end:
        match = TOKEN.match(question, at)
        if match is None:
            raise WorkloadError(
                f"cannot read the question from {question[at:].strip()[:20]!r} on. Is a quote left"
                " open?"
            )
        if match["quoted"] is not None:
            found.append(_Token("quoted", match["quoted"][1:-1]))
        elif match["sign"] is not None:
            found.append(_Token("sign", match["sign"]))
        else:
            found.append(_Token("word", match["word"]))
        at = match.end()
    return [*found, _Token("end", "")]


class _Parser:
    """Recursive descent over the tokens; every level returns disjoint boxes."""

    def __init__(self, tokens: list[_Token], schema: Schema) -> None:
        self._tokens = tokens
        self._schema = schema
        self._at = 0

    def parse(self) -> list[Box]:
        if self._next.kind == "end":
            return [{}]
        boxes = self._any()
        if self._next.kind != "end":
            self._refuse("and, or, or the end of the question")
        return _merged(boxes, self._schema)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _took_word(self, *keywords: str) -> bool:
        taken = self._next.is_word(*keywords)
        self._at += taken
        return taken

    def _took_sign(self, *signs: str) -> bool:
        taken = self._next.is_sign(*signs)
        self._at += taken
        return taken

    def _refuse(self, expected: str) -> NoReturn:
        where = f"at {self._next.text!r}" if self._next.text else "at its end"
        raise WorkloadError(
            f"cannot read the question {where}: expected {expected}. Quote names and values with"
            " spaces."
        )

    def _any(self) -> list[Box]:
        boxes = self._all()
        while self._took_word("or"):
            following = self._all()
            boxes = _limited([*boxes, *_intersected(_complemented(boxes, self._schema), following)])
        return boxes

    def _all(self) -> list[Box]:
        boxes = self._one()
        while self._took_word("and"):
            boxes = _intersected(boxes, self._one())
        return boxes

    def _one(self) -> list[Box]:
        if self._took_word("not"):
            return _complemented(self._one(), self._schema)
        if self._took_sign("("):
            boxes = self._any()
            if not self._took_sign(")"):
                self._refuse("a closing parenthesis")
            return boxes
        return self._condition()

    def _condition(self) -> list[Box]:
        token = self._next
        if token.kind not in ("word", "quoted") or token.is_word(*_KEYWORDS):
            self._refuse("a column")
        self._at += 1
        name = token.text
        if name not in self._schema.columns:
            advice = meant(name, self._schema.columns, "Its columns are")
            raise WorkloadError(f"column {name!r} is not in the schema. {advice}")
        values = self._values(name)
        return [] if values.empty else [{name: values}]

    def _values(self, name: str) -> ValueSet:
        column = self._schema.columns[name]
        if self._took_sign(*_EQUAL):
            return column.equal(name, self._value(name))
        if self._took_sign(*_DIFFERENT):
            return complement(
                column.all_values(), column.equal(name, self._value(name))
            ).without_missing()
        if self._next.is_sign(*_ORDER):
            return column.compared(name, self._take().text, self._value(name))
        if self._took_word("is"):
            negated = self._took_word("not")
            if not self._took_word("null"):
                self._refuse("null")
            return column.all_values().without_missing() if negated else column.no_value(name)
        negated = self._took_word("not")
        if not self._took_word("in"):
            if self._next.kind == "end":
                raise WorkloadError(
                    f"the question says nothing of column {quoted(name)}. Compare it with a value,"
                    f" or ask: count by {quoted(name)}."
                )
            self._refuse(f"=, !=, <, <=, >, >=, in or is null after column {name!r}")
        found = self._listed(name) if self._next.is_sign("{") else self._ranged(name)
        return complement(column.all_values(), found).without_missing() if negated else found

    def _value(self, name: str) -> str:
        if self._next.kind not in ("word", "quoted"):
            self._refuse(f"a value for column {name!r}")
        return self._take().text

    def _listed(self, name: str) -> ValueSet:
        column = self._schema.columns[name]
        self._take()
        sets = [column.equal(name, self._value(name))]
        while self._took_sign(","):
            sets.append(column.equal(name, self._value(name)))
        if not self._took_sign("}"):
            self._refuse("a comma or a closing brace")
        return union(column.all_values(), sets)

    def _ranged(self, name: str) -> ValueSet:
        low = None if self._next.is_sign("..") else self._value(name)
        if not self._took_sign(".."):
            self._refuse(
                f"a range such as {name} in 1..9, a list such as {name} in {{a, b}}, or one value,"
                f" {name} = a"
            )
        is_value = self._next.kind in ("word", "quoted") and not self._next.is_word("and", "or")
        high = self._value(name) if is_value else None
        return self._schema.columns[name].between(name, low, high)


def _intersected(left: list[Box], right: list[Box]) -> list[Box]:
    found: list[Box] = []
    for a in left:
        for b in right:
            merged = {**a, **b, **{name: a[name] & b[name] for name in a.keys() & b.keys()}}
            if not any(values.empty for values in merged.values()):
                found.append(merged)
    return _limited(found)


def _complemented(boxes: list[Box], schema: Schema) -> list[Box]:
    rest: list[Box] = [{}]
    for box in boxes:
        # outside a box: outside its first column's set, or inside that and outside the second's,
        # and so on
        outside: list[Box] = []
        inside: dict[str, ValueSet] = {}
        for name, values in box.items():
            beyond = complement(schema.columns[name].all_values(), values)
            if not beyond.empty:
                outside.append({**inside, name: beyond})
            inside[name] = values
        rest = _intersected(rest, outside)
    return rest


def _merged(boxes: list[Box], schema: Schema) -> list[Box]:
    """The disjoint boxes, as one where they differ in a single column: parts of a bin that two
    cases hold add up.
    """
    for name, column in schema.columns.items():
        alike: dict[tuple[bool, frozenset[tuple[str, ValueSet]]], list[Box]] = {}
        for box in boxes:
            rest = frozenset((other, values) for other, values in box.items() if other != name)
            alike.setdefault((name in box, rest), []).append(box)
        boxes = [
            same[0]
            if len(same) == 1
            else {**same[0], name: union(column.all_values(), (box[name] for box in same))}
            for same in alike.values()
        ]
    return boxes


def _limited(boxes: list[Box]) -> list[Box]:
    if len(boxes) > MAX_BOXES:
        raise WorkloadError(
            f"the question falls into more than {MAX_BOXES:,} cases. Ask for its parts one by one."
        )
    return boxes
