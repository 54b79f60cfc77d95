"""Schemas that cannot be meant: one line each, whatever the numbers and dates in them."""

from __future__ import annotations

from typing import Any

import pytest

from dprap.encoding import Codes, decode, encode
from dprap.errors import SchemaError
from dprap.schema import Schema

FROM_TO = {"min": "2020-01-01", "max": "2024-01-01", "unit": "year"}
TIMES = {
    "type": "datetime",
    "min": "2020-01-01T00:00:00",
    "max": "2024-01-01T00:00:00",
    "unit": "year",
}


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"type": "date", **FROM_TO, "format": "%d%d%Y"}, "format: cannot be read"),
        ({"type": "date", **FROM_TO, "format": "%Q"}, "format: cannot be read"),
        ({"type": "date", **FROM_TO, "format": "%m.%Y"}, "format: loses a part"),
        ({"type": "date", **FROM_TO, "format": "%Y"}, "format: loses a part"),
        ({"type": "date", **FROM_TO, "min": "1920-01-01", "format": "%d.%m.%y"}, "format: years of two digits"),
        ({**TIMES, "timezone": "UTC", "format": "%Y-%m-%d %H:%M"}, "format: needs %z"),
        ({**TIMES, "format": "%Y-%m-%d %H:%M%z"}, "format: "),
        ({"type": "date", "min": "2024-02-30", "max": "2024-12-31"}, "min: "),
        ({"type": "date", "min": "0000-01-01", "max": "2024-12-31"}, "min: "),
        ({**TIMES, "min": "0001-01-01T00:00:00", "timezone": "Europe/Berlin"}, "years 2 to 9998"),
        ({**TIMES, "max": "9999-12-31T23:59:59-23:59", "timezone": "UTC"}, "years 2 to 9998"),
        ({"type": "integer", "min": 0, "max": 10**5000}, "max: "),
        ({"type": "integer", "min": 0, "max": 9, "bins": 10**5000}, "more than 10\\^15 bins"),
        ({"type": "integer", "min": 0, "max": 9, "bins": 2, "decode": "representative", "representatives": [1, 10**26]}, "represent"),
        ({"type": "number", "min": 0, "max": 10**400, "bins": 2}, "max: "),
        ({"type": "number", "min": -1.7e308, "max": 1.7e308, "bins": 2}, "min: "),
        ({"type": "number", "min": 0, "max": 8e307, "bins": 2, "decimals": 15}, "decimals: too many"),
        ({"type": "number", "min": 0, "max": 9, "bins": 10**400}, "more than 10\\^15 bins"),
        ({"type": "categorical", "values": [10**5000]}, "."),
        ({"type": "categorical", "values": ["\ud800"]}, "lone surrogate"),
        ({"type": "boolean", "true_values": ["\ud800"]}, "lone surrogate"),
        ({"type": "boolean", "null_values": ["\ud800"]}, "lone surrogate"),
    ],
)  # fmt: skip
def test_refused_in_one_line(column: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says) as caught:
        Schema.of({"columns": {"x": column}})
    message = str(caught.value)
    assert message.startswith("column 'x': ")
    assert "\n" not in message
    assert len(message) < 250


@pytest.mark.parametrize(
    "column",
    [
        {"type": "date", "min": "0001-01-01", "max": "9999-12-31", "unit": "year"},
        {"type": "datetime", "min": "0001-01-01T00:00:00", "max": "9999-12-31T23:59:59.999999", "unit": "year"},
        {"type": "datetime", "min": "0002-01-01T00:00:00", "max": "9998-12-31T23:59:59", "unit": "year", "timezone": "Pacific/Apia"},
        {"type": "date", **FROM_TO, "format": "%d.%m.%Y", "storage": "string"},
        {**TIMES, "timezone": "Asia/Kolkata", "format": "%Y-%m-%dT%H:%M:%S%z", "storage": "string"},
    ],
)  # fmt: skip
def test_ends_of_the_calendar_survive_a_round_trip(column: dict[str, Any]) -> None:
    schema = Schema.of({"columns": {"x": column}})
    size = schema.columns["x"].size
    codes = Codes.of(schema.domain, {"x": range(size)})
    assert encode(decode(codes, schema, seed=0), schema).columns[0].tolist() == list(range(size))
    assert schema.label("x", 0)
    assert schema.label("x", size - 1)
