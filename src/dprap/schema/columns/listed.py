"""Columns whose codes stand for a list of values: what categories and booleans have in common."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from dprap.errors import WorkloadError
from dprap.schema import arrays
from dprap.schema.arrays import Mask, Positions
from dprap.schema.columns.base import BaseColumn
from dprap.schema.value_sets import Member, ValueSet
from dprap.schema.values import Unplaced


class ListedColumn(BaseColumn):
    """A column whose values, and texts, are looked up in a list."""

    is_ordered = False
    not_in_domain = "not in its list"
    # what a text that is not in the list is
    not_listed: ClassVar[Unplaced]

    @cached_property
    def label_texts(self) -> dict[str, int]:
        """Position of each text that has one."""
        raise NotImplementedError

    @property
    def all_members(self) -> tuple[Member, ...]:
        """All values that decoding can produce."""
        raise NotImplementedError

    def place_texts(self, texts: pa.Array) -> Positions:
        """Look texts up in the list."""
        return arrays.with_missing(
            arrays.look_up(texts, self.label_texts, self.not_listed), arrays.nulls(texts)
        )

    def all_values(self) -> ValueSet:
        """All members of the list."""
        return ValueSet(members=frozenset(self.all_members), missing=self.nullable)

    def compared(self, name: str, operator: str, text: str) -> ValueSet:  # noqa: ARG002 - a list of texts has no order
        """Refuse: a list has no order."""
        raise WorkloadError(
            f"column {name!r} has no order: use =, != or in {{…}} instead of {operator}."
        )

    def between(self, name: str, low: str | None, high: str | None) -> ValueSet:
        """The members that are not below one literal and not above another."""
        whole = self.all_values().without_missing()
        for operator, bound in ((">=", low), ("<=", high)):
            whole = whole if bound is None else whole & self.compared(name, operator, bound)
        return whole

    def holds(self, values: ValueSet, array: pa.Array) -> Mask:
        """Which decoded values are members of a set."""
        return np.array([member in values.members for member in array.to_pylist()], dtype=bool)
