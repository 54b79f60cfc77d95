"""Codes of whole columns: the fast twin of `column.place`, for every kind of Arrow array.

Each path gives, element by element, what `column.place` gives for the value alone. No step can
raise because of a value, and none looks at a neighbour: there is no cast that fails for some texts,
no inference, no second parser for a whole batch. The column itself places arrays of its own types
and texts; here are the forms in which any column may come. A column whose *type* holds no value of
the declared column is a SchemaError, because types are part of a table's public structure.

Positions and the reasons for having none (`Unplaced`) become codes by the column's policy. Messages
name the column and the kind of problem, never a value, a row or a count.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.array_types import CodeColumn
from dprap.encoding.codes import code_dtype
from dprap.encoding.objects import PlacedType
from dprap.encoding.policy import unplaced_code
from dprap.errors import DataError, SchemaError
from dprap.schema import Column
from dprap.schema.arrays import Positions, nulls, with_missing
from dprap.schema.values import Unplaced, is_text_type


def encode_column(
    name: str, column: Column, array: pa.Array, *, null_texts: tuple[str, ...] | None
) -> CodeColumn:
    """Codes of one column.

    `null_texts` is given for CSV: all values are then text, and these texts mean null.
    """
    return codes_of(name, column, positions_of(name, column, array, null_texts))


def encode_text(
    name: str, column: Column, value: str | None, *, null_texts: tuple[str, ...]
) -> int:
    """The code of one text that stands for many records, such as the name of a folder."""
    position = Unplaced.MISSING if value in null_texts else column.place(value)
    return int(codes_of(name, column, np.array([position], dtype=np.int64))[0])


def codes_of(name: str, column: Column, positions: Positions) -> CodeColumn:
    """Codes for positions: what has none gets the code of the column's policy, or is refused."""
    if len(positions) and positions.min() < 0:
        for reason in Unplaced:
            has_none = positions == reason
            if has_none.any():
                positions = np.where(has_none, unplaced_code(name, column, reason), positions)
    return positions.astype(code_dtype(column.size))


def positions_of(
    name: str, column: Column, array: pa.Array, null_texts: tuple[str, ...] | None = None
) -> Positions:
    """`column.place` of each value of an Arrow array."""
    kind = array.type
    if isinstance(kind, PlacedType):
        return np.asarray(
            pc.fill_null(array.storage, int(Unplaced.MISSING)).to_numpy(zero_copy_only=False)
        )
    if pa.types.is_null(kind):
        return _all_missing(len(array))
    if pa.types.is_dictionary(kind):
        # the distinct values once, also those that no record refers to: only what a record has can
        # be refused
        return _looked_up(
            name, positions_of(name, column, array.dictionary, null_texts), array.indices
        )
    # text in a typed table is read only where the schema says so, or where nothing can go wrong
    if not column.takes(kind) and not (null_texts is not None and is_text_type(kind)):
        raise SchemaError(
            f"column {name!r}: the table has {kind} where the schema says {column.described}. "
            "Convert the column or change its type."
        )
    if is_text_type(kind):
        return _place_texts(
            name, column, array, (column.null_values or ()) if null_texts is None else null_texts
        )
    if len(array) == 0:
        return _all_missing(0)
    missing = nulls(array) | column.null_mask(array) if column.null_numbers else nulls(array)
    return with_missing(column.place_array(array), missing)


def _all_missing(rows: int) -> Positions:
    return np.full(rows, Unplaced.MISSING, dtype=np.int64)


def _looked_up(name: str, distinct: Positions, indices: pa.Array) -> Positions:
    """Positions of values that refer to distinct ones by their index, or to nothing.

    Arrow takes references from a file as they stand there: in a damaged one they may lead to no
    value, or from the end.
    """
    if indices.null_count == len(indices):
        return _all_missing(len(indices))
    places = pc.fill_null(indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if len(distinct) == 0 or places.min() < 0 or places.max() >= len(distinct):
        raise DataError(
            f"column {name!r}: refers to values that are not there. The table is damaged: write it"
            " again."
        )
    return with_missing(distinct[places], nulls(indices))


def _place_texts(
    name: str, column: Column, texts: pa.Array, null_texts: tuple[str, ...]
) -> Positions:
    if pa.types.is_string_view(texts.type):
        texts = texts.cast(pa.large_string())  # which few of Arrow's functions know
    if not column.is_ordered and not null_texts:
        return column.place_texts(texts)
    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    if null_texts and len(distinct):
        is_null = pc.is_in(distinct, value_set=pa.array(null_texts, distinct.type))
        distinct = pc.if_else(is_null, pa.scalar(None, distinct.type), distinct)
    return _looked_up(name, column.place_texts(distinct), encoded.indices)
