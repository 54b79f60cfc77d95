"""Synthetic records that keep the schema's constraints: what cannot occur is not published."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from jaxtyping import Bool

from dprap.array_types import CodeColumn
from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.relaxed import RelaxedDataset, round_rows, split_key
from dprap.relaxed.keys import Key
from dprap.schema import Schema
from dprap.schema.constraints import DeterminedCodes

_REDRAWS = 40


def draw_possible(
    relaxed: RelaxedDataset, schema: Schema, rows: int, key: Key, *, conditioned_on: Collection[str] = ()
) -> Codes:
    """Records from relaxed rows, given that they break no constraint.

    A column that another determines is set by it (unless the records were conditioned on it); a record that still breaks a
    constraint is drawn again, which conditions the distribution on what is possible.
    """
    key, first = split_key(key)
    columns = _determined(round_rows(relaxed, first, rows=rows), schema, conditioned_on)
    broken = np.flatnonzero(_broken(columns, schema))
    for _ in range(_REDRAWS):
        if not broken.size:
            break
        key, again = split_key(key)
        independent = round_rows(relaxed, again, rows=max(2 * broken.size, 256), method="independent")
        drawn = _determined(independent, schema, conditioned_on)
        possible = np.flatnonzero(~_broken(drawn, schema))[: broken.size]
        for column, fresh in zip(columns, drawn, strict=True):
            column[broken[: possible.size]] = fresh[possible]
        broken = broken[possible.size :]
    if broken.size == rows:
        raise SettingsError("the schema's constraints rule out every synthetic record that could be drawn. Check them.")
    if broken.size:
        # hardly any draw is possible: repeat records that are, rather than publish what cannot be
        kept = np.setdiff1d(np.arange(rows), broken)
        chosen = kept[np.random.default_rng(key).integers(0, kept.size, broken.size)]
        for column in columns:
            column[broken] = column[chosen]
    return Codes(relaxed.domain, tuple(columns))


def _determined(columns: tuple[CodeColumn, ...], schema: Schema, conditioned_on: Collection[str]) -> list[CodeColumn]:
    """Copies of the columns, those that follow from another set by it."""
    result = [column.copy() for column in columns]
    for constraint in schema.code_constraints:
        if isinstance(constraint, DeterminedCodes) and constraint.columns[1] not in conditioned_on:
            source, target = (schema.domain.position(name) for name in constraint.columns)
            wanted = constraint.targets[result[source]]
            result[target] = np.where(wanted >= 0, wanted, result[target]).astype(result[target].dtype)
    return result


def _broken(columns: list[CodeColumn], schema: Schema) -> Bool[np.ndarray, "records"]:
    broken = np.zeros(len(columns[0]), dtype=bool)
    for constraint in schema.code_constraints:
        places = tuple(columns[schema.domain.position(name)] for name in constraint.columns)
        broken |= constraint.forbidden()[places]
    return broken
