"""Conditions on columns, as weights of their codes: 1 for a code that satisfies it, a share for a bin that partly does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import pyarrow as pa
from jaxtyping import Float

from dprap.encoding.place import encode_column
from dprap.errors import DataError, SettingsError
from dprap.relaxed import RelaxedDataset
from dprap.schema import Boolean, Categorical, Date, Datetime, Integer, Schema

CodeWeights = Float[np.ndarray, "codes"]


def code_weights(schema: Schema, name: str, condition: Any) -> CodeWeights:
    """Weights of a column's codes for a condition: a value, None for null, a list of values, or a (low, high) range.

    Ranges include both ends and may be open (None). A bin that lies partly in a range counts by the share of its values.
    """
    schema.domain.position(name)
    if isinstance(condition, tuple) and len(condition) == 2:
        return _range_weights(schema, name, *condition)
    if isinstance(condition, list | set | frozenset):
        return np.max([code_weights(schema, name, value) for value in condition], axis=0)
    weights = np.zeros(schema.domain.size(name))
    weights[_code_of(schema, name, condition)] = 1.0
    return weights


def conditioned(relaxed: RelaxedDataset, schema: Schema, where: Mapping[str, Any]) -> RelaxedDataset:
    """The relaxed data set given that every condition holds: rows reweighted, and each column restricted to what satisfies it."""
    probabilities = np.array(relaxed.probabilities)
    weights = np.asarray(relaxed.weights, dtype=np.float64).copy()
    for name, condition in where.items():
        start = schema.domain.offset(name)
        block = slice(start, start + schema.domain.size(name))
        restricted = probabilities[block] * code_weights(schema, name, condition)[:, None]
        likelihood = restricted.sum(axis=0)
        weights *= likelihood
        probabilities[block] = np.where(likelihood > 0, restricted / np.maximum(likelihood, 1e-30), probabilities[block])
    if weights.sum() <= 0:
        raise SettingsError("no synthetic row satisfies the conditions.")
    kept = np.flatnonzero(weights > 0)
    return RelaxedDataset(
        relaxed.domain,
        jnp.asarray(probabilities[:, kept]),
        jnp.asarray(weights[kept] / weights.sum(), dtype=jnp.float32),
    )


def _code_of(schema: Schema, name: str, value: Any) -> int:
    column = schema.columns[name]
    try:
        array = pa.array([value]) if value is not None else pa.nulls(1)
        return int(encode_column(name, column, array, null_texts=None)[0])
    except (DataError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise SettingsError(f"column {name!r}: the value asked for is not in its declared domain.") from None


def _range_weights(schema: Schema, name: str, low: Any, high: Any) -> CodeWeights:
    column = schema.columns[name]
    if isinstance(column, Categorical | Boolean):
        raise SettingsError(f"column {name!r} has no order, so it takes values, not a range.")
    size = schema.domain.size(name)
    weights = np.zeros(size)
    edges = np.asarray(column.bin_edges, dtype=np.float64)
    start = edges[0] if low is None else _position(column, low)
    # 30..39 means all of 39: whole units reach up to the next one
    unit = 1 if isinstance(column, Integer | Date) else 0
    stop = edges[-1] if high is None else _position(column, high) + unit
    overlap = np.minimum(edges[1:], stop) - np.maximum(edges[:-1], start)
    weights[: column.regular] = np.clip(overlap / (edges[1:] - edges[:-1]), 0, 1)[: column.regular]
    return weights


def _position(column: Any, value: Any) -> float:
    """A bound on the scale of the column's bin edges."""
    if isinstance(column, Date | Datetime):
        text = pa.array([str(value)])
        try:
            if isinstance(column, Date):
                return float(text.cast(pa.date32()).cast(pa.int32())[0].as_py())
            return float(text.cast(pa.timestamp("us")).cast(pa.int64())[0].as_py())
        except pa.ArrowInvalid:
            raise SettingsError(f"{value!r} is not a date.") from None
    return float(value)
