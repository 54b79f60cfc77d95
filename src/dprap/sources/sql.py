"""Encoding in SQL: one expression a column gives the code of a record, exactly as `dprap.encoding` does.

All SQL that dprap sends is written here, for PostgreSQL. Another database needs its own `lookup`, `bucket` and literals.
A record that its column's policy does not place has a negative code, so one query finds out before anything is spent.
Names of functions, operators and types come from `dprap.sources.catalog`, which says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from dprap.domain import Domain
from dprap.encoding.policy import unplaced_code
from dprap.errors import DataError, SchemaError
from dprap.queries.marginal import Marginal
from dprap.schema import Boolean, Categorical, Column, Date, Datetime, Integer, Number, Schema
from dprap.schema.binned import BinnedColumn
from dprap.schema.values import Unplaced
from dprap.sources.catalog import call, cast, identifier, literal, operation

Kind: TypeAlias = Literal["boolean", "integer", "float", "decimal", "text", "enum", "date", "timestamp", "timestamptz"]
"""What a database column holds, whatever the database calls it."""

# Up to so many texts, comparing one after the other is faster than a search: by a fifth at 16.
_SHORT_LIST = 32

_ARGUMENTS = 64

_CELLS_IN_A_ROW = 1 << 24

# Halfway between the largest float8 and the next power of two, and half of the smallest float8 in 17 digits.
_TO_INFINITY = 2**1024 - 2**970
_TO_ZERO = "2.4703282292062327e-324"


def codes_sql(table: str, schema: Schema, kinds: Mapping[str, Kind], columns: Sequence[str]) -> str:
    """A query for the codes c0, c1, … of the given columns; `table` is already quoted."""
    if not columns:
        return f"SELECT 1 FROM {table}"  # noqa: S608 - quoted by the server
    listed = (f"{code_sql(name, schema.columns[name], kinds[name])} AS c{i}" for i, name in enumerate(columns))
    return f"SELECT {', '.join(listed)} FROM {table}"  # noqa: S608 - every part is quoted below


def check_sql(table: str, schema: Schema, kinds: Mapping[str, Kind]) -> str:
    """A query for the number of records, the sum of a hash of each, and the least code of every column."""
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
    parts = [_joined(codes[start : start + _ARGUMENTS]) for start in range(0, len(codes), _ARGUMENTS)]
    return _joined(parts)


def count_sql(
    table: str, schema: Schema, kinds: Mapping[str, Kind], plan: Mapping[Marginal, Sequence[Marginal]]
) -> str:
    """A query for marginals, each summed out of the counts of a wider one (or the same), which are those of the records.

    Every record is encoded once, to one cell number over all columns of the wider marginals. A row of the result has the
    position of a marginal, its cells that are not empty, and their counts; both are bytes, eight for each number.
    """
    domain = schema.domain
    used = {name for wide in plan for name in wide.columns}
    every = Marginal(tuple(sorted(used, key=domain.position)))
    codes = codes_sql(table, schema, kinds, every.columns)
    # what is read once is not kept: PostgreSQL decides that by itself
    steps = [f"records AS (SELECT {cell_sql(domain, every)} AS cell FROM ({codes}) AS codes)"]  # noqa: S608
    results = []
    for number, (wide, narrow) in enumerate(plan.items()):
        cell = narrow_cell_sql(domain, every, wide)
        counted = f"SELECT {cell} AS cell, {call('count', '*')} AS records FROM records GROUP BY 1"  # noqa: S608
        steps.append(f"wide{number} AS ({counted})")
        results += [_result_sql(domain, f"wide{number}", wide, marginal) for marginal in narrow]
    numbered = (f"SELECT {number} AS marginal, {result}" for number, result in enumerate(results))
    return f"WITH {', '.join(steps)} {' UNION ALL '.join(numbered)}"


def _result_sql(domain: Domain, counted: str, wide: Marginal, marginal: Marginal) -> str:
    """The end of a query for one marginal, after its position."""
    if wide != marginal:
        cell = narrow_cell_sql(domain, wide, marginal)
        records = cast(call("sum", "records"), "int8")
        counted = f"(SELECT {cell} AS cell, {records} AS records FROM {counted} GROUP BY 1) AS narrow"  # noqa: S608
    listed = ", ".join(call("string_agg", call("int8send", name), cast("''", "bytea")) for name in ("cell", "records"))
    # a value has at most 1 GB
    part = operation("cell", "/", str(_CELLS_IN_A_ROW))
    parts = f" GROUP BY {part}" if marginal.size(domain) > _CELLS_IN_A_ROW else ""
    return f"{listed} FROM {counted}{parts}"


def narrow_cell_sql(domain: Domain, wide: Marginal, marginal: Marginal) -> str:
    """The cell number of a marginal from the cell number of one that has all its columns.

    >>> from dprap.sources.catalog import plain
    >>> domain = Domain.of({"a": 2, "b": 3, "c": 5, "d": 7})
    >>> plain(narrow_cell_sql(domain, Marginal(("a", "b", "c", "d")), Marginal(("b", "c"))))
    '((cell / 7) % 15)'
    >>> plain(narrow_cell_sql(domain, Marginal(("a", "b", "c", "d")), Marginal(("d", "a", "b"))))
    '(((cell % 7) * 6) + (cell / 35))'
    """
    runs: list[list[int]] = []  # neighbours among the wide one's columns are one digit
    for name in marginal.columns:
        position = wide.columns.index(name)
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    cell = cast("0", "int8")
    for run in runs:
        stride, size = domain.size_of(wide.columns[run[-1] + 1 :]), domain.size_of(wide.columns[i] for i in run)
        digit = "cell" if stride == 1 else operation("cell", "/", str(stride))
        digit = digit if run[0] == 0 else operation(digit, "%", str(size))
        cell = digit if run is runs[0] else operation(operation(cell, "*", str(size)), "+", digit)
    return cell


def cell_sql(domain: Domain, marginal: Marginal) -> str:
    """The mixed-radix cell number over the codes c0, c1 and so on.

    >>> from dprap.sources.catalog import plain
    >>> plain(cell_sql(Domain.of({"a": 2, "b": 3, "c": 5}), Marginal(("a", "b", "c"))))
    '(((((c0)::int8 * 3) + c1) * 5) + c2)'
    """
    if not marginal.columns:
        return cast("0", "int8")
    cell = cast("c0", "int8")
    for position, name in enumerate(marginal.columns[1:], start=1):
        cell = operation(operation(cell, "*", str(domain.size(name))), "+", f"c{position}")
    return cell


def refuse(least_codes: Sequence[int], schema: Schema) -> None:
    """Raise DataError for the first column that holds what its policy does not place."""
    for (name, column), least in zip(schema.columns.items(), least_codes, strict=True):
        if least < 0:  # the least one wins, as in memory
            unplaced_code(name, column, Unplaced(least))


def code_sql(name: str, column: Column, kind: Kind) -> str:
    """The code of one column as an expression that is never null."""
    raw = identifier(name)
    missing, unreadable, outside = (_code_or(reason, name, column) for reason in Unplaced)
    if isinstance(column, Boolean):
        if kind == "boolean":
            return f"CASE WHEN {raw} IS NULL THEN {missing} ELSE {cast(raw, 'int4')} END"
        if kind in ("text", "enum"):
            return _looked_up(_text_sql(raw, kind), column.label_texts, missing, unreadable)
        raise _wrong_type(name, column, kind)
    if kind in ("text", "enum"):
        # as in memory: text is read as integers only where nothing can go wrong
        if not isinstance(column, Categorical) or (column.is_integer and not column.is_total):
            raise _wrong_type(name, column, kind)
        return _looked_up(_text_sql(raw, kind), column.label_texts, missing, outside)
    if isinstance(column, Categorical | Integer):
        if isinstance(column, Categorical) and not column.is_integer:
            raise _wrong_type(name, column, kind)
        return _whole_sql(name, column, kind, missing, unreadable, outside)
    if isinstance(column, Number):
        value = _float_sql(name, column, kind)
        return _binned(column, value, operation(value, "=", cast("'NaN'", "float8")), missing, outside)
    return _binned(column, _time_sql(name, column, kind), None, missing, outside)


def lookup(value: str, codes: Mapping[str, int], *, is_cheap: bool = True) -> str:
    """The code of a text, null when it has none: a short list one after the other, a long one by binary search.

    One after the other computes the value again for each text, which only a cheap one is worth.
    """
    possible = {text: code for text, code in codes.items() if _can_be_stored(text)}
    if is_cheap and 0 < len(possible) <= _SHORT_LIST:
        # equal is the same bytes, whatever the column's collation
        bytewise = f'(({value}) COLLATE pg_catalog."C")'
        equal = (f"WHEN {operation(bytewise, '=', literal(text))} THEN {code}" for text, code in possible.items())
        return f"(CASE {' '.join(equal)} END)"
    listed = cast(literal(json.dumps(possible, ensure_ascii=False)), "jsonb")
    return cast(operation(listed, "->>", value), "int4")


def bucket(value: str, column: BinnedColumn) -> str:
    """The position of the bin of a value; values outside the bounds are in the first or last bin."""
    edges = column.bin_edges
    inner = edges[1:-1]
    if len(inner) == 0:
        return "0"
    widths = np.diff(edges[:-1])
    if isinstance(column, Integer) and (widths == widths[0]).all():
        low, high = _literal(column, edges[0]), _literal(column, edges[-1] - 1)
        # the last bin may be longer
        above = operation(f"LEAST(GREATEST({value}, {low}), {high})", "-", low)
        return f"LEAST({operation(above, '/', str(widths[0]))}, {len(inner)})"
    listed = ",".join(_text(column, edge) for edge in inner)
    return call("width_bucket", value, cast(f"'{{{listed}}}'", f"{_type(column)}[]"))


def _whole_sql(
    name: str, column: Categorical | Integer, kind: Kind, missing: int, unreadable: int, outside: int
) -> str:
    raw = identifier(name)
    if kind == "integer":
        is_missing, not_whole, beyond, whole = f"{raw} IS NULL", "", "", cast(raw, "int8")
    elif kind in ("float", "decimal"):
        whole_part, low, high = (
            ("round", "-9223372036854775808", "9223372036854774784")
            if kind == "float"
            else ("trunc", "-9223372036854775808", "9223372036854775807")
        )
        type_name = "float8" if kind == "float" else "numeric"
        value, least, most, nan = (cast(each, type_name) for each in (raw, f"'{low}'", f"'{high}'", "'NaN'"))
        is_missing = f"{raw} IS NULL OR {operation(value, '=', nan)}"
        not_whole = f"WHEN {operation(value, '<>', call(whole_part, value))} THEN {unreadable} "
        beyond = f"WHEN {operation(value, '<', least)} OR {operation(value, '>', most)} THEN {outside} "
        whole = cast(f"LEAST(GREATEST({value}, {least}), {most})", "int8")
    else:
        raise _wrong_type(name, column, kind)
    if isinstance(column, Categorical):
        # the ends of bigint may be in the list, and what lies beyond them is not
        found = lookup(cast(whole, "text"), column.label_texts, is_cheap=False)
        rest = f"{beyond}ELSE COALESCE({found}, {outside})"
    else:
        rest = f"{_outside_bounds(column, whole, outside)}ELSE {bucket(whole, column)}"
    return f"CASE WHEN {is_missing} THEN {missing} {not_whole}{rest} END"


def _float_sql(name: str, column: Number, kind: Kind) -> str:
    raw = identifier(name)
    if kind in ("integer", "float"):
        return cast(raw, "float8")
    if kind != "decimal":
        raise _wrong_type(name, column, kind)
    # what rounds to infinity or to zero would be an error of the server: say so before it tries
    size, sign = call("abs", raw), cast(call("sign", raw), "float8")
    infinity = cast("'Infinity'", "float8")
    return (
        f"(CASE WHEN {operation(size, '>=', str(_TO_INFINITY))} THEN {operation(sign, '*', infinity)} "
        f"WHEN {operation(size, '<=', _TO_ZERO)} THEN {cast('0', 'float8')} ELSE {cast(raw, 'float8')} END)"
    )


def _time_sql(name: str, column: Date | Datetime, kind: Kind) -> str:
    raw = identifier(name)
    if isinstance(column, Date) and kind in ("date", "timestamp"):
        return cast(raw, "date")
    if isinstance(column, Datetime) and kind == ("timestamp" if column.timezone is None else "timestamptz"):
        return raw
    raise _wrong_type(name, column, kind)


def _binned(column: BinnedColumn, value: str, also_missing: str | None, missing: int, outside: int) -> str:
    is_missing = f"{value} IS NULL" + (f" OR {also_missing}" if also_missing else "")
    return (
        f"CASE WHEN {is_missing} THEN {missing} "
        f"{_outside_bounds(column, value, outside)}ELSE {bucket(value, column)} END"
    )


def _outside_bounds(column: BinnedColumn, value: str, outside: int) -> str:
    if column.policy == "clip":
        return ""
    last = np.nextafter(column.bin_edges[-1], -np.inf) if isinstance(column, Number) else column.bin_edges[-1] - 1
    low, high = _literal(column, column.bin_edges[0]), _literal(column, last)
    return f"WHEN {operation(value, '<', low)} OR {operation(value, '>', high)} THEN {outside} "


def _looked_up(value: str, codes: Mapping[str, int], missing: int, not_found: int) -> str:
    return f"CASE WHEN {value} IS NULL THEN {missing} ELSE COALESCE({lookup(value, codes)}, {not_found}) END"


def _text_sql(raw: str, kind: Kind) -> str:
    """A column as text. The owner of an enumeration may define what a cast of it runs, so it is written out instead."""
    return call("textin", call("enum_out", raw)) if kind == "enum" else cast(raw, "text")


def _code_or(reason: Unplaced, name: str, column: Column) -> int:
    """The code that the policy gives, or the reason itself."""
    try:
        return unplaced_code(name, column, reason)
    except DataError:
        return int(reason)


def _type(column: BinnedColumn) -> str:
    if isinstance(column, Datetime):
        return "timestamp" if column.timezone is None else "timestamptz"
    return {"integer": "int8", "number": "float8", "date": "date"}[str(column.type)]  # type: ignore[attr-defined]


def _text(column: BinnedColumn, edge: Any) -> str:
    """An edge as the database reads it back, to the last bit."""
    if isinstance(column, Number):
        return repr(float(edge))
    if isinstance(column, Date):
        return str(np.datetime64(int(edge), "D"))
    if isinstance(column, Datetime):
        return str(np.datetime64(int(edge), "us")) + ("" if column.timezone is None else "+00")
    return str(int(edge))


def _literal(column: BinnedColumn, edge: Any) -> str:
    return cast(f"'{_text(column, edge)}'", _type(column))


def _can_be_stored(text: str) -> bool:
    """Whether a database text can be equal to this: NUL and lone surrogates cannot occur in one."""
    return "\x00" not in text and text == text.encode("utf-8", "ignore").decode()


def _wrong_type(name: str, column: Column, kind: Kind) -> SchemaError:
    expected = f"{column.type} in a time zone" if isinstance(column, Datetime) and column.timezone else column.type
    return SchemaError(
        f"column {name!r}: the database has {kind} where the schema says {expected}. "
        "Change the schema, or count a view that casts the column."
    )
