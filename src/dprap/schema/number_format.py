"""How the numbers of a column are written in text: signs of currency, separators, percent signs,
clocks.

A format is declared, for one column or for the whole file, and each text is read by it alone. So
the format is public knowledge like the rest of the schema, and no record changes how another one is
read.

Currency and percent signs may be left out of a text, and so may separators of thousands: `€ 1,234`,
`€1234` and `1234` mean the same. Where a separator stands, it must separate thousands: with
`thousands: "."` the text `1.5` is unreadable rather than fifteen. A minus may stand in front,
behind, or be written as brackets.

Clocks are times of day, `7:05`, `07:05:30` or `7:05 PM`, and durations, `31:45:00`, `2h 5m` or `1
day, 7:45:00`.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import StrictStr, model_validator

from dprap.array_types import Int64
from dprap.schema.columns.base import Part, require_texts

ClockUnit: TypeAlias = Literal["minutes", "seconds"]

# Blanks that programs put between thousands, or between a number and its sign: space, no-break and
# narrow no-break.
BLANKS = " \u00a0\u202f"
_BLANK = f"[{BLANKS}]?"
_MINUS = "\u2212-"  # the hyphen last, where it is no range of a pattern
_DAYS = r"(?:([0-9]{1,6}) ?d(?:ays?)?,? ?)?"
_CLOCK = re.compile(
    _DAYS + r"([+-]?)([0-9]{1,9}):([0-5][0-9])(?::([0-5][0-9]))?(?: ?([AaPp])\.?[Mm]\.?)?", re.ASCII
)
_UNITS = re.compile(
    r"(?=.)" + _DAYS + r"(?:([0-9]{1,9}) ?h)?(?: ?([0-9]{1,9}) ?m(?:in)?)?(?: ?([0-9]{1,9}) ?s)?",
    re.ASCII,
)


class NumberFormat(Part):
    """The form in which a column of numbers is written as text.

    >>> NumberFormat(prefix="€", thousands=",").plain("€23,775.41")
    '23775.41'
    >>> NumberFormat(decimal=",", suffix="%").plain("82,7 %")
    '82.7'
    >>> NumberFormat(thousands=".", decimal=",").plain("1.5") is None
    True
    """

    decimal: StrictStr = "."
    thousands: StrictStr | None = None
    prefix: StrictStr | None = None
    suffix: StrictStr | None = None
    clock: ClockUnit | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.decimal) != 1 or self.decimal.isalnum() or self.decimal in "+-(":
            raise ValueError("format: decimal is one sign, such as a comma")
        if self.thousands is not None and (
            len(self.thousands) != 1 or self.thousands.isalnum() or self.thousands in "+-("
        ):
            raise ValueError("format: thousands is one sign, such as a point, a comma or a blank")
        if self.decimal == self.thousands:
            raise ValueError(
                "format: decimal and thousands are the same sign. Give two, or one of them"
            )
        for sign in (self.prefix, self.suffix):
            if sign is not None and (not sign.strip(BLANKS) or re.search(r"[0-9]", sign)):
                raise ValueError(
                    "format: prefix and suffix are signs without digits, such as € or %"
                )
        require_texts(sign for sign in (self.prefix, self.suffix) if sign)
        alone = (self.decimal, self.thousands, self.prefix, self.suffix) == (".", None, None, None)
        if self.clock is not None and not alone:
            raise ValueError("format: a clock stands alone: clock: minutes or clock: seconds")
        if self.clock is None and alone:
            raise ValueError(
                "format: says nothing. Give decimal, thousands, prefix, suffix or clock, or leave"
                " it out"
            )
        return self

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        def optional(sign: str | None) -> str:
            return "" if sign is None else f"(?:{re.escape(sign.strip(BLANKS))})?"

        groups = ""
        if self.thousands is not None:
            separator = f"[{BLANKS}]" if self.thousands in BLANKS else re.escape(self.thousands)
            # 1,234,567 and, as India writes it, 12,34,567
            groups = f"[0-9]{{1,3}}(?:{separator}[0-9]{{2,3}})*{separator}[0-9]{{3}}|"
        point = re.escape(self.decimal)
        number = (
            f"(?:(?P<whole>{groups}[0-9]+)(?:{point}(?P<part>[0-9]*))?|{point}(?P<only>[0-9]+))"
        )
        prefix, suffix = optional(self.prefix), optional(self.suffix)
        inner = f"(?P<sign2>[+{_MINUS}]?){_BLANK}{number}(?P<power>[eE][+-]?[0-9]+)?{_BLANK}{suffix}(?P<sign3>[{_MINUS}]?)"
        signed = f"(?P<sign1>[+{_MINUS}]?){_BLANK}{prefix}{_BLANK}{inner}"
        return re.compile(f"(?P<open>\\(?){_BLANK}{signed}{_BLANK}(?P<close>\\)?)")

    def plain(self, text: str) -> str | None:
        """The same number in plain ASCII digits with a point, or None where the text is none in
        this format.
        """
        if self.clock is not None:
            seconds = _read_clock(text)
            if seconds is None or (self.clock == "minutes" and seconds % 60):
                return None
            return str(seconds // 60 if self.clock == "minutes" else seconds)
        match = self._pattern.fullmatch(text)
        if match is None or bool(match["open"]) != bool(match["close"]):
            return None
        signs = match["sign1"] + match["sign2"] + match["sign3"]
        if len(signs) > 1 or (match["open"] and signs):
            return None
        whole = re.sub(r"[^0-9]", "", match["whole"] or "") or "0"
        part = match["part"] or match["only"] or ""
        minus = "-" if match["open"] or (signs and signs in _MINUS) else ""
        return f"{minus}{whole}{'.' if part else ''}{part}{match['power'] or ''}"

    def written(self, text: str) -> str:
        """A plain number, `-1234.5`, in this format: `-€1,234.5`."""
        if self.clock is not None:
            return self._as_clock(int(float(text)))
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        whole, point, part = digits.partition(".")
        if self.thousands is not None and whole.isdigit():
            whole = f"{int(whole):,}".replace(",", self.thousands)
        return f"{sign}{self.prefix or ''}{whole}{self.decimal if point else ''}{part}{self.suffix or ''}"

    def _as_clock(self, number: int) -> str:
        sign, size = ("-", -number) if number < 0 else ("", number)
        if self.clock == "minutes":
            return f"{sign}{size // 60:02d}:{size % 60:02d}"
        return f"{sign}{size // 3600:02d}:{size // 60 % 60:02d}:{size % 60:02d}"


def _read_clock(text: str) -> int | None:
    """A time of day or a duration in seconds.

    >>> _read_clock("1:05"), _read_clock("1:05 PM"), _read_clock("12:00 am"), _read_clock("2h 5m")
    (3900, 47100, 0, 7500)
    >>> _read_clock("2 days 01:00:00"), _read_clock("1d 2h"), _read_clock("1 day, 1:05 PM")
    (176400, 93600, None)
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        units = _UNITS.fullmatch(text)
        if units is None:
            return None
        days, hours, minutes, seconds = (int(part or "0") for part in units.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    with_days, sign, hour, half = (
        match[1] is not None,
        match[2],
        int(match[3]),
        (match[6] or "").lower(),
    )
    if with_days and sign:
        return None
    if half:
        if with_days or sign or not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = ((int(match[1] or "0") * 24 + hour) * 60 + int(match[4])) * 60 + int(match[5] or "0")
    return -seconds if sign == "-" else seconds


def number_texts(
    values: pa.Array | pa.ChunkedArray, decimals: int | None, form: NumberFormat | None
) -> pa.Array:
    """Numbers of an Arrow array as texts: with so many decimals, or the fewest that give the same
    float64.

    In a format numbers are written without an exponent, which most formats do not have.
    """
    decimals = None if decimals is None else max(decimals, 0)
    if pa.types.is_decimal(values.type) or pa.types.is_integer(values.type):
        plain = [
            None if each is None else f"{each:f}" if decimals is None else f"{each:.{decimals}f}"
            for each in values.to_pylist()
        ]
    elif decimals is not None:
        plain = [None if each is None else f"{each:.{decimals}f}" for each in values.to_pylist()]
    elif form is None:
        plain = [None if each is None else repr(each) for each in values.to_pylist()]
    else:
        plain = [
            None if each is None else np.format_float_positional(each, trim="-")
            for each in values.to_pylist()
        ]
    return pa.array(
        [text if text is None or form is None else form.written(text) for text in plain],
        pa.string(),
    )


def whole_texts(
    values: Int64[np.ndarray, " records"], is_null: np.ndarray, form: NumberFormat
) -> pa.Array:
    """Whole numbers as texts in a format."""
    texts = {int(value): form.written(str(int(value))) for value in np.unique(values)}
    return pa.array([texts[int(value)] for value in values], pa.string(), mask=is_null)
