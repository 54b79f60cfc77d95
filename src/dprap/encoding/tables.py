"""Tables of any kind as a stream of Arrow batches: Arrow, pandas and polars objects, CSV and Parquet files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dprap.errors import DataError
from dprap.schema import Schema

BATCH_ROWS = 1 << 17
_CSV_BLOCK_BYTES = 1 << 21
# Arrow holds several blocks and their texts at a time, so this decides how much memory reading takes.


@dataclass(frozen=True)
class TableBatches:
    """A table that can be read batch by batch, more than once."""

    names: tuple[str, ...]
    is_text: bool
    """All values are text from a CSV file, to be read by the schema."""
    read: Callable[[], Iterator[pa.RecordBatch]]


def open_table(
    table: Any, schema: Schema | None = None, *, batch_rows: int = BATCH_ROWS, also: tuple[str, ...] = ()
) -> TableBatches:
    """Open an Arrow, pandas or polars table or the path of a CSV or Parquet file.

    Of a Parquet file only the columns of the schema, if there is one, are read, and those named in `also`.
    """
    if isinstance(table, str | Path):
        return _open_file(Path(table), schema, batch_rows, also)
    arrow = as_arrow(table, schema)
    return TableBatches(tuple(arrow.column_names), is_text=False, read=lambda: iter(arrow.to_batches(batch_rows)))


def as_arrow(table: Any, schema: Schema | None = None) -> pa.Table:
    """An Arrow table from a table in memory."""
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    library = type(table).__module__.partition(".")[0]
    if library == "pandas" and hasattr(table, "columns"):
        return _from_pandas(table, schema)
    if library == "polars" and hasattr(table, "to_arrow"):
        return table.to_arrow()
    raise DataError(
        f"cannot read a table from {type(table).__name__}. Give an Arrow, pandas or polars table or a CSV or Parquet path."
    )


def _from_pandas(frame: Any, schema: Schema | None) -> pa.Table:
    names = [str(name) for name in frame.columns]
    arrays = []
    for position, name in enumerate(names):
        series = frame.iloc[:, position]
        try:
            arrays.append(pa.Array.from_pandas(series))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            column = None if schema is None else schema.columns.get(name)
            if column is None or not column.is_total:
                raise DataError(
                    f"column {name!r}: mixes types or holds objects that are no plain values. Convert it to one type."
                ) from None
            arrays.append(_as_texts(series))
    return pa.table(arrays, names=names)


def _as_texts(series: Any) -> pa.Array:
    """Objects of mixed types as text; a total policy has a code for whatever that gives."""
    missing = series.isna().to_numpy()
    texts = [None if gone else str(value) for value, gone in zip(series, missing, strict=True)]
    return pa.array(texts, pa.string())


def _open_file(path: Path, schema: Schema | None, batch_rows: int, also: tuple[str, ...]) -> TableBatches:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if not path.exists():
        raise DataError(f"{path}: there is no such file. Check the path.")
    if not path.is_file():
        raise DataError(f"{path}: is not a file. Give one CSV or Parquet file.")
    if ".parquet" in suffixes[-1:] or ".pq" in suffixes[-1:]:
        return _open_parquet(path, schema, batch_rows, also)
    if ".csv" in suffixes[-2:] or ".tsv" in suffixes[-2:]:
        delimiter = "\t" if ".tsv" in suffixes[-2:] else schema.csv.delimiter if schema else ","
        return _open_csv(path, delimiter)
    raise DataError(f"{path}: unknown kind of file. Tables end in .csv, .tsv or .parquet.")


def _open_parquet(path: Path, schema: Schema | None, batch_rows: int, also: tuple[str, ...]) -> TableBatches:
    def unreadable() -> DataError:
        return DataError(f"{path}: cannot be read as Parquet. It may be truncated, damaged or of another kind.")

    try:
        with pa.parquet.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable() from None
    wanted = [name for name in names if schema is None or name in schema.columns or name in also]

    def read() -> Iterator[pa.RecordBatch]:
        try:
            # without pre_buffer=False the whole file is held in memory
            with pa.parquet.ParquetFile(path, pre_buffer=False) as file:
                yield from file.iter_batches(batch_rows, columns=wanted)
        except (pa.ArrowException, OSError):
            raise unreadable() from None

    return TableBatches(names, is_text=False, read=read)


def _open_csv(path: Path, delimiter: str) -> TableBatches:
    names = _csv_header(path, delimiter)

    def read() -> Iterator[pa.RecordBatch]:
        try:
            with pa.csv.open_csv(
                path,
                pa.csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, column_names=names, skip_rows_after_names=1),
                # an empty line is a record only where a record has one value
                pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1),
                pa.csv.ConvertOptions(column_types={name: pa.string() for name in names}, strings_can_be_null=False),
            ) as reader:
                yield from reader
        except (pa.ArrowException, OSError) as error:
            raise _csv_error(path, str(error)) from None

    return TableBatches(names, is_text=True, read=read)


def _csv_header(path: Path, delimiter: str) -> tuple[str, ...]:
    try:
        with pa.input_stream(path) as raw:  # decompresses .gz and the like
            start = raw.read(1 << 20)
        header = io.StringIO(start.decode("utf-8-sig", errors="ignore"), newline="")
        first = next(csv.reader(header, delimiter=delimiter), [])
    except (csv.Error, OSError, pa.ArrowException):
        raise DataError(f"{path}: cannot be read as CSV. Check its header line and permissions.") from None
    if not first:
        raise DataError(f"{path}: is empty. A CSV file needs a header line and records.")
    return tuple(first)


def _csv_error(path: Path, message: str) -> DataError:
    # Arrow's message quotes the line, which is private: only its kind may pass
    if "UTF8" in message:
        return DataError(f"{path}: is not UTF-8 text. Convert it to UTF-8.")
    if "Empty CSV" in message:
        return DataError(f"{path}: has no records.")
    if "straddl" in message:
        return DataError(f"{path}: has a record of more than 2 MB. Check its quotes: one may be left open.")
    if "Expected" in message and "columns" in message:
        return DataError(f"{path}: has lines with more or fewer fields than the header. Check delimiter and quotes.")
    return DataError(f"{path}: cannot be read as CSV. It may be truncated, damaged or of another kind.")
