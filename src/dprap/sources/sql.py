"""Encoding in SQL: one expression a column gives the code of a record, exactly as `dprap.encoding`
does.

All SQL that encodes is written here, for PostgreSQL; `dprap.sources.sql_counts` counts what it
encodes. Another database needs its own `lookup` and `bucket`. The column says in which SQL type it
is compared and how its edges are written; this module says how to read and compare it. A record
that its column's policy does not place has a negative code, so one query finds out before anything
is spent. Names of functions, operators and types come from `dprap.sources.catalog`, which says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dprap.encoding.policy import unplaced_code
from dprap.errors import DataError, SchemaError
from dprap.schema import Column, Schema
from dprap.schema.columns.base import DatabaseKind, SqlType
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.values import Unplaced
from dprap.sources.catalog import call, cast, identifier, literal, operation

Kind: TypeAlias = DatabaseKind

# Up to so many texts, comparing one after the other is faster than a search: by a fifth at 16.
_SHORT_LIST = 32

_ARGUMENTS = 64

# Halfway between the largest float8 and the next power of two, and half of the smallest float8 in
# 17 digits.
_TO_INFINITY = 2**1024 - 2**970
_TO_ZERO = "2.4703282292062327e-324"


def codes_sql(table: str, schema: Schema, kinds: Mapping[str, Kind], columns: Sequence[str]) -> str:
    """A query for the codes c0, c1, … of the given columns; `table` is already quoted."""
    if not columns:
        return f"SELECT 1 FROM {table}"  # noqa: S608 - quoted by the server
    listed = (
        f"{code_sql(name, schema.columns[name], kinds[name])} AS c{i}"
        for i, name in enumerate(columns)
    )
    return f"SELECT {', '.join(listed)} FROM {table}"  # noqa: S608 - every part is quoted below


def check_sql(table: str, schema: Schema, kinds: Mapping[str, Kind]) -> str:
    """A query for the number of records, the sum of a hash of each, and the least code of every
    column.
    """
    names = list(schema.columns)
    codes = [f"c{i}" for i in range(len(names))]
    hashes = call("sum", call("hashtextextended", _joined(codes), "0"))
    least = ", ".join(call("min", code) for code in codes)
    codes_query = codes_sql(table, schema, kinds, names)
    return f"SELECT {call('count', '*')}, {hashes}, {least} FROM ({codes_query}) AS codes"  # noqa: S608


def _joined(codes: Sequence[str]) -> str:
    """The codes of a record as one text; a function takes at most 100 arguments."""
    if len(codes) <= _ARGUMENTS:
        return call("concat_ws", "','", *codes)
    parts = [
        _joined(codes[start : start + _ARGUMENTS]) for start in range(0, len(codes), _ARGUMENTS)
    ]
    return _joined(parts)


def refuse(least_codes: Sequence[int], schema: Schema) -> None:
    """Raise DataError for the first column that holds what its policy does not place."""
    for (name, column), least in zip(schema.columns.items(), least_codes, strict=True):
        if least < 0:  # the least one wins, as in memory
            unplaced_code(name, column, Unplaced(least))


def code_sql(name: str, column: Column, kind: Kind) -> str:
    """The code of one column as an expression that is never null."""
    sql_type = column.sql_type(kind)
    if sql_type is None:
        raise SchemaError(
            f"column {name!r}: the database has {kind} where the schema says {column.described}. "
            "Change the schema, or count a view that casts the column."
        )
    codes = {reason: _code_or(reason, name, column) for reason in Unplaced}
    value = _READ[sql_type](identifier(name), kind)
    not_whole = (
        f"WHEN {value.not_whole} THEN {codes[Unplaced.UNREADABLE]} " if value.not_whole else ""
    )
    if isinstance(column, BinnedColumn):
        position = (
            f"{_outside_bounds(column, value.sql, codes[Unplaced.OUTSIDE])}ELSE"
            f" {bucket(value.sql, column)}"
        )
    elif sql_type == "boolean":
        position = f"ELSE {cast(value.sql, 'int4')}"
    else:
        is_text = sql_type == "text"
        found = lookup(
            value.sql if is_text else cast(value.sql, "text"), column.label_texts, is_cheap=is_text
        )
        beyond = f"WHEN {value.beyond} THEN {codes[Unplaced.OUTSIDE]} " if value.beyond else ""
        position = f"{beyond}ELSE COALESCE({found}, {codes[column.not_listed]})"
    means_null = _means_null(column, value.sql, sql_type, codes[Unplaced.MISSING])
    return (
        f"CASE WHEN {value.is_missing} THEN {codes[Unplaced.MISSING]}"
        f" {not_whole}{means_null}{position} END"
    )


def _means_null(column: Column, value: str, sql_type: SqlType, missing: int) -> str:
    """The part of an expression that finds the column's own `null_values`."""
    if sql_type == "text" and column.null_values:
        possible = dict.fromkeys(filter(_can_be_stored, column.null_values), 1)
        return f"WHEN {lookup(value, possible)} IS NOT NULL THEN {missing} " if possible else ""
    if sql_type in ("int8", "float8") and column.null_numbers:
        numbers = (
            operation(value, "=", cast(f"'{number}'", sql_type))
            for number in sorted(column.null_numbers)
        )
        return f"WHEN {' OR '.join(numbers)} THEN {missing} "
    return ""


def lookup(value: str, codes: Mapping[str, int], *, is_cheap: bool = True) -> str:
    """The code of a text, null when it has none: a short list one after the other, a long one by
    binary search.

    One after the other computes the value again for each text, which only a cheap one is worth.
    """
    possible = {text: code for text, code in codes.items() if _can_be_stored(text)}
    if is_cheap and 0 < len(possible) <= _SHORT_LIST:
        # equal is the same bytes, whatever the column's collation
        bytewise = f'(({value}) COLLATE pg_catalog."C")'
        equal = (
            f"WHEN {operation(bytewise, '=', literal(text))} THEN {code}"
            for text, code in possible.items()
        )
        return f"(CASE {' '.join(equal)} END)"
    listed = cast(literal(json.dumps(possible, ensure_ascii=False)), "jsonb")
    return cast(operation(listed, "->>", value), "int4")


def bucket(value: str, column: BinnedColumn) -> str:
    """The position of the bin of a value; values outside the bounds are in the first or last bin
    where the column's policy clips them, and nowhere in the others.
    """
    edges = column.bin_edges
    inner = edges[1:-1]
    if len(inner) == 0:
        return "0"
    widths = np.diff(edges[:-1])
    if column.edge_type == "int8" and (widths == widths[0]).all():
        low, high = _edge(column, edges[0]), _edge(column, column.last_value)
        within = f"LEAST(GREATEST({value}, {low}), {high})" if column.policy == "clip" else value
        position = operation(within, "-", low)
        if widths[0] != 1:
            position = operation(position, "/", str(widths[0]))
        is_last_longer = (column.last_value - edges[0]) // widths[0] > len(inner)
        return f"LEAST({position}, {len(inner)})" if is_last_longer else position
    listed = ",".join(column.edge_text(edge) for edge in inner)
    return call("width_bucket", value, cast(f"'{{{listed}}}'", f"{column.edge_type}[]"))


def _outside_bounds(column: BinnedColumn, value: str, outside: int) -> str:
    if column.policy == "clip":
        return ""
    low, high = _edge(column, column.bin_edges[0]), _edge(column, column.last_value)
    return f"WHEN {operation(value, '<', low)} OR {operation(value, '>', high)} THEN {outside} "


def _edge(column: BinnedColumn, edge: Any) -> str:
    return cast(f"'{column.edge_text(edge)}'", column.edge_type)


@dataclass(frozen=True)
class _Value:
    """A database column in the SQL type in which it is compared, and conditions for the values that
    have no position.
    """

    sql: str
    is_missing: str
    not_whole: str = ""
    beyond: str = ""


def _as_it_is(raw: str, _: Kind) -> _Value:
    return _Value(raw, f"{raw} IS NULL")


def _as_text(raw: str, kind: Kind) -> _Value:
    # the owner of an enumeration may define what a cast of it runs, so it is written out instead
    value = call("textin", call("enum_out", raw)) if kind == "enum" else cast(raw, "text")
    return _Value(value, f"{value} IS NULL")


def _as_whole(raw: str, kind: Kind) -> _Value:
    if kind == "integer":
        return _Value(cast(raw, "int8"), f"{raw} IS NULL")
    whole_part, low, high = (
        ("round", "-9223372036854775808", "9223372036854774784")
        if kind == "float"
        else ("trunc", "-9223372036854775808", "9223372036854775807")
    )
    type_name = "float8" if kind == "float" else "numeric"
    value, least, most, nan = (
        cast(each, type_name) for each in (raw, f"'{low}'", f"'{high}'", "'NaN'")
    )
    return _Value(
        cast(f"LEAST(GREATEST({value}, {least}), {most})", "int8"),
        is_missing=f"{raw} IS NULL OR {operation(value, '=', nan)}",
        not_whole=operation(value, "<>", call(whole_part, value)),
        # the ends of bigint may be in a list, and what lies beyond them is not
        beyond=f"{operation(value, '<', least)} OR {operation(value, '>', most)}",
    )


def _as_float(raw: str, kind: Kind) -> _Value:
    value = cast(raw, "float8")
    if kind == "decimal":
        # what rounds to infinity or to zero would be an error of the server: say so before it tries
        size, sign = call("abs", raw), cast(call("sign", raw), "float8")
        infinity = cast("'Infinity'", "float8")
        value = (
            f"(CASE WHEN {operation(size, '>=', str(_TO_INFINITY))} THEN"
            f" {operation(sign, '*', infinity)} WHEN {operation(size, '<=', _TO_ZERO)} THEN"
            f" {cast('0', 'float8')} ELSE {value} END)"
        )
    return _Value(
        value, f"{value} IS NULL OR {operation(value, '=', cast(literal('NaN'), 'float8'))}"
    )


def _as_date(raw: str, _: Kind) -> _Value:
    return _Value(cast(raw, "date"), f"{cast(raw, 'date')} IS NULL")


# How a database column is read in each of the SQL types that a column may ask for.
_READ: Mapping[SqlType, Callable[[str, Kind], _Value]] = {
    "boolean": _as_it_is,
    "text": _as_text,
    "int8": _as_whole,
    "float8": _as_float,
    "date": _as_date,
    "timestamp": _as_it_is,
    "timestamptz": _as_it_is,
}


def _code_or(reason: Unplaced, name: str, column: Column) -> int:
    """The code that the policy gives, or the reason itself."""
    try:
        return unplaced_code(name, column, reason)
    except DataError:
        return int(reason)


def _can_be_stored(text: str) -> bool:
    """Whether a database text can be equal to this: NUL and lone surrogates cannot occur in one."""
    return "\x00" not in text and text == text.encode("utf-8", "ignore").decode()
