"""Columns without a type: objects of any kind, placed one by one.

A pandas or polars column of objects has no type that could be checked, and inferring one would let one record decide how
all others are read. So each value goes to `column.place` alone, and what it gives travels through Arrow as it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from dprap.errors import DataError
from dprap.schema import Column

# Objects of exactly these types that are equal mean the same, so each distinct one is placed once. Not so for zoned
# times: two that are equal may be an hour apart where clocks are put back.
_EQUAL_MEANS_SAME = (str, int, float, bool, date, type(None))


class PlacedType(pa.ExtensionType):
    """The type of an Arrow column that holds positions and `Unplaced` numbers in place of values."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "dprap.placed")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> PlacedType:
        return cls()


def place_objects(column: Column, values: Iterable[Any]) -> Int64[np.ndarray, "records"]:
    """`column.place` of each value."""
    objects = list(values)
    kinds = np.fromiter(map(id, map(type, objects)), dtype=np.int64, count=len(objects))
    positions = np.empty(len(objects), dtype=np.int64)
    for kind in np.unique(kinds):
        where = np.flatnonzero(kinds == kind)
        same = objects if len(where) == len(objects) else [objects[index] for index in where]
        if type(same[0]) in _EQUAL_MEANS_SAME:
            known = {value: int(column.place(value)) for value in set(same)}
            found: Iterable[int] = map(known.__getitem__, same)
        else:
            found = map(column.place, same)
        positions[where] = np.fromiter(found, dtype=np.int64, count=len(same))
    return positions


def placed_array(positions: Int64[np.ndarray, "records"]) -> pa.ExtensionArray:
    """Positions as a column that Arrow can cut into batches."""
    return pa.ExtensionArray.from_storage(PlacedType(), pa.array(positions))


def id_texts(name: str, values: Iterable[Any]) -> pa.Array:
    """Person ids among objects: text, integers and UUIDs, equal if they are written alike."""
    texts: list[bytes | None] = []
    for value in values:
        if value is None or value != value:  # noqa: PLR0124 - NaN stands for missing
            texts.append(None)
        elif isinstance(value, str | int | np.integer | uuid.UUID) and not isinstance(value, bool):
            texts.append(str(value).encode("utf-8", "surrogatepass"))
        else:
            raise DataError(f"column {name!r}: person ids must be integers or text. Convert them to text.")
    return pa.array(texts, pa.large_binary())
