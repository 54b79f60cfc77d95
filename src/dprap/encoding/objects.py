"""Columns without a type: objects of any kind, placed one by one.

A pandas or polars column of objects has no type that could be checked, and inferring one would let
one record decide how all others are read. So each value goes to `column.place` alone, and what it
gives travels through Arrow as it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.array_types import Int64
from dprap.errors import DataError
from dprap.schema import Column
from dprap.schema.values import Unplaced, plain

# Objects of exactly these types that are equal mean the same, so each distinct one is placed once.
# Not so for zoned times: two that are equal may be an hour apart where clocks are put back.
_EQUAL_MEANS_SAME = (str, int, float, bool, date, type(None))


class PlacedType(pa.ExtensionType):  # type: ignore[misc]
    """The type of an Arrow column that holds positions and `Unplaced` numbers in place of
    values.
    """

    def __init__(self) -> None:
        super().__init__(pa.int64(), "dprap.placed")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> PlacedType:
        return cls()


def place_objects(column: Column, values: Iterable[Any]) -> Int64[np.ndarray, " records"]:
    """`column.place` of each value."""
    return for_each_object(column.place, values, np.int64)


def for_each_object(
    of: Callable[[Any], float], values: Iterable[Any], dtype: type[np.generic]
) -> np.ndarray:
    """What a function says of each value; it is asked once for values that mean the same."""
    objects = list(values)
    types = set(map(type, objects))
    if len(types) == 1:
        return _for_each_alike(of, types.pop(), objects, dtype)
    kinds = np.fromiter(map(id, map(type, objects)), dtype=np.int64, count=len(objects))
    found = np.empty(len(objects), dtype=dtype)
    for each in types:
        where = np.flatnonzero(kinds == id(each))
        found[where] = _for_each_alike(of, each, [objects[index] for index in where], dtype)
    return found


def _for_each_alike(
    of: Callable[[Any], float], kind: type, objects: list[Any], dtype: type[np.generic]
) -> np.ndarray:
    """What a function says of each of some objects of one type."""
    if kind in _EQUAL_MEANS_SAME:
        known = {value: of(value) for value in set(objects)}
        return np.fromiter(map(known.__getitem__, objects), dtype=dtype, count=len(objects))
    return np.fromiter(map(of, objects), dtype=dtype, count=len(objects))


def placed_array(positions: Int64[np.ndarray, " records"]) -> pa.ExtensionArray:
    """Positions as a column that Arrow can cut into batches."""
    return pa.ExtensionArray.from_storage(PlacedType(), pa.array(positions))


def id_texts(name: str, values: Iterable[Any]) -> pa.Array:
    """Person ids among objects: text, integers and UUIDs, equal if they are written alike."""
    texts: list[bytes | None] = []
    for value in values:
        found = str(value) if isinstance(value, uuid.UUID) else plain(value)
        if found is Unplaced.MISSING:
            texts.append(None)
        elif isinstance(found, str) or (
            isinstance(found, int) and not isinstance(found, bool | Unplaced)
        ):
            texts.append(
                (found if isinstance(found, str) else _digits(found)).encode(
                    "utf-8", "surrogatepass"
                )
            )
        else:
            raise DataError(
                f"column {name!r}: person ids must be integers or text. Convert them to text."
            )
    return pa.array(texts, pa.large_binary())


def _digits(number: int) -> str:
    """The digits of an integer; Python refuses to write thousands of them, Decimal does not."""
    return f"{Decimal(number):f}"
