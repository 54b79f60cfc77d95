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

from dprap.encoding.csv_quotes import check_quotes
from dprap.encoding.frames import Arrow, Convert, from_pandas, from_polars, guessed
from dprap.encoding.objects import id_texts, place_objects, placed_array
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

    Of the columns only those of the schema, if there is one, are read, and those named in `also`. Columns of objects,
    which have no type, are placed by the schema right here, value by value.
    """
    if isinstance(table, str | Path):
        return _open_file(Path(table), schema, batch_rows, also)
    names, arrow = _in_memory(table, schema, also)
    return TableBatches(names, is_text=False, read=lambda: iter(arrow.to_batches(batch_rows)))


def _in_memory(table: Any, schema: Schema | None, also: tuple[str, ...]) -> tuple[tuple[str, ...], pa.Table]:
    """All column names of a table in memory, and an Arrow table of those that are wanted."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    library = type(table).__module__.partition(".")[0]
    if isinstance(table, pa.Table):
        columns = list(zip(table.column_names, table.columns, strict=True))
        convert: Callable[[Any, Convert], Arrow] = lambda column, _: column  # noqa: E731
    elif library == "pandas" and hasattr(table, "columns"):
        columns = [(str(name), table.iloc[:, position]) for position, name in enumerate(table.columns)]
        convert = from_pandas
    elif library == "polars" and hasattr(table, "get_columns"):
        columns = [(column.name, column) for column in table.get_columns()]
        convert = from_polars
    else:
        raise DataError(
            f"cannot read a table from {type(table).__name__}. "
            "Give an Arrow, pandas or polars table or a CSV or Parquet path."
        )
    wanted = [(name, column) for name, column in columns if schema is None or name in schema.columns or name in also]
    arrays = [convert(column, _of_objects(name, schema)) for name, column in wanted]
    return tuple(name for name, _ in columns), pa.table(arrays, names=[name for name, _ in wanted])


def _of_objects(name: str, schema: Schema | None) -> Convert:
    """What becomes of a column of objects: positions by the schema, texts of person ids, or a guess for a draft."""
    if schema is None:
        return guessed
    if name in schema.columns:
        column = schema.columns[name]
        return lambda values: placed_array(place_objects(column, values))
    return lambda values: id_texts(name, values)


def _open_file(path: Path, schema: Schema | None, batch_rows: int, also: tuple[str, ...]) -> TableBatches:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    try:
        exists = path.exists()
    except OSError as error:
        raise DataError(f"{str(path)[:60]}…: cannot be read ({error.strerror}). Check the path.") from None
    if not exists:
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
            check_quotes(path, delimiter)
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
