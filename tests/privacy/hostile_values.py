"""Values that have broken readers of tables, by kind: at least a hundred, for every test of
encoding.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa

from dprap.schema import Schema

BERLIN = ZoneInfo("Europe/Berlin")


class Shade(enum.Enum):
    DARK = 1


class Level(enum.IntEnum):
    LOW = 1


class Label(str):
    __slots__ = ()


class BrokenZone(dt.tzinfo):
    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        raise RuntimeError("no offset")


class Liar:
    """Says that it is text, and is not."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str


class Unequal:
    """Cannot be compared, hashed or shown."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, _: object) -> bool:
        raise RuntimeError("not comparable")

    def __repr__(self) -> str:
        raise RuntimeError("not shown")


TEXTS = [
    "", " ", "0", "1", "7", "-0", "+5", " 4", "007", "1.", "1.0", "12.000", "12.5", ".5", ".", "-", "+", "1e3", "1E400", "-1e400",
    "1e-400", "1e99999999999", "5e-324", "1.7976931348623157e308", "1.8e308", "0.30000000000000004", "9" * 18, "9" * 19,
    "-9223372036854775808", "9223372036854775808", "9" * 40, "9" * 5000, "1" + "0" * 4000, "0" * 5000 + "7", "nan", "NaN",
    "NULL", "None", "inf", "-Infinity", "0x1F", "1_000", "1,5", "1 000", "\u0661\u0662", "\uff11", "true", "True", "TRUE", "false",
    "yes", "\x00", "1\x00", "1\n", "\n1", "1\r\n", "Rome", "rome", "Rome ", "\u00e9", "e\u0301", "\U0001f600", "\ufeff1",
    "2024-02-29", "2023-02-29", "2024-02-30", "2024-04-31", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01",
    "-0044-03-15", "+2024-01-01", "2024-1-1", "2024-13-01", "2024-00-10", "2024-01-00", "20240101", "2024-W01-1",
    "2024-01-01T00:00:00", "2024-01-01 12:30", "2024-06-30 23:59:60", "2016-12-31T23:59:60Z", "2024-01-01 24:00:00",
    "2024-01-01T12:60:00", "2024-01-01T00:00:00.1", "2024-01-01T00:00:00.123456789", "2024-01-01T00:00:00.1234567890",
    "2024-01-01T00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01T00:00:00+05:30", "2024-01-01 00:00:00-0800",
    "2024-01-01T00:00:00-00:44:30", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+23:60", "2024-01-01T00:00:00+99:99",
    "2024-01-01T00:00:00.5+01:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-12-31T23:00:00-02:00",
    "2024-02-30T00:00:00Z", "2024-01-01Z", "31.12.2024", "29.02.2023", "1.1.2024", "€1,234.50", "-€5", "€-5", "(€5.00)", "1,234", "1.234", "12,5 %", "1 234,5", "1\u202f234",
    "82,7", "12:34", "12:60", "-1:05", "12:34:56", "12:34:00", "N", "99", "\u22125", "x'; --", '"', "a,b", "z" * 10_000,
]  # fmt: skip
"""Texts that every container can carry."""

BROKEN_TEXTS = ["\ud800", "1\udcff", "2024-01-0\ud800", "Rome\udfff"]
"""Texts with lone surrogates, which only Python can hold."""

WHOLE = [0, 1, -1, 7, 120, 121, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63 - 1024, -(2**63)]
HUGE = [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**26, 10**4000, -(10**4000)]
FLOATS = [
    0.0, -0.0, 1.0, 2.5, 7.0, 0.1, 5e-324, 1e308, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"),
    2.0**53 + 2, 2.0**63, -(2.0**63), 9223372036854774784.0, 1e300, 120.00000000000001,
]  # fmt: skip
DECIMALS = [
    Decimal(text)
    for text in (
        "3", "3.0", "-0", "0.1", "2.5", "1E+3", "7.000", "120.0000000000000001", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "99999999999999999999999999999999999999", "0.30000000000000004441", "1.10",
    )
]  # fmt: skip
WIDE_DECIMALS = [
    Decimal(text)
    for text in ("1E+400", "-1E+400", "1E-400", "1E+999999", "1E-999999", "Infinity", "-Infinity")
]
NO_DECIMALS = [Decimal("NaN"), Decimal("sNaN"), Decimal("-NaN123")]
DAYS = [
    dt.date(1, 1, 1),
    dt.date(9999, 12, 31),
    dt.date(2024, 2, 29),
    dt.date(1970, 1, 1),
    dt.date(2024, 12, 31),
]
WALL_TIMES = [
    dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), dt.datetime(2024, 2, 29, 23, 59, 59, 999_999), dt.datetime(1969, 12, 31, 23, 59),  # noqa: DTZ001
    dt.datetime(2024, 10, 27, 2, 30, fold=1),  # noqa: DTZ001
]  # fmt: skip
INSTANTS = [
    dt.datetime(2024, 3, 1, tzinfo=dt.UTC),
    dt.datetime(2024, 10, 27, 2, 30, fold=0, tzinfo=BERLIN),
    dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
    dt.datetime(2024, 3, 31, 2, 30, tzinfo=BERLIN),
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=23, minutes=59))),
    dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(-dt.timedelta(hours=23, minutes=59))),
    dt.datetime(9999, 12, 31, 23, tzinfo=BERLIN),
    dt.datetime(1890, 1, 1, tzinfo=BERLIN),
]
NUMPY = [
    np.bool_(1), np.int8(-1), np.int16(7), np.int32(7), np.int64(2**62), np.uint8(7), np.uint64(2**64 - 1), np.float16(2.5),
    np.float32(0.1), np.float64(7.0), np.longdouble("1e400"), np.longdouble(7), np.float32("nan"), np.float32("inf"),
    np.str_("Rome"), np.str_("7"), np.bytes_(b"7"), np.complex128(7), np.datetime64("NaT"), np.timedelta64("NaT"),
    np.timedelta64(7, "s"), np.datetime64("2024-03-01"), np.datetime64("2024-03"), np.datetime64("2024"),
    np.datetime64("2024-03-01T12", "h"), np.datetime64("2024-03-01T12:30:15.123456789", "ns"),
    np.datetime64("-0044-03-15"), np.datetime64("0000-01-01"), np.datetime64(2**62, "s"), np.datetime64(-(2**62), "D"),
    np.datetime64(10**18, "as"), np.datetime64(2800, "W"), np.ma.masked, np.array(7), np.array([7]), np.array(["Rome", "Oslo"]),
]  # fmt: skip
PANDAS = [
    pd.NA, pd.NaT, pd.Timestamp("2024-03-01"), pd.Timestamp("2024-03-01T12:00:00.123456789"),
    pd.Timestamp("2024-03-01", tz="Asia/Kolkata"), pd.Timestamp(np.datetime64("12000-01-01", "s")),
    pd.Timedelta(7, "s"), pd.Period("2024-03"), pd.Interval(0, 1),
]  # fmt: skip
ARROW = [
    pa.scalar(7), pa.scalar(None), pa.scalar(None, pa.string()), pa.scalar("Rome", pa.string_view()), pa.scalar(b"7"),
    pa.scalar(2**62, pa.timestamp("s")), pa.scalar(2**62, pa.timestamp("ns", "UTC")), pa.scalar(-(2**31), pa.date32()),
    pa.scalar(Decimal("7.0")), pa.scalar([7]), pa.array(["7"]).dictionary_encode()[0], pa.scalar(value=True),
]  # fmt: skip
OBJECTS = [
    None, True, False, b"7", b"Rome", bytearray(b"7"), memoryview(b"7"), [7], (7,), {"a": 7}, {7}, frozenset({7}), object(), int,
    len, range(7), Ellipsis, NotImplemented, 7j, Fraction(7), Fraction(5, 2), dt.time(12), dt.timedelta(days=7), Shade.DARK,
    Level.LOW, Label("Rome"), uuid.UUID(int=7), BERLIN, dt.datetime(2024, 3, 1, tzinfo=BrokenZone()), Liar(), Unequal(),
]  # fmt: skip

HOSTILE: list[Any] = [
    *TEXTS, *BROKEN_TEXTS, *WHOLE, *HUGE, *FLOATS, *DECIMALS, *WIDE_DECIMALS, *NO_DECIMALS, *DAYS, *WALL_TIMES, *INSTANTS, *NUMPY,
    *PANDAS, *ARROW, *OBJECTS,
]  # fmt: skip

_TOTAL = {"nullable": True, "out_of_domain": "null"}
_CLIP = {"nullable": True, "out_of_domain": "clip"}
TOTAL_SCHEMA = Schema.of(
    {
        "null_values": ["<null>"],
        "columns": {
            "integer": {"type": "integer", "min": -5, "max": 120, **_TOTAL},
            "clipped": {"type": "integer", "min": -5, "max": 120, "width": 7, **_CLIP},
            "far": {"type": "integer", "edges": [-(2**62), -3, 0, 2**53 + 1, 2**62], **_TOTAL},
            "number": {"type": "number", "edges": [0, 0.1, 0.3, 2.5, 7, 120], **_TOTAL},
            "extreme": {"type": "number", "edges": [-8e307, -1, 0, 5e-324, 0.1, 2.0**53, 8e307], **_CLIP},
            "city": {"type": "categorical", "values": ["Rome", "", "7", "True", "é", "2024-02-29", "NaN"], "other": "x", "nullable": True},
            "lost": {"type": "categorical", "values": ["Rome", "x'; --", "\x00"], "other": "1"},
            "code": {"type": "categorical", "values": [0, 1, 7, 2**63 - 1, 2**63 - 1024, -(2**63)], **_TOTAL},
            "flag": {"type": "boolean", "true_values": ["true", "1"], **_TOTAL},
            "day": {"type": "date", "min": "2024-01-01", "max": "2024-12-31", "unit": "month", **_TOTAL},
            "any_day": {"type": "date", "min": "0001-01-01", "max": "9999-12-31", "unit": "year", **_CLIP},
            "written": {"type": "date", "min": "2024-01-01", "max": "2024-12-31", "format": "%d.%m.%Y", **_TOTAL},
            "wall": {"type": "datetime", "min": "0001-01-01T00:00:00", "max": "9999-12-31T23:59:59", "unit": "year", **_TOTAL},
            "zoned": {"type": "datetime", "min": "2024-01-01T00:00:00", "max": "2024-12-31T00:00:00", "unit": "hour",
                      "timezone": "Europe/Berlin", **_TOTAL},
            "stamped": {"type": "datetime", "min": "2024-01-01T00:00:00", "max": "2024-12-31T00:00:00",
                        "timezone": "UTC", "format": "%Y-%m-%dT%H:%M:%S%z", **_CLIP},
            "price": {"type": "number", "edges": [-60, 0, 0.1, 2.5, 7, 2000], "format": {"prefix": "€", "thousands": ","}, **_TOTAL},
            "comma": {"type": "number", "edges": [-60, 0, 2, 7, 2000], "format": {"decimal": ",", "thousands": " ", "suffix": "%"}, **_CLIP},
            "stop": {"type": "integer", "min": 0, "max": 1440, "width": 60, "format": {"clock": "minutes"}, **_TOTAL},
            "rated": {"type": "integer", "min": 0, "max": 10, "null_values": ["7", "-1", "007", "N"], **_CLIP},
            "marked": {"type": "number", "edges": [-2, 0, 3, 9], "null_values": ["7", "1", "Rome"], **_TOTAL},
            "spoken": {"type": "categorical", "values": ["rome", "true"], "other": "x", "null_values": ["Rome", "yes"], "nullable": True},
        },
    }
)  # fmt: skip
"""Every type of column and every total policy; the members stand where the hostile values are."""
