"""Generated schemas: every column type, null policy, binning and storage."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from dprap.schema import Column, Schema

NAMES = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["select", 'say "hi"', "naïve name", "order by", "x'; --"]
)
_ADAPTER: TypeAdapter[Any] = TypeAdapter(Column)


def is_buildable(mapping: dict[str, Any]) -> bool:
    try:
        _ADAPTER.validate_python(mapping)
    except ValidationError:
        return False
    return True


@st.composite
def _common(draw: st.DrawFn, policies: list[str]) -> dict[str, Any]:
    nullable = draw(st.booleans())
    allowed = [policy for policy in policies if policy != "null" or nullable]
    return {"nullable": nullable, "out_of_domain": draw(st.sampled_from(allowed))}


@st.composite
def categorical(draw: st.DrawFn) -> dict[str, Any]:
    element = draw(st.sampled_from([st.text(max_size=5), st.integers(-(2**62), 2**62)]))
    members = draw(st.lists(element, min_size=1, max_size=12, unique=True))
    column: dict[str, Any] = {"type": "categorical", **draw(_common(["error", "null"]))}
    if len(members) > 1 and draw(st.booleans()):
        column |= {
            "other": members.pop(),
            "out_of_domain": draw(st.sampled_from(["other", "error"])),
        }
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(members)))
        column["groups"] = {
            f"g{i}": part for i, part in enumerate((members[:cut], members[cut:])) if part
        }
        if draw(st.booleans()):
            column |= {
                "decode": "representative",
                "representatives": [p[-1] for p in column["groups"].values()],
            }
    else:
        column["values"] = members
    if isinstance(members[0], str):
        column["storage"] = draw(st.sampled_from(["string", "large_string", "dictionary"]))
    return column


@st.composite
def boolean(draw: st.DrawFn) -> dict[str, Any]:
    storage = draw(st.sampled_from(["bool", "string"]))
    return {"type": "boolean", "storage": storage, **draw(_common(["error", "null"]))}


@st.composite
def histograms(draw: st.DrawFn) -> dict[str, Any]:
    edges = sorted(draw(st.sets(st.floats(-1e3, 1e3), min_size=2, max_size=6)))
    size = len(edges) - 1
    return {
        "edges": edges,
        "weights": draw(st.lists(st.floats(0, 10), min_size=size, max_size=size)),
    }


@st.composite
def integer(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.integers(-(2**61), 2**61) | st.integers(-50, 50))
    high = low + draw(st.integers(0, 300))
    column: dict[str, Any] = {"type": "integer", **draw(_common(["error", "clip", "null"]))}
    choice = draw(st.sampled_from(["each", "width", "bins", "log", "edges"]))
    if choice == "edges":
        column["edges"] = sorted(
            draw(st.sets(st.integers(-(2**40), 2**40), min_size=2, max_size=8))
        )
    else:
        column |= {"min": low, "max": high}
    if choice == "width":
        column["width"] = draw(st.integers(1, 400))
    if choice in ("bins", "log"):
        column["bins"] = draw(st.integers(1, 40))
    if choice == "log":
        column["spacing"] = "log"
    column["decode"] = draw(st.sampled_from(["uniform", "representative"]))
    if draw(st.booleans()):
        column |= {"decode": "histogram", "histogram": draw(histograms())}
    column["storage"] = draw(
        st.sampled_from(["int64", "int16", "uint32", "float64", "string", "decimal128(18, 0)"])
    )
    return column


@st.composite
def number(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 1.0, -5.5]))
    column: dict[str, Any] = {"type": "number", **draw(_common(["error", "clip", "null"]))}
    choice = draw(st.sampled_from(["width", "bins", "log", "edges"]))
    if choice == "edges":
        column["edges"] = sorted(draw(st.sets(st.floats(-1e9, 1e9), min_size=2, max_size=8)))
    else:
        column |= {"min": low, "max": low + draw(st.floats(0.001, 1e4))}
    if choice == "width":
        column["width"] = draw(st.sampled_from([0.1, 0.25, 3.0, 1000.0]))
    if choice in ("bins", "log"):
        column["bins"] = draw(st.integers(1, 30))
    if choice == "log":
        column["spacing"] = "log"
    column["decode"] = draw(st.sampled_from(["uniform", "representative"]))
    if draw(st.booleans()):
        column |= {"decode": "histogram", "histogram": draw(histograms())}
    column["storage"] = draw(st.sampled_from(["float64", "float32", "string", "decimal128(18, 3)"]))
    column["decimals"] = draw(st.none() | st.integers(0, 6))
    return column


@st.composite
def day(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.dates(date(1700, 1, 1), date(2250, 1, 1)))
    return {
        "type": "date",
        "min": low.isoformat(),
        "max": (low + timedelta(days=draw(st.integers(0, 900)))).isoformat(),
        "unit": draw(st.sampled_from(["day", "week", "month", "quarter", "year"])),
        "width": draw(st.integers(1, 5)),
        "decode": draw(st.sampled_from(["uniform", "representative"])),
        "storage": draw(st.sampled_from(["date32", "timestamp[ns]", "timestamp[s]", "string"])),
        **draw(_common(["error", "clip", "null"])),
    }


@st.composite
def instant(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.datetimes(datetime(1901, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
    unit = draw(
        st.sampled_from(["second", "minute", "hour", "day", "week", "month", "quarter", "year"])
    )
    days = draw(st.integers(0, 800)) if unit not in ("second", "minute") else 0
    return {
        "type": "datetime",
        "min": low.isoformat(),
        "max": (low + timedelta(days=days, seconds=draw(st.integers(1, 3000)))).isoformat(),
        "unit": unit,
        "width": draw(st.integers(1, 5)),
        "timezone": draw(
            st.sampled_from([None, "UTC", "Europe/Berlin", "Asia/Kolkata", "America/Sao_Paulo"])
        ),
        "resolution": draw(st.sampled_from(["second", "millisecond", "microsecond"])),
        "decode": draw(st.sampled_from(["uniform", "representative"])),
        "storage": draw(
            st.sampled_from(
                ["timestamp[us]", "timestamp[ns]", "timestamp[ms]", "timestamp[s]", "string"]
            )
        ),
        **draw(_common(["error", "clip", "null"])),
    }


COLUMNS = st.one_of(categorical(), boolean(), integer(), number(), day(), instant()).filter(
    is_buildable
)
SCHEMAS = st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=5).map(
    lambda columns: Schema.of({"columns": columns})
)


@st.composite
def total_schemas(draw: st.DrawFn) -> Schema:
    columns = draw(st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=3))
    for column in columns.values():
        column |= {"nullable": True}
        if column["out_of_domain"] == "error":
            column["out_of_domain"] = "null"
    return Schema.of({"columns": columns})


ANYTHING = st.one_of(
    st.lists(st.none() | st.text(max_size=8), max_size=8).map(lambda v: pa.array(v, pa.string())),
    st.lists(st.none() | st.sampled_from(["1", "-0", "1e999", "nan", "0x1F", "007", "2024-02-30", "true", "١", "+5",
                                          "9" * 40, "2024-01-01T00:00:00Z", "2024-01-01 24:00:00", "1.", ".", "\x00"]),
             max_size=8).map(lambda v: pa.array(v, pa.string())),
)  # fmt: skip
ANY_INTEGERS = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=8).map(
        lambda v: pa.array(v, pa.int64())
    ),
    st.lists(st.none() | st.integers(0, 2**64 - 1), max_size=8).map(
        lambda v: pa.array(v, pa.uint64())
    ),
)
ANY_NUMBERS = ANY_INTEGERS | st.lists(st.none() | st.floats(), max_size=8).map(
    lambda v: pa.array(v, pa.float64())
)
ANY_DAYS = st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=8).map(
    lambda v: pa.array(v, pa.int32()).cast(pa.date32())
)


def any_instants(zone: str | None) -> st.SearchStrategy[pa.Array]:
    values = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=8)
    units = st.sampled_from(["s", "ms", "us", "ns"])
    return st.builds(
        lambda v, unit: pa.array(v, pa.int64()).cast(pa.timestamp(unit, zone)), values, units
    )


def any_array(column: Column) -> st.SearchStrategy[pa.Array]:
    """Texts, or values of an Arrow type that the column takes, with whatever that type can hold."""
    typed = {
        "integer": ANY_NUMBERS,
        "number": ANY_NUMBERS,
        "date": ANY_DAYS,
        "datetime": any_instants(getattr(column, "timezone", None)),
        "categorical": ANY_NUMBERS if getattr(column, "is_integer", False) else ANYTHING,
    }.get(column.type, ANYTHING)
    return ANYTHING | typed
