"""What texts look like: formats of numbers and dates, clocks, markers of missing values, and things that name a person.

For drafts and for the causes that a check gives, both for the steward's eyes alone. Nothing here reads records for a
release: what is recognised must be declared in the schema first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dprap.schema.number_format import BLANKS, NumberFormat
from dprap.schema.texts import read_by_format, read_day, read_moment, read_number

NULL_MARKERS = frozenset(
    ("", "?", "-", "--", ".", "..", "na", "n/a", "#n/a", "#na", "nan", "null", "none", "nil", "missing", "(missing)", "<na>", "k.a.", "s/o",
     "not available", "not applicable", "n.d.", "nd", "nr", "#null!", "#value!", "\\n")
)  # fmt: skip
"""Texts that usually mean that a value is missing, in small letters."""

_BOOLEANS = (
    ("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"), ("nein", "ja"), ("non", "oui"), ("no", "si"), ("no", "sí"),
    ("não", "sim"), ("nee", "ja"), ("nej", "ja"), ("nie", "tak"), ("нет", "да"), ("wrong", "right"), ("absent", "present"), ("negative", "positive"),
)  # fmt: skip

_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y",
         "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%Y.%m.%d")  # fmt: skip
_TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S", " %H:%M:%S.%f")
_COMPACT_DAY = re.compile(r"(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])")

_CURRENCY = (
    r"(?:[$€£¥₹₽₩₪₺฿]|[A-Z]{0,2}\$|kr\.?|Kč|zł|R|Fr\.?|USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|INR|BRL|AUD|CAD|HKD|CNY)"
)
_UNIT = r"(?:%|‰|°C?|km|kg|cm|mm|m|g|mg|ml|l|h|min|s|kWh|MB|GB)"
_SIGNED = re.compile(
    rf"\(?[+\-\u2212]?[{BLANKS}]?(?P<prefix>{_CURRENCY})?[{BLANKS}]?[+\-\u2212]?"
    rf"(?P<number>[0-9](?:[0-9.,'’{BLANKS}]*[0-9])?|[.,][0-9]+)[{BLANKS}]?(?P<suffix>{_CURRENCY}|{_UNIT})?\)?"
)

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{24,}")
_PHONE = re.compile(r"\+?\(?[0-9][0-9 ()./-]{6,18}[0-9]")
_PERSON = re.compile(r"[^\W\d_][\w.'’-]*(?:,? [^\W\d_][\w.'’()\"-]*){1,4}")


@dataclass(frozen=True)
class Reading:
    """How texts can be read: the settings of a column, and what only a person can tell."""

    settings: dict[str, Any]
    read: Callable[[str], Any]
    question: str | None = None


def null_markers(texts: Sequence[str]) -> list[str]:
    """Those of the texts that usually mean null."""
    return [text for text in texts if text.strip().lower() in NULL_MARKERS]


def boolean_words(texts: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Texts that mean false and texts that mean true, if these are all there are."""
    small = {text.strip().lower() for text in texts}
    for no, yes in _BOOLEANS:
        if small <= {no, yes} and len(small) == 2:
            return [t for t in texts if t.strip().lower() == no], [t for t in texts if t.strip().lower() == yes]
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
    if all(read_number(text) is not None for text in texts):
        return Reading({}, read_number)
    prefixes, suffixes, numbers = set(), set(), []
    for text in texts:
        match = _SIGNED.fullmatch(text.strip(BLANKS))
        if match is None:
            return None
        prefixes.add(match["prefix"])
        suffixes.add(match["suffix"])
        numbers.append(match["number"])
    if len(prefixes - {None}) > 1 or len(suffixes - {None}) > 1:
        return None
    signs = {"prefix": next(iter(prefixes - {None}), None), "suffix": next(iter(suffixes - {None}), None)}
    tried = []
    for decimal, thousands in _separators(numbers, decimal_comma=decimal_comma):
        every = {"decimal": decimal, "thousands": thousands, **signs}
        given = {
            name: value for name, value in every.items() if value is not None and (name, value) != ("decimal", ".")
        }
        if not given:
            continue
        form = NumberFormat.model_validate(given)
        if all(form.plain(text.strip(BLANKS)) is not None for text in texts):
            ordered: dict[str, Any] = {
                name: given[name] for name in ("prefix", "suffix", "decimal", "thousands") if name in given
            }
            tried.append((ordered, form))
    if not tried:
        return None
    settings, form = tried[0]
    question = None
    if len(tried) > 1 and any("decimal" in each for each, _ in tried) and not settings.get("prefix"):
        question = "Is the comma in 1,234 a decimal comma or does it separate thousands?"
    return Reading(settings, lambda text: _as_number(form, text), question)


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


def clock_unit(texts: Sequence[str]) -> str | None:
    """Minutes or seconds, if all texts are times of day or durations."""
    for unit in ("minutes", "seconds"):
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
            settings = {"type": "datetime", "timezone": "UTC"} if zoned == {True} else {"type": "datetime"}
            return Reading(settings, lambda text: _wall(read_moment(text)))
    if all(_COMPACT_DAY.fullmatch(text) for text in texts):
        found = ["%Y%m%d"] if all(read_by_format(text, "%Y%m%d") for text in texts) else []
    else:
        found = [form for form in _DAYS if _reads_all(form, texts)]
        found = found or [
            day + time for day in (*_DAYS, "%Y-%m-%d") for time in _TIMES if _reads_all(day + time, texts)
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
            None if day_first is not None else "Is 01/02 the first of February (day first) or the second of January?"
        )
    kind = "datetime" if any(mark in chosen for mark in ("%H", "%I")) else "date"
    return Reading({"type": kind, "format": chosen}, lambda text: read_by_format(text, chosen), question)


def _reads_all(form: str, texts: Sequence[str]) -> bool:
    # a few first: most formats fail at once
    return all(read_by_format(text, form) is not None for text in texts[:20]) and all(
        read_by_format(text, form) is not None for text in texts
    )


def _day(days: int | None) -> datetime | None:
    return None if days is None else datetime(1970, 1, 1) + _days(days)  # noqa: DTZ001


def _wall(moment: Any) -> datetime | None:
    from datetime import timedelta

    return None if moment is None else datetime(1970, 1, 1) + timedelta(microseconds=moment.microseconds)  # noqa: DTZ001


def _days(number: int) -> Any:
    from datetime import timedelta

    return timedelta(days=number)


_ID_NAMES = re.compile(
    r"(^|[_\s-])(id|uuid|guid|key|nr|no|number|ssn|mrn|iban|account|index|rownum|row)([_\s-]|$)|[a-z]Id$|ID$|^unnamed",
    re.IGNORECASE,
)
_PERSON_NAMES = re.compile(
    r"(^|[_\s-])(name|names|surname|firstname|lastname|fullname|first|last|nom|prenom|prénom|vorname|nachname|nombre|apellido|patient|author|owner)([_\s-]|$)",
    re.IGNORECASE,
)
_POSTCODE_NAMES = re.compile(r"zip|postcode|postal|plz|code_?post|\bcp\b|cap\b", re.IGNORECASE)
_ADDRESS_NAMES = re.compile(r"address|street|adresse|strasse|straße|rue", re.IGNORECASE)


def identifying(name: str, texts: Mapping[str, int], rows: int) -> str | None:
    """What makes a column of texts name or point to persons; None where nothing does.

    Args:
        name: The column's name.
        texts: Different texts and how often each was seen.
        rows: How many records have a text.

    """
    sample = list(texts)[:2000]

    def share(pattern: re.Pattern[str]) -> float:
        return sum(1 for text in sample if pattern.fullmatch(text.strip())) / max(1, len(sample))

    many = len(texts) > max(20, rows / 50)
    nearly_all = len(texts) > 0.5 * rows and rows >= 20
    for pattern, what in ((_EMAIL, "e-mail addresses"), (_URL, "web addresses"), (_UUID, "identifiers (UUID or hash)")):
        if share(pattern) > 0.8:
            return what
    if many and share(_PHONE) > 0.9 and any(not text.strip("+").isdigit() for text in sample):
        return "telephone numbers"
    if many and _ADDRESS_NAMES.search(name):
        return "postal addresses"
    words = sum(len(text.split()) for text in sample) / max(1, len(sample))
    if many and _PERSON_NAMES.search(name) and share(_PERSON) + share(re.compile(r"[^\W\d_][\w.'’-]*")) > 0.6:
        return "names of persons or things"
    if many and words >= 4:
        return "free text"
    if nearly_all and share(_PERSON) > 0.8:
        return "names: nearly every record has its own"
    if nearly_all:
        return "an identifier: nearly every record has its own value"
    if many and _ID_NAMES.search(name) and len(texts) > 0.1 * rows:
        return "an identifier, by its name and its many values"
    return None


def looks_like_id(name: str) -> bool:
    """Whether a column's name says that it holds identifiers."""
    return _ID_NAMES.search(name) is not None


def looks_like_postcode(name: str) -> bool:
    """Whether a column's name says that it holds postcodes."""
    return _POSTCODE_NAMES.search(name) is not None


_ORDERS = (
    ("very low", "low", "medium", "high", "very high"), ("none", "mild", "moderate", "severe"), ("low", "moderate", "high"),
    ("xs", "s", "m", "l", "xl", "xxl"), ("small", "medium", "large"), ("never", "rarely", "sometimes", "often", "always"),
    ("never", "seldom", "sometimes", "often", "very often", "always"), ("poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"), ("fair", "good", "very good", "premium", "ideal"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"),
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), ("first", "second", "third"),
)  # fmt: skip
_BRACKET = re.compile(r"\D*?([0-9]+(?:[.,][0-9]+)?).*")


def in_order(values: Sequence[str]) -> tuple[list[str], bool]:
    """The values in the order that they have among people, or by the alphabet; and whether there was an order."""
    small = [value.strip().lower() for value in values]
    for order in _ORDERS:
        if len(values) > 1 and set(small) <= set(order):
            return sorted(values, key=lambda value: order.index(value.strip().lower())), True
    brackets = [_BRACKET.fullmatch(value) for value in values]
    if len(values) > 2 and all(brackets) and any(not value.strip().isdigit() for value in values):
        starts = [float(match[1].replace(",", ".")) for match in brackets if match]
        if len(set(starts)) == len(starts) or sum(value.strip()[:1] in "<>≤≥" for value in values):
            below = [-1 if value.strip()[:1] in "<≤" else 0 for value in values]
            return [value for _, _, value in sorted(zip(starts, below, values, strict=True))], True
    return sorted(values), False
