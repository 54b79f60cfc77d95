"""Synthetic tables to files, written as the schema's CSV files are: null texts, delimiter and date formats."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from dprap.errors import DataError
from dprap.schema import Schema


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
        array = column.as_csv(table.column(name))
        null_text = next(iter(schema.null_texts(name)), "")
        if array.null_count and null_text:
            array = pc.fill_null(array.cast(pa.string()), null_text)
        columns[name] = array
    return pa.table(columns)
