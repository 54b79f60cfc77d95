"""One text, read strictly: only plain forms of numbers, ISO dates and times; anything else is None.

A text is read alone. The forms are those of ASCII: no spaces, no thousands separators, no other
digits.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import pyarrow as pa

from dprap.schema.values import Moment

_WHOLE = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_TIME = re.compile(
    r"[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(.*)", re.ASCII | re.DOTALL
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})(?::?([0-9]{2}))?", re.ASCII)
_PERIOD = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?", re.ASCII)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MAX_DIGITS = 19  # of int64; more of them are beyond every bound


def read_whole(text: str) -> int | None:
    """A whole number, also as floats print it (12.0).

    One with more digits than int64 becomes one just beyond it.

    >>> read_whole("-007"), read_whole("12.0"), read_whole("1e3"), read_whole("")
    (-7, 12, None, None)
    """
    match = _WHOLE.fullmatch(text)
    if match is None:
        return None
    sign, digits = match[1], match[2].lstrip("0")
    size = 10**_MAX_DIGITS if len(digits) > _MAX_DIGITS else int(digits or "0")
    return -size if sign == "-" else size


def read_number(text: str) -> float | None:
    """A decimal number with or without an exponent as the nearest float64; beyond float64 it is
    infinite.

    >>> read_number("1e400"), read_number(".5"), read_number("inf"), read_number("1,5")
    (inf, 0.5, None, None)
    """
    return float(text) if _NUMBER.fullmatch(text) else None


def read_day(text: str) -> int | None:
    """An ISO date as days since 1970. There is no year 0000, and no 30th of February.

    >>> read_day("1970-01-02"), read_day("2024-02-30"), read_day("0000-01-01")
    (1, None, None)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        return date(*(int(part) for part in match.groups())).toordinal() - _EPOCH_ORDINAL
    except ValueError:  # a day that does not exist
        return None


def read_period(text: str) -> tuple[date, date]:
    """First day of a day, a month or a year, and the first day after it; raises ValueError if the
    text is none of these.

    >>> [day.isoformat() for day in read_period("2024-12")]
    ['2024-12-01', '2025-01-01']
    """
    try:
        partial = _PERIOD.fullmatch(text)
        if partial is None:
            # Python's own reader takes the digits of every script
            first = date.fromisoformat(text if text.isascii() else "")
            return first, first + timedelta(days=1)
        year, month = int(partial[1]), partial[2]
        if month is None:
            return date(year, 1, 1), date(year + 1, 1, 1)
        first = date(year, int(month), 1)
        return first, (first + timedelta(days=31)).replace(day=1)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def read_moment(text: str) -> Moment | None:
    """An ISO date, alone or with a time of day; digits of a second after the sixth are cut off.

    Zoned is a text that ends in Z or an offset. There are no leap seconds and no 24:00.

    >>> read_moment("1970-01-01 00:00:01"), read_moment("1970-01-01T01:00+01:00")
    (Moment(microseconds=1000000, is_zoned=False), Moment(microseconds=0, is_zoned=True))
    """
    days = read_day(text[:10])
    if days is None or len(text) == 10:
        return None if days is None else Moment(days * 86_400 * 10**6, is_zoned=False)
    match = _TIME.fullmatch(text[10:])
    if match is None:
        return None
    hour, minute, second = (int(part or "0") for part in match.group(1, 2, 3))
    if hour > 23 or minute > 59 or second > 59:
        return None
    microseconds = (days * 86_400 + hour * 3600 + minute * 60 + second) * 10**6
    microseconds += int((match[4] or "")[:6].ljust(6, "0"))
    if not match[5]:
        return Moment(microseconds, is_zoned=False)
    offset = read_offset(match[5])
    return None if offset is None else Moment(microseconds - offset, is_zoned=True)


def read_offset(text: str) -> int | None:
    """Z or a UTC offset below a day, such as +05:30, +0530 or -00:44:30, in microseconds."""
    if text == "Z":
        return 0
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = (int(part or "0") for part in match.group(2, 3, 4))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    size = (hours * 3600 + minutes * 60 + seconds) * 10**6
    return -size if match[1] == "-" else size


def read_by_format(text: str, form: str, *, last_year: int | None = None) -> datetime | None:
    """A date or a time in a form of Python's `strptime`.

    Args:
        text: The text.
        form: The form.
        last_year: Years of two digits (`%y`) lie in the hundred years that end with this one.
            Python would always take 1969 to 2068, and let people who were born in 1935 be born in
            2035.

    >>> read_by_format("31/12/35", "%d/%m/%y", last_year=2030).year
    1935
    """
    try:
        found = datetime.strptime(text, form)  # noqa: DTZ007 - whether there is a zone is the column's question
        if last_year is None or not has_short_years(form):
            return found
        return found.replace(year=last_year - (last_year - found.year) % 100)
    except (ValueError, OverflowError):  # also the 29th of February of a year that has none
        return None


def has_short_years(form: str) -> bool:
    """Whether a form writes years with two digits.

    >>> has_short_years("%d.%m.%y"), has_short_years("%d.%m.%Y"), has_short_years("%Y%%y")
    (True, False, False)
    """
    return "%y" in form.replace("%%", "")


def written(array: pa.Array | pa.ChunkedArray, form: str | None) -> pa.Array:
    """Dates or times of an Arrow array as texts, in a form of Python's `strftime` or else in ISO
    form.
    """
    texts = [
        None if each is None else each.strftime(form) if form else _iso(each)
        for each in array.to_pylist()
    ]
    return pa.array(texts, pa.string())


def _iso(at: date | datetime) -> str:
    """A day or a time in ISO form, without digits of milliseconds or microseconds that are zero.

    >>> _iso(datetime(2024, 12, 31, 18, 30, 0, 250_000))
    '2024-12-31T18:30:00.250'
    """
    return re.sub(r"(\.[0-9]{3})000", r"\1", at.isoformat())


def format_problem(form: str, bounds: tuple[date | datetime, ...]) -> str | None:
    """Why a format cannot stand in a schema: it must write days so that reading gives the same day
    back.

    The days are the bounds and one whose month and day are no defaults.
    """
    for bound in (*bounds, *(each.replace(month=11, day=23) for each in bounds)):
        try:
            again = read_by_format(bound.strftime(form), form, last_year=bounds[-1].year)
        except (ValueError, OverflowError, re.error, IndexError, KeyError, TypeError):
            again = None
        if again is None:
            return (
                "format: cannot be read. Use the directives of Python's strptime, each at most once"
            )
        if has_short_years(form) and again.year != bound.year:
            return (
                "format: years of two digits tell a hundred years apart, and min and max lie"
                " further apart"
            )
        if (again.year, again.month, again.day) != (bound.year, bound.month, bound.day):
            return "format: loses a part of the date. Give year, month and day, such as %d.%m.%Y"
        has_offset = isinstance(bound, datetime) and bound.tzinfo is not None
        if has_offset != (again.tzinfo is not None):
            wanted = (
                "%z, because the column has a timezone"
                if has_offset
                else "no %z, or declare a timezone"
            )
            return f"format: needs {wanted}"
    return None
