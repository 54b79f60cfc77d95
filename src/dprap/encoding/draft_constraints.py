"""Constraints that hold without exception in the records that a draft looked at, as suggestions in
comments.

A draft never declares them: what is so in one table need not be so by law or logic. Values that
fewer than twenty records have are not written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, islice

import numpy as np
import pyarrow as pa
import yaml

from dprap.encoding.column_codes import positions_of
from dprap.encoding.draft_proposal import MIN_COUNT
from dprap.errors import SchemaError
from dprap.schema import Column, Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.values import is_text_type

_MAX_CODES = 60
_MAX_COLUMNS = 40
_MAX_SUGGESTIONS = 20
# A combination that chance would give this often, and that never occurs, may be impossible.
_EXPECTED = 100
# In fewer records orders and sums may hold by chance.
_LEAST_RECORDS = 1000
# Sums are looked for among so many columns, of more than so many different values; most fail in the
# first few records.
_MAX_SUMMED = 15
_LEAST_DISTINCT = 2
_FIRST_LOOK = 200


def suggest_constraints(schema: Schema, sample: pa.Table, *, is_text: bool) -> tuple[str, ...]:
    """Suggestions as lines of YAML, without the mark of a comment."""
    few = [
        name
        for name, column in schema.columns.items()
        if 1 < column.size <= _MAX_CODES and _is_writable(column)
    ]
    few = few[:_MAX_COLUMNS]
    codes = {name: _codes(schema, sample, name, is_text=is_text) for name in few}
    found: list[str] = []
    for one, other in combinations(few, 2):
        table = np.zeros(
            (schema.columns[one].size + 1, schema.columns[other].size + 1), dtype=np.int64
        )
        np.add.at(table, (codes[one], codes[other]), 1)
        seen = table[:-1, :-1]
        found += _determines(schema, one, other, seen) + _determines(schema, other, one, seen.T)
        found += _forbids(schema, one, other, seen)
    ordered = [name for name, column in schema.columns.items() if isinstance(column, BinnedColumn)][
        :_MAX_COLUMNS
    ]
    values = {name: _units(schema, sample, name, is_text=is_text) for name in ordered}
    found = _sums(schema, values) + _orders(schema, values) + found
    accepted = (line for line in found if _is_accepted(schema, line))
    return tuple(islice(accepted, _MAX_SUGGESTIONS))


def _codes(schema: Schema, sample: pa.Table, name: str, *, is_text: bool) -> np.ndarray:
    """Codes of a column; one after the last for what has none."""
    positions = _positions(schema, sample, name, is_text=is_text)
    return np.where(positions < 0, schema.columns[name].size, positions)


def _positions(schema: Schema, sample: pa.Table, name: str, *, is_text: bool) -> np.ndarray:
    column, chunks = schema.columns[name], sample.column(name).chunks
    null_texts = (
        schema.null_texts(name) if is_text or is_text_type(sample.column(name).type) else None
    )
    parts = [positions_of(name, column, chunk, null_texts) for chunk in chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _determines(schema: Schema, one: str, other: str, seen: np.ndarray) -> list[str]:
    of_one = seen.sum(axis=1)
    known = np.flatnonzero(of_one >= MIN_COUNT)
    if (
        len(known) < 3
        or (seen.sum(axis=0) > 0).sum() < 3
        or not ((seen > 0).sum(axis=1) <= 1).all()
    ):
        return []
    if any(isinstance(_value(schema, name, 0), dict) for name in (one, other)):
        return []  # bins are no values
    pairs = [
        [_value(schema, one, int(code)), _value(schema, other, int(seen[code].argmax()))]
        for code in known
    ]
    return [_line({"type": "determines", "from": one, "to": other, "map": pairs})]


def _forbids(schema: Schema, one: str, other: str, seen: np.ndarray) -> list[str]:
    total = seen.sum()
    if total == 0 or (seen > 0).sum(axis=1).max() <= 1 or (seen > 0).sum(axis=0).max() <= 1:
        return []
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / total
    lines = []
    for a, b in np.argwhere((seen == 0) & (expected >= _EXPECTED))[:3]:
        where = {name: found if isinstance(found := _value(schema, name, int(code)), dict) else [found]
                 for name, code in ((one, a), (other, b))}  # fmt: skip
        lines.append(_line({"type": "forbid", "where": where}))
    return lines


def _orders(schema: Schema, values: Mapping[str, np.ndarray]) -> list[str]:
    """Pairs of dates or numbers of which one is never after the other."""
    lines = []
    for one, other in combinations(values, 2):
        if schema.columns[one].type != schema.columns[other].type:
            continue
        a, b = values[one], values[other]
        both = np.isfinite(a) & np.isfinite(b)
        if both.sum() < _LEAST_RECORDS:
            continue
        a, b = a[both], b[both]
        # ranges that hardly meet say nothing
        if min(a.max(), b.max()) - max(a.min(), b.min()) < 0.5 * (
            max(a.max(), b.max()) - min(a.min(), b.min())
        ):
            continue
        for low, high, x, y in ((one, other, a, b), (other, one, b, a)):
            if (x <= y).all() and (x < y).any():
                lines.append(_line({"type": "order", "smaller": low, "larger": high}))
    return lines


def _sums(schema: Schema, values: Mapping[str, np.ndarray]) -> list[str]:
    """Two or three columns of numbers that always add up to another one."""
    numbers = [name for name in values if schema.columns[name].is_number]
    numbers = [
        name
        for name in numbers
        if np.unique(values[name][np.isfinite(values[name])]).size > _LEAST_DISTINCT
    ]
    table = (
        np.stack([values[name] for name in numbers[:_MAX_SUMMED]]) if numbers else np.zeros((0, 0))
    )
    table = table[:, np.isfinite(table).all(axis=0)]
    if table.shape[1] < _LEAST_RECORDS:
        return []
    few = table[:, :_FIRST_LOOK]
    lines = []
    for size in (2, 3):
        for parts in combinations(range(len(table)), size):
            together = few[list(parts)].sum(axis=0)
            for total in set(range(len(table))) - set(parts):
                if _alike(together, few[total]) and _alike(
                    table[list(parts)].sum(axis=0), table[total]
                ):
                    named = [numbers[part] for part in parts]
                    lines.append(_line({"type": "sum", "parts": named, "total": numbers[total]}))
    return lines


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return bool((np.abs(one - other) <= 1e-9 * (1 + np.abs(other))).all())


def _is_accepted(schema: Schema, line: str) -> bool:
    """Whether the schema could declare a suggestion: a sum needs parts and total in the same steps,
    and an order two columns of one kind.
    """
    try:
        Schema.of({**schema.as_mapping(), "constraints": yaml.safe_load(line)})
    except SchemaError:
        return False
    return True


def _units(schema: Schema, sample: pa.Table, name: str, *, is_text: bool) -> np.ndarray:
    column = schema.columns[name]
    assert isinstance(column, BinnedColumn)  # noqa: S101 - callers choose them
    parts = []
    array = sample.column(name)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    for chunk in array.chunks:
        if is_text or is_text_type(chunk.type):
            values, readable = column.parse(chunk.cast(pa.string()))
            parts.append(np.where(readable, values.astype(np.float64), np.nan))
        else:
            units = (
                column.typed_in_units(chunk)
                if not pa.types.is_decimal(chunk.type)
                else chunk.cast(pa.float64())
            )
            parts.append(
                units.cast(pa.float64(), safe=False)
                .fill_null(float("nan"))
                .to_numpy(zero_copy_only=False)
            )
    return np.concatenate(parts) if parts else np.zeros(0)


def _value(schema: Schema, name: str, code: int) -> object:
    """What a constraint writes for a code: a value, null, or the range of a bin."""
    column = schema.columns[name]
    if code == column.null_code:
        return None
    if not isinstance(column, BinnedColumn):
        return code == 1 if column.type == "boolean" else column.label(code)
    first, _, last = column.label(code).partition("..")
    return {"min": int(first), "max": int(last)} if last else int(first)


def _is_writable(column: Column) -> bool:
    """Whether a constraint can name single codes of a column: not bins of numbers and dates, but
    whole numbers.
    """
    return not isinstance(column, BinnedColumn) or column.type == "integer"


def _line(constraint: Mapping[str, object]) -> str:
    """A constraint as an element of a YAML list, on one line."""
    text = yaml.safe_dump(
        [constraint], default_flow_style=True, allow_unicode=True, width=math.inf, sort_keys=False
    )
    return f"- {text.strip()[1:-1]}"
