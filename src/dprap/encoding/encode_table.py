"""Raw tables to codes, exactly by the schema.

Errors about values are for the steward's eyes: everything is encoded, or refused, before a curator
exists and before anything is spent. They name the column and the kind of problem, never a value, a
row or a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.array_types import CodeColumn
from dprap.encoding.codes import Codes
from dprap.encoding.column_codes import encode_column
from dprap.encoding.tables import BATCH_ROWS, open_table
from dprap.errors import DataError, SchemaError
from dprap.schema import Schema


def encode(table: Any, schema: Schema) -> Codes:
    """Codes of an Arrow, pandas or polars table or of a CSV or Parquet file, in the order of the
    schema's columns.

    >>> schema = Schema.from_domain({"age": 100, "sex": 2})
    >>> encode(pa.table({"sex": [1, 0], "age": [42, 7]}), schema).column("age").tolist()
    [42, 7]
    """
    return _joined(list(encode_batches(table, schema)), schema)


def _joined(parts: list[tuple[CodeColumn, ...]], schema: Schema) -> Codes:
    rows = sum(len(part[0]) for part in parts)
    if rows == 0:
        raise DataError("the table has no records. There is nothing to release.")
    columns = tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    return Codes(schema.domain, columns)


def encode_with_ids(table: Any, schema: Schema, id_column: str) -> tuple[Codes, pa.ChunkedArray]:
    """Codes of a table and, from the same pass over it, the values of a column outside the schema:
    whose each record is.

    Ids are compared as they are written; one that reads as missing by the schema's `null_values`
    becomes null.
    """
    schema.require_reviewed()
    if id_column in schema.columns:
        raise SchemaError(
            f"column {id_column!r}: holds person ids, which are never published. Remove it from the"
            " schema."
        )
    source = open_table(table, schema, also=(id_column,))
    if id_column not in source.names:
        raise SchemaError(
            f"column {id_column!r}: is named as the person column and not in the table. Check its"
            " name."
        )
    check_columns(
        source.names,
        schema.model_copy(update={"ignore_columns": (*schema.ignore_columns, id_column)}),
    )
    parts, ids = [], []
    for batch in source.read():
        parts.append(encode_batch(batch, schema, is_text=source.is_text))
        ids.append(person_ids(batch, id_column, schema, is_text=source.is_text))
    return _joined(parts, schema), pa.chunked_array(ids)


def person_ids(
    batch: pa.RecordBatch | pa.Table, id_column: str, schema: Schema, *, is_text: bool
) -> pa.Array:
    """The ids of the people to whom the records of a batch belong; null where the schema reads one
    as missing.
    """
    found = batch.column(id_column)
    if not is_text:
        return found
    missing = pc.is_in(found, value_set=pa.array(schema.null_values, pa.string()))
    return pc.if_else(missing, pa.scalar(None, pa.string()), found)


def encode_batches(
    table: Any, schema: Schema, *, batch_rows: int = BATCH_ROWS
) -> Iterator[tuple[CodeColumn, ...]]:
    """Codes of a table batch by batch, for tables that do not fit in memory.

    Columns are checked before the first.
    """
    schema.require_reviewed()
    source = open_table(table, schema, batch_rows=batch_rows)
    check_columns(source.names, schema)
    for batch in source.read():
        yield encode_batch(batch, schema, is_text=source.is_text)


def encode_batch(
    batch: pa.RecordBatch | pa.Table, schema: Schema, *, is_text: bool = False
) -> tuple[CodeColumn, ...]:
    """Codes of one batch; with `is_text` all values are text from a CSV file and the schema's null
    texts apply.
    """
    encoded = []
    for name, column in schema.columns.items():
        array = batch.column(name)
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        null_texts = schema.null_texts(name) if is_text else None
        parts = [encode_column(name, column, chunk, null_texts=null_texts) for chunk in chunks]
        empty = encode_column(name, column, pa.nulls(0), null_texts=null_texts)
        encoded.append(parts[0] if len(parts) == 1 else np.concatenate([empty, *parts]))
    return tuple(encoded)


def check_columns(names: Sequence[str], schema: Schema) -> None:
    """Raise SchemaError unless a table with these column names is described by the schema, and
    DataError where they are those of a file in another encoding.

    What a table calls its columns is quoted only once all those of the schema are there: in a file
    without a header line the names are the values of a record.
    """
    missing = [name for name in schema.columns if name not in names]
    if missing and any("\0" in name for name in names):
        raise DataError(
            "the table is not text of the declared encoding: its header holds NULs. Say in the"
            " schema what it is, such as csv: {encoding: utf-16}, or convert it."
        )
    if missing:
        raise SchemaError(
            f"column {missing[0]!r}: is in the schema and not in the table{_more(missing)}. Add it"
            " or remove it from the schema."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SchemaError(
            f"column {twice[0]!r}: the table has it more than once. Rename or drop one."
        )
    known = {*schema.columns, *schema.ignore_columns}
    extra = [name for name in names if name not in known]
    if extra and not schema.ignore_extra_columns:
        raise SchemaError(
            f"column {extra[0]!r}: is in the table and not in the schema{_more(extra)}. "
            "Describe it, list it in ignore_columns or set ignore_extra_columns: true."
        )


def _more(names: list[str]) -> str:
    return f" ({len(names) - 1} more like it)" if len(names) > 1 else ""
