"""Synthetic tables to files, written as the schema's CSV files are: null texts, delimiter and date formats."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from dprap.errors import DataError
from dprap.schema import Boolean, Categorical, Date, Datetime, Integer, Schema


def write_table(table: pa.Table, path: str | Path, schema: Schema) -> None:
    """Write a decoded table as .csv, .tsv or .parquet; encoding the file again gives the same codes."""
    path = Path(path)
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            pa.parquet.write_table(table, path)
        elif suffix in (".csv", ".tsv"):
            options = pa.csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else schema.csv.delimiter)
            pa.csv.write_csv(_as_texts(table, schema), path, options)
        else:
            raise DataError(f"{path}: tables are written as .csv, .tsv or .parquet. Choose one of these endings.")
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}). Check the folder.") from None


def _as_texts(table: pa.Table, schema: Schema) -> pa.Table:
    """The columns with what Arrow would write differently from how the schema reads it: own texts, formats, nulls."""
    columns = {}
    for name, column in schema.columns.items():
        array = table.column(name)
        if isinstance(column, Boolean) and pa.types.is_boolean(array.type):
            array = pc.if_else(array, column.true_values[0], column.false_values[0])
        elif isinstance(column, Date | Datetime) and not pa.types.is_string(array.type):
            array = _moments(array, column)
        elif isinstance(column, Integer | Categorical) and pa.types.is_floating(array.type):
            array = array.cast(pa.int64())  # 20000000000, not 2e+10
        elif array.type == pa.float32():
            array = array.cast(pa.float64())  # the shortest text of a float32 may lie in the next bin
        null_text = next(iter(schema.null_texts(name)), "")
        if array.null_count and null_text:
            array = pc.fill_null(array.cast(pa.string()), null_text)
        columns[name] = array
    return pa.table(columns)


def _moments(array: pa.ChunkedArray, column: Date | Datetime) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, Date):
        array = array.cast(pa.date32())  # pandas keeps days as midnights
    elif column.format is None and column.timezone is not None:
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))  # old offsets have seconds, which Arrow does not write
    if column.format is None:
        return array
    texts = [None if each is None else each.strftime(column.format) for each in array.to_pylist()]
    return pa.array(texts, pa.string())
