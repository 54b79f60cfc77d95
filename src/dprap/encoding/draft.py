"""A first schema from data, for a person to review: everything in it is private until they have done so."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.encoding.tables import open_table
from dprap.errors import DataError, SchemaError
from dprap.schema import Date, Datetime, Integer, Number, Schema
from dprap.schema.columns.base import INTEGER_STORAGE
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.values import is_text_type

MAX_CATEGORIES = 50
_NULL_TEXTS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
_BINS = 32
_EPOCH = date(1970, 1, 1).toordinal()
_ANY_NUMBER = Number(type="number", min=0, max=1, bins=1)
_ANY_INTEGER = Integer(type="integer", min=0, max=1)
_ANY_DATE = Date(type="date", min=date(1970, 1, 1), max=date(1970, 1, 2))
_ANY_WALL_TIME = Datetime(type="datetime", min=datetime(1970, 1, 1), max=datetime(1970, 1, 2))  # noqa: DTZ001
_ANY_INSTANT = Datetime(
    type="datetime", min=datetime(1970, 1, 1, tzinfo=UTC), max=datetime(1970, 1, 2, tzinfo=UTC), timezone="UTC"
)


def draft_schema(table: Any) -> Schema:
    """Propose a schema for a table or file, marked as a draft.

    Columns without values, with a type dprap has no column for, or with text that looks like an identifier are listed
    in `ignore_columns`; long lists of categories become a top list with a catch-all.
    """
    source = open_table(table)
    if len(set(source.names)) != len(source.names):
        raise SchemaError("the table has a column name more than once. Rename or drop one.")
    batches = list(source.read())
    if sum(batch.num_rows for batch in batches) == 0:
        raise DataError("the table has no records. A schema cannot be drafted from it.")
    whole = pa.Table.from_batches(batches)
    columns: dict[str, Any] = {}
    ignored = []
    for name in source.names:
        array = whole.column(name).combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
        column = _from_csv(array) if source.is_text else _from_typed(array)
        if column is None:
            ignored.append(name)
        else:
            columns[name] = column
    if not columns:
        raise SchemaError("no column of the table has values that a schema can describe. Write the schema by hand.")
    return Schema.of({"draft": True, "columns": columns, "ignore_columns": ignored})


def _from_csv(array: pa.Array) -> dict[str, Any] | None:
    """A column of texts: those that usually mean null, then the narrowest type that reads all the others."""
    distinct = pc.unique(array)
    is_null = pc.is_in(distinct, value_set=pa.array(_NULL_TEXTS))
    nulls = distinct.filter(is_null).to_pylist()
    texts = distinct.filter(pc.invert(is_null))
    if len(texts) == 0:
        return None
    common: dict[str, Any] = {"nullable": True, "null_values": nulls} if nulls else {}
    leading_zeros = pc.any(pc.match_substring_regex(texts, "^[+-]?0[0-9]")).as_py()
    if set(texts.to_pylist()) <= {"true", "True", "TRUE", "false", "False", "FALSE"}:
        return {"type": "boolean", **common}
    attempts: list[tuple[BinnedColumn, Callable[[np.ndarray], dict[str, Any]]]] = [
        (_ANY_DATE, _dates), (_ANY_WALL_TIME, _instants), (_ANY_INSTANT, lambda v: {**_instants(v), "timezone": "UTC"}),
    ]  # fmt: skip
    if not leading_zeros:  # 007 is a label, not a number
        attempts = [(_ANY_INTEGER, _integers), (_ANY_NUMBER, _numbers), *attempts]
    for reader, describe in attempts:
        # a few first: reading a million texts as what they are not is slow
        if not reader.parse(texts.slice(0, 20))[1].all():
            continue
        values, readable = reader.parse(texts)
        if readable.all():
            return {**describe(values), **common}
    found = _texts(array.filter(pc.is_in(array, value_set=texts)))
    return None if found is None else {**found, **common}


def _from_typed(array: pa.Array) -> dict[str, Any] | None:
    kind = array.type
    storage = str(kind)
    if pa.types.is_dictionary(kind):
        array, storage = array.cast(kind.value_type), "dictionary"
    values = array.drop_null()
    if pa.types.is_floating(values.type):
        values = values.filter(pc.is_finite(values))
    if len(values) == 0:
        return None
    nullable = {"nullable": True} if len(values) < len(array) else {}
    kind = values.type
    column: dict[str, Any] | None = None
    if pa.types.is_boolean(kind):
        column = {"type": "boolean"}
    elif pa.types.is_integer(kind):
        column = _integers(values.to_numpy()) | ({"storage": storage} if storage in INTEGER_STORAGE[:-1] else {})
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        column = _floating(values.cast(pa.float64()).to_numpy(), kind)
    elif pa.types.is_date(kind):
        column = _dates(values.cast(pa.date32()).cast(pa.int32()).to_numpy())
    elif pa.types.is_timestamp(kind):
        column = _timestamps(values)
    elif is_text_type(kind):
        column = _texts(values.cast(pa.string()))
        if column is not None and storage in ("dictionary", "large_string"):
            column["storage"] = storage
    return None if column is None else {**column, **nullable}


def _texts(values: pa.Array) -> dict[str, Any] | None:
    counted = pc.value_counts(values)
    labels, counts = counted.field(0), counted.field(1).to_numpy()
    if len(labels) <= MAX_CATEGORIES:
        return {"type": "categorical", "values": sorted(labels.to_pylist())}
    if len(labels) > len(values) / 2:
        return None  # nearly every record has its own: a name or a number of a person
    top = labels.take(pa.array(np.argsort(-counts, kind="stable")[:MAX_CATEGORIES])).to_pylist()
    other = "other" if "other" not in top else "any other"
    return {"type": "categorical", "values": sorted(top), "other": other}


def _integers(values: np.ndarray) -> dict[str, Any]:
    low, high = int(values.min()), int(values.max())
    if high - low < 100:
        return {"type": "integer", "min": low, "max": high}
    step = 10 ** max(0, math.floor(math.log10(high - low)) - 1)
    limit = 2**62
    low, high = max(low // step * step, -limit), min(-(-high // step) * step, limit)
    return {"type": "integer", "min": low, "max": high, "bins": _BINS, "out_of_domain": "clip"}


def _numbers(values: np.ndarray) -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    if not math.isfinite(high - low):
        low, high = -1e300, 1e300
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1) if high > low else 1.0
    wide_low, wide_high = math.floor(low / step) * step, math.ceil(high / step) * step
    column: dict[str, Any] = {"type": "number", "min": float(f"{wide_low:.6g}"), "max": float(f"{wide_high:.6g}")}
    column |= {"bins": _BINS if high > low else 1, "out_of_domain": "clip"}
    if low > 0 and high > 100 * float(np.median(values)):
        column |= {"min": float(f"{low:.1g}") if float(f"{low:.1g}") <= low else low, "spacing": "log"}
    for decimals in range(5):
        scale = 10.0**decimals
        if abs(wide_high) + abs(wide_low) < 1e9 and (np.round(values * scale) / scale == values).all():
            return column if (high - low) * scale < 4 * _BINS else {**column, "decimals": decimals}
    return column


def _floating(values: np.ndarray, kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_decimal(kind):
        column = _numbers(values)
        column.pop("decimals", None)
        exact = kind.precision <= 15 and (column["max"] - column["min"]) * 10.0**kind.scale > 4 * _BINS
        return {**column, "storage": f"decimal128({kind.precision}, {kind.scale})"} if exact else column
    if (values == np.rint(values)).all() and np.abs(values).max() < 2**31:
        return {**_integers(values), "storage": "float64"}  # integers with nulls, as pandas keeps them
    return _numbers(values) | ({"storage": "float32"} if kind == pa.float32() else {})


def _dates(days: np.ndarray) -> dict[str, Any]:
    low, high = _day(int(days.min())), _day(int(days.max()))
    return {"type": "date", "min": low, "max": high, "unit": _unit(int(days.max()) - int(days.min()))}


def _timestamps(values: pa.Array) -> dict[str, Any]:
    kind = values.type
    micros = values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()).to_numpy()
    if kind.tz is None and (micros % 86_400_000_000 == 0).all():
        return {**_dates(micros // 86_400_000_000), "storage": f"timestamp[{kind.unit}]"}
    column = _instants(micros)
    if kind.unit != "us":
        column["storage"] = f"timestamp[{kind.unit}]"
    return column if kind.tz is None else {**column, "timezone": kind.tz if "/" in kind.tz else "UTC"}


def _instants(micros: np.ndarray) -> dict[str, Any]:
    # whole days around the values, written without an offset: on the clock of the zone, if there is one
    low, high = int(micros.min()) // 86_400_000_000 - 1, int(micros.max()) // 86_400_000_000 + 2
    first, last = (f"{_day(day).isoformat()}T00:00:00" for day in (low, high))
    return {"type": "datetime", "min": first, "max": last, "unit": _unit(high - low)}


def _day(days: int) -> date:
    """A day by its number since 1970; the first or last that a schema can name where it lies beyond."""
    return date.fromordinal(min(max(_EPOCH + days, 1), date.max.toordinal()))


def _unit(days: int) -> str:
    return "day" if days <= 62 else "month" if days <= 1100 else "year"
