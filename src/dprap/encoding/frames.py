"""Columns of pandas and polars frames as Arrow arrays, by their declared types alone.

A column with a type becomes an Arrow array of that type: no value can change that, and none can
make it fail. A column of objects goes to `of_objects`, which looks at each value alone. Types that
pandas or polars chose for a frame by looking at its values were chosen before dprap saw it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dprap.schema.values import Unplaced, plain

Arrow: TypeAlias = pa.Array | pa.ChunkedArray
Convert: TypeAlias = Callable[[Iterable[Any]], pa.Array]

_MASKED = {
    "boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64",
}  # fmt: skip
# Polars types that Arrow does not have.
_POLARS_OBJECTS = {"Object", "Int128", "UInt128"}


def from_pandas(series: Any, of_objects: Convert) -> Arrow:
    """A pandas column; categories are converted once, and records refer to them."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biufMm" and dtype.itemsize <= 8:
            return pa.array(
                series.to_numpy().astype(dtype.newbyteorder("="), copy=False), from_pandas=True
            )
    elif hasattr(dtype, "categories"):
        return _from_categories(series, of_objects)
    elif dtype.kind == "M" and getattr(dtype, "tz", None) is not None:
        # any zone: an instant is an instant
        return pa.Array.from_pandas(series.dt.tz_convert("UTC"))
    elif (
        dtype.name in _MASKED
        or hasattr(dtype, "pyarrow_dtype")
        or getattr(dtype, "storage", None) == "pyarrow"
    ):
        return pa.Array.from_pandas(series)
    return of_objects(np.asarray(series, dtype=object))


def from_polars(series: Any, of_objects: Convert) -> Arrow:
    """A polars column."""
    if str(series.dtype) in _POLARS_OBJECTS:
        return of_objects(series.to_list())
    return series.to_arrow()


def guessed(values: Iterable[Any]) -> pa.Array:
    """Objects in the type that Arrow infers, else as text: for drafts, which a person reviews, and
    nothing else.
    """
    objects = list(values)
    try:
        return pa.array(objects, from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        texts = [
            None if plain(value) is Unplaced.MISSING else str(value).encode("utf-8", "replace")
            for value in objects
        ]
        return pa.array(texts, pa.binary()).cast(pa.string())


def _from_categories(series: Any, of_objects: Convert) -> Arrow:
    codes = series.cat.codes.to_numpy()
    indices = pa.array(codes, mask=codes < 0)
    kinds = series.cat.categories
    # A series made of objects would get a type if all of them are texts: one category would decide
    # for all others.
    is_typed = kinds.dtype != object
    categories = (
        from_pandas(kinds.to_series(), of_objects) if is_typed else of_objects(kinds.to_numpy())
    )
    if isinstance(categories, pa.ChunkedArray):
        categories = categories.combine_chunks()
    if isinstance(categories, pa.ExtensionArray):  # positions: a record takes that of its category
        return pa.ExtensionArray.from_storage(categories.type, categories.storage.take(indices))
    return pa.DictionaryArray.from_arrays(indices, categories)
