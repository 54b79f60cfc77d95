"""Booleans: false or true."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import StrictStr, model_validator

from dprap.array_types import Int64
from dprap.errors import WorkloadError
from dprap.schema.arrays import Mask, Positions
from dprap.schema.columns.base import DatabaseKind, SqlType, require_texts
from dprap.schema.columns.listed import ListedColumn
from dprap.schema.value_sets import CodeWeights, Member, ValueSet
from dprap.schema.values import Plain, Unplaced, is_text_type


class Boolean(ListedColumn):
    """False (code 0) or true (code 1)."""

    type: Literal["boolean"]
    false_values: tuple[StrictStr, ...] = ("false", "False", "FALSE")
    true_values: tuple[StrictStr, ...] = ("true", "True", "TRUE")

    storages = ("bool", "string")
    sql_types: ClassVar[Mapping[DatabaseKind, SqlType]] = {
        "boolean": "boolean",
        "text": "text",
        "enum": "text",
    }
    not_readable = "cannot be read as boolean"
    not_listed = Unplaced.UNREADABLE

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (
            not self.false_values
            or not self.true_values
            or set(self.false_values) & set(self.true_values)
        ):
            raise ValueError(
                "false_values and true_values must be non-empty and have no text in common"
            )
        require_texts(self.label_texts)
        return self

    @property
    def regular(self) -> int:
        """Two codes: false and true."""
        return 2

    @cached_property
    def label_texts(self) -> dict[str, int]:
        """Position of each text that means false or true."""
        return {**dict.fromkeys(self.false_values, 0), **dict.fromkeys(self.true_values, 1)}

    def takes(self, kind: pa.DataType) -> bool:
        """Booleans and text."""
        return bool(pa.types.is_boolean(kind)) or is_text_type(kind)

    def place_plain(self, value: Plain) -> int:
        """Booleans and the declared texts; numbers are no booleans."""
        if isinstance(value, bool):
            return int(value)
        return (
            self.label_texts.get(value, Unplaced.UNREADABLE)
            if isinstance(value, str)
            else Unplaced.UNREADABLE
        )

    def place_array(self, array: pa.Array) -> Positions:
        """Booleans; text goes to `place_texts`."""
        filled = array.fill_null(False)  # noqa: FBT003 - Arrow's argument
        return np.asarray(filled.to_numpy(zero_copy_only=False).astype(np.int64))

    def draw(
        self,
        positions: Int64[np.ndarray, " records"],
        is_null: Mask,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> pa.Array:
        """The boolean, or the first text that means it."""
        if self.storage == "string":
            texts = pa.array([self.false_values[0], self.true_values[0]])
            return texts.take(pa.array(positions, mask=is_null))
        return pa.array(positions == 1, mask=is_null)

    def as_csv(self, array: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """The first text that means false or true."""
        if not pa.types.is_boolean(array.type):
            return array
        import pyarrow.compute as pc

        return pc.if_else(array, self.true_values[0], self.false_values[0])

    def regular_code_of(self, name: str, value: Any) -> int:
        """0 for false, 1 for true."""
        if type(value) is not bool:
            raise ValueError(f"needs true or false for column {name!r}")
        return int(value)

    @property
    def all_members(self) -> tuple[Member, ...]:
        """False and true."""
        return (False, True)

    def equal(self, name: str, text: str) -> ValueSet:
        """The boolean that a text means, by the declared texts or the words true and false."""
        for member, texts in ((False, self.false_values), (True, self.true_values)):
            if text in texts or text.lower() == str(member).lower():
                return ValueSet(members=frozenset({member}))
        raise WorkloadError(f"column {name!r} is true or false, not {text!r}.")

    def position_shares(self, values: ValueSet) -> CodeWeights:
        """Whether false and true are in a set."""
        return np.array([False in values.members, True in values.members], dtype=np.float64)

    def regular_label(self, code: int) -> str:
        """The word false or true."""
        return ("false", "true")[code]
