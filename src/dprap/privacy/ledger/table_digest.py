"""A digest of a table in memory by its raw content, for finding its ledger again.

Two tables with the same column names and the same records, in any order, have the same digest,
whichever library holds them. Numbers are compared as 64-bit floats, moments to the microsecond,
everything else as text, missing values of all kinds are one, and of an object that is no value only
its class counts: what it says of itself may be its address in memory, which is another one in the
next process, or an error. Such coarseness errs on the safe side: tables that it confuses share a
ledger and their budgets add up. No value makes it fail.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dprap.array_types import UInt64
from dprap.encoding.frames import from_polars
from dprap.encoding.tables import is_stream, library_of, native
from dprap.errors import DataError
from dprap.schema.values import Unplaced, plain

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_HALF = np.uint64(32)


def content_digest(table: Any) -> bytes:
    """The digest of an Arrow, pandas or polars table, or of a mapping from column names to values.

    >>> frame = pd.DataFrame({"age": [30, 41], "sex": ["F", "M"]})
    >>> content_digest(frame) == content_digest(pa.Table.from_pandas(frame[::-1][["sex", "age"]]))
    True
    """
    columns = sorted(_columns(table), key=lambda item: item[0])
    hashes = np.zeros(0, np.uint64)
    for name, values in columns:
        of_values = _hashes(values)
        if not len(hashes):
            hashes = np.zeros(len(of_values), np.uint64)
        hashes ^= np.uint64(
            int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest())
        )
        hashes += of_values
        hashes *= _ODD
        hashes ^= hashes >> _HALF
    # Sums over records do not depend on their order; two sums make 128 bits.
    sums = [int(part.sum(dtype=np.uint64)) for part in (hashes, hashes * hashes)]
    facts = repr(([name for name, _ in columns], len(hashes), sums))
    return hashlib.sha256(facts.encode("utf-8", "replace")).digest()


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    table = native(table)
    library = library_of(table)
    if library == "pandas" and isinstance(table, pd.DataFrame):
        for position, name in enumerate(table.columns):
            yield str(name), table.iloc[:, position]
        return
    if isinstance(table, Mapping):
        for name, values in table.items():
            yield str(name), _objects(values)
        return
    if library == "polars" and hasattr(table, "get_columns"):
        for column in table.get_columns():
            yield column.name, from_polars(column, _objects)
        return
    if is_stream(table):
        with pa.RecordBatchReader.from_stream(table) as reader:
            table = reader.read_all()
    arrow = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    if not isinstance(arrow, pa.Table):
        raise DataError(
            f"cannot read a table from {type(table).__name__}. Give an Arrow, pandas or polars"
            " table."
        )
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        yield str(name), column


def _objects(values: Iterable[Any]) -> pd.Series:
    return pd.Series(values, dtype=object)


def _hashes(values: Any) -> UInt64[np.ndarray, " records"]:
    found = _plain(values)
    if isinstance(found, np.ndarray):
        found = found + 0.0  # -0.0 becomes 0.0
        found[np.isnan(found)] = np.nan  # one NaN of the many
        return np.asarray(pd.util.hash_array(found))
    different = pc.dictionary_encode(found)
    # As bytes, because a text of Arrow need not be UTF-8.
    hashed = pd.util.hash_array(
        np.asarray(different.dictionary.cast(pa.large_binary()).to_pylist(), dtype=object)
    )
    return np.asarray(hashed[np.asarray(different.indices)])


def _plain(values: Any) -> np.ndarray | pa.Array:
    """A column as floats, or as an Arrow array of texts; a missing value is NaN or the empty
    text.
    """
    try:
        column = (
            values
            if isinstance(values, pa.ChunkedArray)
            else pa.chunked_array([pa.array(values, from_pandas=True)])
        )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us"))
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if (
            pa.types.is_integer(column.type)
            or pa.types.is_floating(column.type)
            or pa.types.is_decimal(column.type)
        ):
            numbers = column.cast(pa.float64(), safe=False)
            return np.array(pc.fill_null(numbers, float("nan")).to_numpy(), dtype=np.float64)
        if pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return pa.concat_arrays(pc.fill_null(column, "").cast(pa.large_string()).chunks)
        items = column.to_pylist()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        items = list(values)  # objects of several kinds
    return pa.array([_text(item) for item in items], pa.large_string())


def _text(item: Any) -> str:
    found = plain(item)
    if found is Unplaced.MISSING:
        return ""
    if found is Unplaced.UNREADABLE:
        return str(item) if type(item) in (bytes, list, dict) else type(item).__name__
    if isinstance(found, int) and not isinstance(found, bool):
        found = f"{Decimal(found):f}"  # Python refuses to write thousands of digits
    return str(found).encode("utf-8", "backslashreplace").decode()  # lone surrogates are no text
