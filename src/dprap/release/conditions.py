"""Conditions as Python values or as text, and relaxed rows given that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.array_types import Bool, CodeColumn
from dprap.encoding import Codes, decode
from dprap.encoding.decode import decode_column
from dprap.errors import SettingsError
from dprap.relaxed import RelaxedDataset
from dprap.release.question_language import parse
from dprap.schema import Column, Schema
from dprap.schema.code_constraints import RelatedCodes
from dprap.schema.columns.binned import BinnedColumn
from dprap.schema.value_sets import CodeWeights, ValueSet, union

_TRIES = 64
_DRAWS = 200
# Values to try for each record at once, and how often: parts of a bin down to about one in a
# thousand are always found.


def as_conditions(schema: Schema, where: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Conditions by column, from a mapping, from text in the language of questions, or none.

    Raises:
        SettingsError: If it is neither, or the text joins conditions on several columns by "or", or
            nothing can satisfy it.
    """
    if where is None or isinstance(where, Mapping):
        return where or {}
    if not isinstance(where, str):
        raise SettingsError(
            'where must be text, such as "sex = F", or a mapping, such as {"sex": "F", "age": (30,'
            " 39)}."
        )
    boxes = parse(where, schema)
    if not boxes:
        raise SettingsError(f"no record can satisfy {where!r}. Loosen a condition.")
    if len(boxes) > 1:
        raise SettingsError(
            f"rows are drawn under conditions that are joined by and; {where!r} has an or. Write"
            " values of one column as a list, such as region in {North, South}, or draw a table"
            " for each part."
        )
    return boxes[0]


def value_set(schema: Schema, name: str, condition: Any) -> ValueSet:
    """The values that satisfy a condition: a value, None for null, a list of those, or a (low,
    high) range.

    Ranges include both ends, and None leaves an end open. A set of values is taken as it is.
    """
    schema.domain.position(name)
    if isinstance(condition, ValueSet):
        return condition
    column = schema.columns[name]
    if isinstance(condition, tuple):
        if len(condition) != 2:
            raise SettingsError(
                f"column {name!r}: a range is (low, high); give several values as a list."
            )
        low, high = (None if end is None else _text(end) for end in condition)
        return column.between(name, low, high)
    if isinstance(condition, list | set | frozenset):
        if not condition:
            raise SettingsError(
                f"column {name!r}: the list of values is empty, so nothing can satisfy it."
            )
        return union(column.all_values(), [value_set(schema, name, each) for each in condition])
    return column.no_value(name) if condition is None else column.equal(name, _text(condition))


def code_weights(schema: Schema, name: str, condition: Any) -> CodeWeights:
    """Weights of a column's codes for a condition: 1 for a code that satisfies it, a share for a
    bin that partly does.
    """
    values = value_set(schema, name, condition)
    return schema.columns[name].shares_of(values)


def conditioned(
    relaxed: RelaxedDataset, schema: Schema, where: Mapping[str, Any]
) -> RelaxedDataset:
    """The relaxed data set given that all conditions hold: by Bayes, rows reweighted and columns
    restricted.

    Row j with weight w_j satisfies the conditions with probability Π_c Σ_x a_c(x) p_jc(x), where
    a_c are the codes' weights; its new weight is proportional to w_j times that, and its new
    distribution of column c to a_c(x) p_jc(x).
    """
    probabilities = np.array(relaxed.probabilities)
    weights = np.asarray(relaxed.weights, dtype=np.float64).copy()
    for name, condition in where.items():
        allowed = code_weights(schema, name, condition)
        start = schema.domain.offset(name)
        block = slice(start, start + schema.domain.size(name))
        restricted = probabilities[block] * allowed[:, None]
        likelihood = restricted.sum(axis=0)
        weights *= likelihood
        probabilities[block] = restricted / np.where(likelihood > 0, likelihood, 1)
    if weights.sum() <= 0:
        raise SettingsError(
            f"no synthetic row satisfies the conditions on {', '.join(where)}. Loosen one of them."
        )
    kept = np.flatnonzero(weights > 0)
    return RelaxedDataset(
        relaxed.domain,
        probabilities[:, kept],
        (weights[kept] / weights.sum()).astype(np.float32),
    )


def _text(value: Any) -> str:
    """A Python, NumPy or pandas value as the question language writes it."""
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    return value.isoformat() if isinstance(value, date) else str(value)


def require_whole_bins(schema: Schema, where: Mapping[str, Any]) -> None:
    """Refuse a condition on part of a bin, of a column that an order or a sum names.

    Decoding finds values in the bins of a record that keep these constraints. There need not be
    any in part of a bin.

    Raises:
        SettingsError: If a condition cuts such a bin.
    """
    rules = [each for each in schema.code_constraints if isinstance(each, RelatedCodes)]
    related = {name for rule in rules for name in rule.columns}
    for name, condition in where.items():
        column = schema.columns.get(name)
        if name not in related or not isinstance(column, BinnedColumn):
            continue
        least, largest = column.least_values, column.largest_values
        for low, high in value_set(schema, name, condition).intervals:
            is_cut = (low <= largest) & (least < high) & ((least < low) | (high <= largest))
            if is_cut.any():
                label = column.regular_label(int(np.argmax(is_cut)))
                raise SettingsError(
                    f"column {name!r}: the condition cuts the bin {label}, and the schema has an"
                    " order or a sum of this column, which part of a bin may not keep. Ask for"
                    " whole bins."
                )


def decoded_where(codes: Codes, schema: Schema, where: Mapping[str, Any], *, seed: int) -> pa.Table:
    """Decode records that were drawn under conditions; where a condition cuts a bin, only values
    inside it are drawn.
    """
    table = decode(codes, schema, seed=seed)
    for name, condition in where.items():
        values = value_set(schema, name, condition)
        allowed = schema.columns[name].shares_of(values)
        cut = (allowed > 0) & (allowed < 1)
        if cut[codes.column(name)].any():
            position = schema.domain.position(name)
            rng = np.random.default_rng([seed, position, 1])
            array = table.column(position).combine_chunks()
            redrawn = _redrawn(name, schema.columns[name], codes.column(name), array, values, rng)
            table = table.set_column(position, name, redrawn)
    return table


def _redrawn(
    name: str,
    column: Column,
    codes: CodeColumn,
    array: pa.Array,
    values: ValueSet,
    rng: np.random.Generator,
) -> pa.Array:
    """Draw again, many at a time, what lies in a cut bin on the wrong side: rejection keeps the
    draw's distribution.
    """
    wrong = np.flatnonzero(~_inside(column, array, values))
    for _ in range(_DRAWS):
        if not len(wrong):
            return array
        tries = decode_column(column, np.repeat(codes[wrong], _TRIES), rng)
        good = _inside(column, tries, values).reshape(-1, _TRIES)
        chosen = np.arange(len(array))
        chosen[wrong] = np.where(
            good.any(axis=1),
            len(array) + np.arange(len(wrong)) * _TRIES + good.argmax(axis=1),
            wrong,
        )
        array = pa.concat_arrays([array, tries]).take(pa.array(chosen))
        wrong = wrong[~good.any(axis=1)]
    raise SettingsError(
        f"column {name!r}: the condition asks for too small a part of a bin. Widen it to the whole"
        " bin."
    )


def _inside(column: Column, array: pa.Array, values: ValueSet) -> Bool[np.ndarray, " records"]:
    """Which decoded values are in a set."""
    null = np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    return np.where(null, values.missing, column.holds(values, array))
