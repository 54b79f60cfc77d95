"""What texts look like: formats of numbers and dates, clocks, markers of missing values, booleans.

For drafts and for the causes that a check gives, both for the steward's eyes alone. Nothing here
reads records for a release: what is recognised must be declared in the schema first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dprap.schema.number_format import BLANKS, ClockUnit, NumberFormat
from dprap.schema.texts import read_by_format, read_day, read_moment, read_number

NULL_MARKERS = frozenset(
    ("", "?", "-", "--", ".", "..", "na", "n/a", "#n/a", "#na", "nan", "null", "none", "nil", "missing", "(missing)", "<na>", "k.a.", "s/o",
     "not available", "not applicable", "n.d.", "nd", "nr", "#null!", "#value!", "#div/0!", "\\n", "0000-00-00", "00/00/0000",
     "00.00.0000", "0000-00-00 00:00:00")
)  # fmt: skip
"""Texts that usually mean that a value is missing, in small letters."""

BEYOND = ("<", ">", "≤", "≥")
"""Signs with which texts begin of which only a limit is known, as laboratories write them."""

_BOOLEANS = (
    ("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"), ("nein", "ja"), ("non", "oui"), ("no", "si"), ("no", "sí"),
    ("não", "sim"), ("nee", "ja"), ("nej", "ja"), ("nie", "tak"), ("нет", "да"), ("wrong", "right"), ("absent", "present"), ("negative", "positive"),
)  # fmt: skip

_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y",
         "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%Y.%m.%d")  # fmt: skip
_TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S", " %H:%M:%S.%f")
_CLOCK_BEHIND = re.compile(r"[ T][0-9]{1,2}:[0-9]{2}.*", re.DOTALL)
# Ways of writing dates are tried on so many of the texts that no other way reads, and count where
# more than this share of these is read.
_TRIED = 200
_LEAST_OF_A_WAY = 0.2
_COMPACT_DAY = re.compile(r"(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])")

_CURRENCY = r"(?:[$€£¥₹₽₩₪₺฿]|[A-Z]{0,2}\$|kr\.?|Kč|zł|R|Fr\.?|USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|INR|BRL|AUD|CAD|HKD|CNY)"
_UNIT = (
    r"(?:%|‰|°[CF]?|[kKMG]|bn|km|kg|cm|mm|m|g|mg|µg|ml|l|h|hrs?|hours?|min|mins|s|sec|days?|d|weeks?|months?|years?|yrs?|kWh|kW|W|MB|GB|TB"
    r"|lbs?|oz|ft|mi|miles|mph|km/h|m²|sqft|bpm|mmHg|mg/dl|pts?|bps)"
)
_SIGNED = re.compile(
    rf"\(?[+\-\u2212]?[{BLANKS}]?(?P<prefix>{_CURRENCY})?[{BLANKS}]?[+\-\u2212]?"
    rf"(?P<number>[0-9](?:[0-9.,'’{BLANKS}]*[0-9])?|[.,][0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?[{BLANKS}]?(?P<suffix>{_CURRENCY}|{_UNIT})?(?P<behind>[\-\u2212])?\)?"
)

# Any unit that stands behind all numbers of a column, such as g/dl, sq ft or ms.
_UNIT_BEHIND = re.compile(rf"(?<=[0-9])[{BLANKS}]?[^\W\d_][^\d,;:()]{{0,11}}\Z")
# Numbers with points between thousands, and codes of missing values (-9999), which nobody sets
# points in.
_BY_POINTS = re.compile(
    r"[+\-\u2212]?(?:0|[1-9][0-9]{0,2}(?:\.[0-9]{3})*|7{4,6}|8{4,6}|9{3,5}[789])"
)

_CLOCKLIKE = re.compile(
    r"[0-9]:[0-9]|[0-9] ?d(?:ays?)?,? ?[0-9]+ ?h|[0-9] ?h ?[0-9]|[0-9] ?m(?:in)? ?[0-9]+ ?s"
)

# Two letters that mean null, unless they stand among codes of two letters: ND is North Dakota, and
# NA Namibia.
_SHORT_MARKERS = frozenset(("na", "nd", "nr"))
_LEAST_CODES = 8


@dataclass(frozen=True)
class Reading:
    """How texts can be read: the settings of a column, and what only a person can tell."""

    settings: dict[str, Any]
    read: Callable[[str], Any]
    question: str | None = None


def null_markers(texts: Sequence[str]) -> list[str]:
    """Those of the texts that usually mean null, and have no other meaning among the rest.

    >>> null_markers(["none", "mild", "severe"]), null_markers(["none", "red", "NA"])
    ([], ['none', 'NA'])
    """
    found = [text for text in texts if text.strip().lower() in NULL_MARKERS]
    rest = {text.strip().lower() for text in texts} - NULL_MARKERS
    if {"mild", "moderate", "low", "some"} & rest:
        found = [text for text in found if text.strip().lower() not in ("none", "nil")]
    if len(rest) >= _LEAST_CODES and sum(
        len(text) == 2 and text.isalpha() for text in rest
    ) > 0.9 * len(rest):
        found = [text for text in found if text.strip().lower() not in _SHORT_MARKERS]
    return found


def boolean_words(texts: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Texts that mean false and texts that mean true, if these are all there are."""
    small = {text.strip().lower() for text in texts}
    for no, yes in _BOOLEANS:
        if small <= {no, yes} and len(small) == 2:
            return [t for t in texts if t.strip().lower() == no], [
                t for t in texts if t.strip().lower() == yes
            ]
    return None


def number_format(texts: Sequence[str], *, decimal_comma: bool = False) -> Reading | None:
    """The format in which all texts are numbers; None for plain ones is a format without settings.

    Args:
        texts: Different texts of a column.
        decimal_comma: Whether `1,234` is to be read as a number a little above one.

    >>> number_format(["€23,775.41", "€5.00"]).settings
    {'prefix': '€', 'thousands': ','}
    >>> number_format(["82,7", "3,25"]).settings
    {'decimal': ','}
    """
    by_points = decimal_comma and _has_thousands_by_points(texts)
    if not by_points and all(read_number(text) is not None for text in texts):
        return Reading({}, read_number)
    unit = _common_unit(texts)
    prefixes, suffixes, numbers, negative = set(), set(), [], False
    in_brackets = [text.strip(BLANKS).startswith("(") for text in texts]
    if all(in_brackets):
        return None  # (1) and (2) are notes rather than negative numbers
    for text in texts:
        match = _SIGNED.fullmatch(text.strip(BLANKS).removesuffix(unit or ""))
        if match is None:
            return None
        prefixes.add(match["prefix"])
        suffixes.add(unit.strip(BLANKS) if unit else match["suffix"])
        numbers.append(match["number"])
        negative |= match["behind"] is not None
    if len(prefixes - {None}) > 1 or len(suffixes - {None}) > 1:
        return None
    if any(number[0] == "0" and number[1:2].isdigit() for number in numbers):
        return None  # R05 is a label, as 05 is
    if "R" in prefixes | suffixes and all(number.isdigit() for number in numbers):
        return None  # R1 is rather a region than a rand
    signs = {
        "prefix": next(iter(prefixes - {None}), None),
        "suffix": next(iter(suffixes - {None}), None),
    }
    tried = []
    for decimal, thousands in _separators(numbers, decimal_comma=decimal_comma):
        every = {"decimal": decimal, "thousands": thousands, **signs}
        given = {
            name: value
            for name, value in every.items()
            if value is not None and (name, value) != ("decimal", ".")
        }
        if not given and (negative or any(in_brackets)):
            # a minus behind the number and brackets are read in every format, but not without one
            given = {"thousands": ","}
        if not given:
            continue
        form = NumberFormat.model_validate(given)
        if all(form.plain(text.strip(BLANKS)) is not None for text in texts):
            ordered: dict[str, Any] = {
                name: given[name]
                for name in ("prefix", "suffix", "decimal", "thousands")
                if name in given
            }
            tried.append((ordered, form))
    if not tried:
        return None
    settings, form = tried[0]
    question = None
    if (
        len(tried) > 1
        and any("decimal" in each for each, _ in tried)
        and not settings.get("prefix")
    ):
        question = "Is the comma in 1,234 a decimal comma or does it separate thousands?"
    if by_points and settings.get("thousands") == ".":
        question = "Does the point in 1.234 separate thousands, or is it a decimal point?"
    return Reading(settings, lambda text: _as_number(form, text), question)


def _has_thousands_by_points(texts: Sequence[str]) -> bool:
    """Whether every point stands before three digits, as in 1.234, and one stands somewhere."""
    return any("." in text for text in texts) and all(
        _BY_POINTS.fullmatch(text.strip(BLANKS)) for text in texts
    )


def _common_unit(texts: Sequence[str]) -> str | None:
    """What stands behind the last digit of every text, with a blank before it if there is one:
    a unit that need not be known. None where texts differ, or are too few to tell.

    >>> _common_unit([f"{size},5 g/dl" for size in range(9)])
    ' g/dl'
    """
    if len(texts) < _LEAST_CODES or all(_SIGNED.fullmatch(text.strip(BLANKS)) for text in texts):
        return None
    found = {(_UNIT_BEHIND.search(text.strip(BLANKS)) or [None])[0] for text in texts}
    return found.pop() if len(found) == 1 else None


def signs_of(texts: Sequence[str]) -> set[str]:
    """The currencies and units that stand beside numbers, if nearly all texts are numbers; else
    none.
    """
    matches = [_SIGNED.fullmatch(text.strip(BLANKS)) for text in texts]
    found = [match for match in matches if match is not None]
    if len(found) < 0.95 * len(texts):
        return set()
    return {sign for match in found for sign in (match["prefix"], match["suffix"]) if sign}


def is_numeric(text: str) -> bool:
    """Whether a text looks like a number in some format."""
    return _SIGNED.fullmatch(text.strip(BLANKS)) is not None or read_number(text) is not None


def _as_number(form: NumberFormat, text: str) -> float | None:
    plain = form.plain(text.strip(BLANKS))
    return None if plain is None else read_number(plain)


def _separators(numbers: Sequence[str], *, decimal_comma: bool) -> list[tuple[str, str | None]]:
    """Signs for decimals and thousands that may be meant, the likeliest first."""
    used = {sign for number in numbers for sign in number if not sign.isdigit()}
    blank = next((sign for sign in BLANKS + "'’" if sign in used), None)
    if blank is not None:
        return [(",", blank), (".", blank)] if "," in used else [(".", blank)]
    if used >= {".", ","}:
        last = max(numbers, key=lambda number: ("." in number) + ("," in number))
        return [(",", ".")] if last.rfind(",") > last.rfind(".") else [(".", ",")]
    if used == {","}:
        return [(",", None), (".", ",")] if decimal_comma else [(".", ","), (",", None)]
    if used == {"."} and decimal_comma:
        return [(",", "."), (".", None)]
    return [(".", None)]


def clock_unit(texts: Sequence[str]) -> ClockUnit | None:
    """Minutes or seconds, if all texts are times of day or durations; `5m` alone may be metres."""
    if not any(_CLOCKLIKE.search(text) for text in texts):
        return None
    units: tuple[ClockUnit, ...] = ("minutes", "seconds")
    for unit in units:
        form = NumberFormat(clock=unit)
        if all(form.plain(text) is not None for text in texts):
            return unit
    return None


def date_format(texts: Sequence[str], *, day_first: bool | None = None) -> Reading | None:
    """The format in which all texts are dates or times; ISO needs none.

    Args:
        texts: Different texts of a column.
        day_first: What is known from elsewhere of the order of day and month.

    >>> date_format(["31/12/2024", "01/02/2024"]).settings
    {'type': 'date', 'format': '%d/%m/%Y'}
    """
    if all(read_day(text) is not None for text in texts):
        return Reading({"type": "date"}, lambda text: _day(read_day(text)))
    moments = [read_moment(text) for text in texts]
    if all(moment is not None for moment in moments):
        zoned = {moment.is_zoned for moment in moments if moment is not None}
        if len(zoned) == 1:
            settings = (
                {"type": "datetime", "timezone": "UTC"} if zoned == {True} else {"type": "datetime"}
            )
            return Reading(settings, lambda text: _wall(read_moment(text)))
    if all(_COMPACT_DAY.fullmatch(text) for text in texts):
        found = ["%Y%m%d"] if all(read_by_format(text, "%Y%m%d") for text in texts) else []
    else:
        found = [form for form in _DAYS if _reads_all(form, texts)]
        found = found or [
            day + time
            for day in (*_DAYS, "%Y-%m-%d")
            for time in _TIMES
            if _reads_all(day + time, texts)
        ]
    if not found:
        return None
    day_forms = [form for form in found if form.startswith("%d")]
    month_forms = [form for form in found if form.startswith(("%m", "%b", "%B"))]
    question = None
    chosen = found[0]
    if day_forms and month_forms:
        chosen = month_forms[0] if day_first is False else day_forms[0]
        question = (
            None
            if day_first is not None
            else "Is 01/02 the first of February (day first) or the second of January?"
        )
    kind = "datetime" if any(mark in chosen for mark in ("%H", "%I")) else "date"
    return Reading(
        {"type": kind, "format": chosen}, lambda text: read_by_format(text, chosen), question
    )


def shapes_of(texts: Sequence[str]) -> list[str]:
    """How texts are written, the most frequent way first, without what they say.

    >>> shapes_of(["2024-03-01", "2024-12-31", "01.03.2024", "1 Mar 2024"])
    ['9999-99-99', '99.99.9999', '9 Abc 9999']
    """
    counted = Counter(
        re.sub(r"[^\W\d_]+", "Abc", re.sub(r"\d", "9", text.strip(BLANKS))) for text in texts
    )
    return [shape for shape, _ in counted.most_common()]


def ways_of_dates(texts: Sequence[str]) -> list[Callable[[str], bool]]:
    """Tests of what is a date, one for each way in which many of the texts are written, the most
    frequent first.

    >>> [way("01.03.2024") for way in ways_of_dates(["2024-03-01", "2024-12-31", "01.03.2024"])]
    [False, True]
    """

    def iso(*, is_zoned: bool) -> Callable[[str], bool]:
        def test(text: str) -> bool:
            moment = read_moment(text)
            return moment is not None and moment.is_zoned == is_zoned

        return test

    def by(form: str, *, is_timed: bool) -> Callable[[str], bool]:
        def test(text: str) -> bool:
            day = _CLOCK_BEHIND.sub("", text)
            return (day != text) == is_timed and read_by_format(day, form) is not None

        return test

    tests = [iso(is_zoned=False), iso(is_zoned=True)]
    tests += [by(form, is_timed=is_timed) for form in _DAYS for is_timed in (False, True)]
    ways = []
    rest = list(texts)
    while rest:
        some = rest[:_TRIED]
        counts = [sum(map(test, some)) for test in tests]
        best = tests[counts.index(max(counts))]
        if max(counts) <= _LEAST_OF_A_WAY * len(some):
            break
        ways.append(best)
        rest = [text for text in rest if not best(text)]
    return ways


def _reads_all(form: str, texts: Sequence[str]) -> bool:
    # a few first: most formats fail at once
    return all(read_by_format(text, form) is not None for text in texts[:20]) and all(
        read_by_format(text, form) is not None for text in texts
    )


def _day(days: int | None) -> datetime | None:
    return None if days is None else datetime(1970, 1, 1) + timedelta(days=days)  # noqa: DTZ001


def _wall(moment: Any) -> datetime | None:
    return (
        None
        if moment is None
        else datetime(1970, 1, 1) + timedelta(microseconds=moment.microseconds)  # noqa: DTZ001
    )
