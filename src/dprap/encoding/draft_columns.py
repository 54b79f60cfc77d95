"""What a draft proposes for one column: its settings with a reason, or why the column is left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from dprap.encoding import recognise, recognise_names
from dprap.encoding.draft_numbers import decimals_of, number_proposal, typed_numbers
from dprap.encoding.draft_proposal import LOOKED_AT, MIN_COUNT, Hints, Proposal
from dprap.encoding.draft_times import clock_proposal, in_century, never_texts, time_proposal
from dprap.schema.values import is_text_type

MAX_CATEGORIES = 100

# Of numbers or dates so large a share of the records may be unreadable: a run stops at 1% that a
# policy makes null.
_UNREADABLE = 0.01
# Where a larger share is unreadable, the column is one of texts that now and then look like numbers
# or dates.
_MOST_LOST = 0.2
# Fewer different readable values are rather categories.
_LEAST_READABLE = 20
# Words between numbers that may mean that the value is missing.
_MOST_WORDS = 3
_LONGEST_WORD = 16
# Where a larger part of the records shares its identifier with another record, persons may have
# several records.
_SHARED = 0.05
_SEVERAL = (
    "; several records share one. If it names the person, give it to the run as the person column,"
    " so that all records of a person are protected"
)
# So many ways of writing a date are named.
_SHAPES = 3
# A list that holds a smaller share of the records tells nothing of the column.
_LEAST_LISTED = 0.1


def propose(
    name: str,
    kind: pa.DataType,
    seen: Mapping[Any, int],
    *,
    has_null: bool,
    rows: int,
    hints: Hints,
) -> Proposal:
    """A proposal for a column.

    Args:
        name: Its name.
        kind: Its Arrow type; text for CSV files.
        seen: Different values and how many records have each.
        has_null: Whether a record lacks a value.
        rows: The number of records in which the values were seen.
        hints: What the other columns tell.

    """
    storage: dict[str, Any] = {}
    if pa.types.is_dictionary(kind):
        kind, storage = kind.value_type, {"storage": "dictionary"}
    values = {
        value: count
        for value, count in seen.items()
        if not (isinstance(value, float) and not math.isfinite(value))
    }
    if not values and not (pa.types.is_nested(kind) or pa.types.is_binary(kind)):
        return Proposal(None, "has no values")
    if pa.types.is_boolean(kind):
        found = Proposal({"type": "boolean"}, "true or false")
    elif is_text_type(kind):
        found = _from_texts(name, {str(text): count for text, count in values.items()}, rows, hints)
        found = _stored(found, kind, storage, typed=hints.typed_texts)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        found = typed_numbers(name, values, rows, kind)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        found = time_proposal(values, kind)
    else:
        return Proposal(
            None,
            f"is of the type {kind}, for which there is no column. Convert it to text or numbers",
        )
    if found.settings is None:
        return found
    return (
        found.having({"nullable": True}) if has_null or found.settings.get("null_values") else found
    )


def _stored(
    found: Proposal, kind: pa.DataType, storage: dict[str, Any], *, typed: bool
) -> Proposal:
    """The proposal with the Arrow type of a column of texts."""
    if found.settings is None:
        return found
    if found.settings["type"] == "categorical":
        wide = {"storage": "large_string"} if kind == pa.large_string() else {}
        return found.having(storage or wide)
    # in a table with types a text is read as a number or a date only where the schema says that it
    # is one
    return (
        found.having({"storage": "string"})
        if typed and found.settings["type"] != "boolean"
        else found
    )


def _from_texts(name: str, seen: dict[str, int], rows: int, hints: Hints) -> Proposal:
    markers = recognise.null_markers(list(seen))
    texts = {text: count for text, count in seen.items() if text not in markers}
    if not texts:
        return Proposal(None, "has no values besides markers of missing ones")
    words = recognise.boolean_words(list(texts))
    if words is not None:
        plain = {"false", "False", "FALSE", "true", "True", "TRUE"}
        spelled = (
            {}
            if set(texts) <= plain
            else {"false_values": sorted(words[0]), "true_values": sorted(words[1])}
        )
        return _with_nulls(Proposal({"type": "boolean", **spelled}, "two opposite words"), markers)
    read = _read(name, texts, rows, hints)
    if read is None:
        read, odd = _read_without_words(name, texts, rows, hints)
        markers = [*markers, *odd]
    if read is None:
        read = _read_most(name, texts, rows, hints)
    return _with_nulls(_categories(name, texts, rows) if read is None else read, markers)


def _with_nulls(found: Proposal, markers: list[str]) -> Proposal:
    if found.settings is None:
        return found
    both = sorted({*markers, *found.settings.get("null_values", ())})
    return found.having({"null_values": both}) if both else found


def _read_without_words(
    name: str, texts: Mapping[str, int], rows: int, hints: Hints
) -> tuple[Proposal | None, list[str]]:
    """Numbers or dates with a few words between them, which then mean that the value is missing;
    and these words. Values beyond a limit, `<0.5`, are such words, and a question tells.
    """
    beyond = [text for text in texts if text[:1] in recognise.BEYOND and len(text) <= _LONGEST_WORD]
    odd = beyond + [
        text
        for text in texts
        if not any(sign.isdigit() for sign in text)
        and len(text) <= _LONGEST_WORD
        and text not in beyond
    ]
    rest = {text: count for text, count in texts.items() if text not in odd}
    if not 0 < len(odd) <= _MOST_WORDS or len(rest) < 3 * len(odd) + 3:
        return None, []
    read = _read(name, rest, rows, hints)
    if read is None or read.settings is None:
        return read, []
    if beyond:
        known = ", ".join(map(repr, beyond))
        read = replace(
            read,
            question=f"Of {known} only a limit is known: drafted as missing. To keep it, give it a"
            " column of its own, or write a number for it.",
        )
    return (
        replace(
            read, reason=f"{read.reason}; words between the values taken as markers of missing ones"
        ),
        odd,
    )


def _read_most(name: str, texts: Mapping[str, int], rows: int, hints: Hints) -> Proposal | None:
    """Numbers or dates of which a few cannot be read and become null; or why so many of them keep
    the column out.
    """
    every = sum(texts.values())

    def lost_of(read: Mapping[str, int]) -> float:
        return 1 - sum(read.values()) / every

    looked_at = list(texts)[:LOOKED_AT]
    ways = recognise.ways_of_dates(looked_at)
    dates = {text: count for text, count in texts.items() if any(way(text) for way in ways)}
    by_first = {text: count for text, count in dates.items() if ways[0](text)}
    if len(dates) >= _LEAST_READABLE and lost_of(dates) < _MOST_LOST:
        if len(ways) > 1 and lost_of(by_first) > _UNREADABLE:
            shapes = ", ".join(recognise.shapes_of(looked_at)[:_SHAPES])
            return Proposal(
                None,
                f"dates are written in more than one way ({shapes}). Write all of them in one of"
                " these ways, and draft again",
            )
        what, readable = "dates", by_first
    else:
        what = "numbers"
        readable = {text: count for text, count in texts.items() if recognise.is_numeric(text)}
    if len(readable) < _LEAST_READABLE:
        return None
    lost = lost_of(readable)
    if lost > _UNREADABLE:
        if lost >= _MOST_LOST or len(texts) <= MAX_CATEGORIES:
            return None
        return Proposal(
            None,
            f"most values are {what} and others are not. Correct these, or say by hand what they"
            " mean",
        )
    read = _read(name, readable, rows, hints)
    if read is None or read.settings is None:
        return None
    reason = f"{read.reason}; a few values are no {what} and become null"
    return replace(read.having({"nullable": True}), reason=reason)


def _read(name: str, texts: Mapping[str, int], rows: int, hints: Hints) -> Proposal | None:
    """Dates, times or numbers, if all texts are; None otherwise."""
    looked_at = list(texts)[:LOOKED_AT]
    padded = any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in looked_at)
    postcode = recognise_names.looks_like_postcode(name)
    dated = None if postcode else recognise.date_format(looked_at, day_first=hints.day_first)
    if dated is not None:
        return _dates(name, texts, dated)
    unit = recognise.clock_unit(looked_at)
    if unit is not None:
        return clock_proposal(texts, unit)
    if padded or postcode:
        return None  # 007 is a label, not a number
    form = recognise.number_format(looked_at, decimal_comma=hints.decimal_comma)
    if form is None:
        signs = recognise.signs_of(looked_at)
        mixed = (
            f"amounts with different signs ({', '.join(sorted(signs))}). Give each its own column,"
            " or convert them"
        )
        return Proposal(None, mixed) if len(signs) > 1 and len(texts) > MAX_CATEGORIES else None
    return _written_numbers(name, texts, rows, form)


def _dates(name: str, texts: Mapping[str, int], dated: recognise.Reading) -> Proposal:
    dated = in_century(dated, texts, is_past=recognise_names.looks_like_birth(name))
    when: dict[str, datetime] = {
        text: found for text in texts if (found := dated.read(text)) is not None
    }
    never = never_texts(when)
    counted: dict[datetime, int] = {}
    for text, moment in when.items():
        if text not in never:
            counted[moment] = counted.get(moment, 0) + texts[text]
    found = time_proposal(counted, pa.timestamp("us"), dated.settings)
    if never:
        found = replace(
            found.having({"null_values": never}),
            reason=f"{found.reason}; {', '.join(never)} taken as no date",
        )
    from_data = (*found.from_data, *(("format",) if "format" in dated.settings else ()))
    return replace(found, question=dated.question, from_data=from_data)


def _written_numbers(
    name: str, texts: Mapping[str, int], rows: int, form: recognise.Reading
) -> Proposal:
    numbers: dict[float, int] = {}
    written: dict[float, list[str]] = {}
    for text, count in texts.items():
        value = form.read(text)
        if value is not None and math.isfinite(value):
            numbers[value] = numbers.get(value, 0) + count
            written.setdefault(value, []).append(text)
    decimals = max(map(decimals_of, numbers), default=0)
    point = form.settings.get("decimal", ".")
    found = number_proposal(
        name, numbers, rows, decimals, has_fraction=any(point in text for text in texts)
    )
    if found.settings is None:
        return found
    if "null_values" in found.settings:  # as they are written in the file
        codes = [text for code in found.settings["null_values"] for text in written[float(code)]]
        found = found.having({"null_values": codes})
    if not form.settings:
        return found
    return replace(
        found.having({"format": dict(form.settings)}),
        reason=f"{found.reason}; written with {_signs(form.settings, texts)}",
        from_data=(*found.from_data, "format"),
        question=form.question or found.question,
    )


def _signs(settings: Mapping[str, str], texts: Iterable[str]) -> str:
    """What a format says, in words."""
    if [*settings] == ["thousands"] and not any(settings["thousands"] in text for text in texts):
        return "a minus behind or brackets"  # which any format reads, and no format says
    words = {
        "prefix": "the sign {} in front",
        "suffix": "the sign {} behind",
        "decimal": "decimal {}",
        "thousands": "thousands set off by {}",
    }
    names = {
        ",": "comma",
        ".": "points",
        " ": "blanks",
        "\u00a0": "blanks",
        "\u202f": "blanks",
        "'": "apostrophes",
    }
    return ", ".join(words[name].format(names.get(sign, sign)) for name, sign in settings.items())


def _categories(name: str, texts: Mapping[str, int], rows: int) -> Proposal:
    personal = recognise_names.identifying(name, texts, rows)
    if personal is not None:
        shared = sum(count for count in texts.values() if count > 1) > _SHARED * sum(texts.values())
        return Proposal(None, f"looks like {personal}{_SEVERAL if shared else ''}")
    frequent = [
        text
        for text, count in sorted(texts.items(), key=lambda item: (-item[1], item[0]))
        if count >= MIN_COUNT
    ]
    if not frequent:
        return Proposal(
            None,
            f"no value is shared by {MIN_COUNT} of the records looked at, so that none may be"
            " written down",
        )
    listed = frequent[:MAX_CATEGORIES]
    ordered, has_order = recognise_names.in_order(listed)
    settings: dict[str, Any] = {"type": "categorical", "values": ordered}
    reason = "ordered categories" if has_order else "categories"
    every = sum(texts.values())
    left = every - sum(texts[text] for text in listed)
    if every - left < _LEAST_LISTED * every:
        return Proposal(
            None,
            f"the values that {MIN_COUNT} records share hold less than {_LEAST_LISTED:.0%} of them."
            " Declare those that are public, or `domain: discover`",
        )
    question = None
    if left:
        settings["other"] = next(
            label for label in ("other", "any other", "other value") if label not in texts
        )
        reason += (
            f"; those of fewer than {MIN_COUNT} records are put together as {settings['other']!r}"
        )
    if len(texts) > MAX_CATEGORIES:
        what = "postcodes" if recognise_names.looks_like_postcode(name) else "many categories"
        reason = f"{what}: a top list of {len(listed)}, and all others together"
        question = (
            "Which of these values are public knowledge? A top list read off the data is not, until"
            " somebody says so."
        )
    question = question or _units(list(texts)[:LOOKED_AT]) or _spellings(listed)
    return Proposal(settings, reason, ("values",), question)


def _units(values: Sequence[str]) -> str | None:
    """A question about numbers in several units."""
    signs = recognise.signs_of(values)
    if len(signs) < 2:
        return None
    return (
        f"Are these numbers with different signs ({', '.join(sorted(signs))})? They are drafted as"
        " categories. Convert them to one unit, and draft again."
    )


def _spellings(values: Sequence[str]) -> str | None:
    """A question about values that may be spellings of one."""
    alike = recognise_names.spelled_alike(values)
    if not alike:
        return None
    first, *others = alike
    more = f", and {len(others)} more such" if others else ""
    blanks = (
        " If the file is CSV, csv: {strip: true} in the schema takes blanks off every field."
        if any(value != value.strip() for group in alike for value in group)
        else ""
    )
    return (
        f"Do {' and '.join(map(repr, first))}{more} mean the same? They are drafted as values of"
        f" their own.{blanks} To count them together, take values out and name groups instead:"
        f" groups: {{{first[0]!r}: [{', '.join(map(repr, first))}], …}}. Drawn records then have"
        f" any of the spellings; decode: representative with representatives: [{first[0]!r}, …]"
        " writes one of them."
    )
