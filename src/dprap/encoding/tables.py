"""Tables of any kind as a stream of Arrow batches: objects in memory, and files by their endings.

Files of Excel and of JSON lines have values without a type, as columns of Python objects do: the
schema places each value alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from dprap.encoding.csv_files import csv_header, read_csv
from dprap.encoding.frames import Arrow, Convert, from_pandas, from_polars, guessed
from dprap.encoding.objects import id_texts, place_objects, placed_array
from dprap.encoding.untyped_files import Rows, open_excel, open_json_lines
from dprap.errors import DataError
from dprap.schema import Schema
from dprap.schema.file_layout import Csv
from dprap.schema.values import is_text_type

BATCH_ROWS = 1 << 17
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
"""Endings of compressed files, after that of the kind of file."""

_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
_TAB_ENDINGS = (".tsv", ".tab")
_ARROW_ENDINGS = (".arrow", ".arrows", ".feather", ".ipc")
_EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_JSON_ENDINGS = (".jsonl", ".ndjson")
ENDINGS = (*_TEXT_ENDINGS, ".parquet", ".pq", *_ARROW_ENDINGS, *_JSON_ENDINGS, *_EXCEL_ENDINGS)


class Read(Protocol):
    """How a table is read."""

    def __call__(self, parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Read some parts of the table, by their numbers, or all of it."""
        ...


@dataclass(frozen=True)
class TableBatches:
    """A table that can be read batch by batch, more than once."""

    names: tuple[str, ...]
    is_text: bool
    """All values are text from a CSV file, to be read by the schema."""
    read: Read
    part_rows: tuple[int, ...] | None = None
    """Records of each part that can be read by itself, the row groups of Parquet; None if nobody
    counted them.
    """
    is_typed: bool = True
    """Columns have declared types, other than in CSV files, JSON lines and sheets."""


OfObjects: TypeAlias = Callable[[str, Schema | None], Convert]
"""What becomes of a column of objects, by its name and the schema."""


def placed_or_guessed(name: str, schema: Schema | None) -> Convert:
    """What becomes of a column of objects: positions by the schema, texts of person ids, or a guess
    for a draft.
    """
    if schema is None:
        return guessed
    if name in schema.columns:
        column = schema.columns[name]
        return lambda values: placed_array(place_objects(column, values))
    return lambda values: id_texts(name, values)


def open_table(
    table: Any,
    schema: Schema | None = None,
    *,
    batch_rows: int = BATCH_ROWS,
    also: tuple[str, ...] = (),
    of_objects: OfObjects = placed_or_guessed,
) -> TableBatches:
    """Open a table in memory, anything that Arrow can stream from, or the path of a file.

    Of the columns only those of the schema, if there is one, are read, and those named in `also`.
    Columns of objects, which have no type, are placed by the schema right here, value by value.
    """
    if isinstance(table, str | Path):
        return _open_file(Path(table), schema, batch_rows, also, of_objects)
    table = native(table)
    if is_stream(table):
        return _open_stream(table, schema, also)
    names, arrow = _in_memory(table, schema, also, of_objects)
    return TableBatches(
        names,
        is_text=False,
        read=lambda parts=None: iter(arrow.to_batches(batch_rows)),  # noqa: ARG005
    )


def native(table: Any) -> Any:
    """The table that a wrapper such as narwhals holds, or the table itself."""
    return (
        table.to_native()
        if hasattr(table, "__narwhals_dataframe__") or hasattr(table, "to_native")
        else table
    )


def is_stream(table: Any) -> bool:
    """Whether Arrow can stream from an object, and dprap has no own way of reading it.

    pandas and polars could stream as well, but would then infer types of columns of objects from
    the values.
    """
    own = isinstance(table, pa.Table | pa.RecordBatch) or library_of(table) is not None
    return not own and hasattr(table, "__arrow_c_stream__")


def library_of(table: Any) -> str | None:
    """`pandas` or `polars` for their frames, and for frames of classes made from theirs, such as
    GeoDataFrame.
    """
    names = (kind.__module__.partition(".")[0] for kind in type(table).__mro__)
    return next((name for name in names if name in ("pandas", "polars")), None)


def _open_stream(table: Any, schema: Schema | None, also: tuple[str, ...]) -> TableBatches:
    if isinstance(table, pa.RecordBatchReader):
        raise DataError(
            "a RecordBatchReader can be read once, and dprap reads more than once. Give what it was"
            " made from."
        )

    def unreadable() -> DataError:
        return DataError(
            f"cannot read a table from {type(table).__name__}. It failed to stream its records."
        )

    try:
        with pa.RecordBatchReader.from_stream(table) as reader:
            names = tuple(reader.schema.names)
    except (pa.ArrowException, OSError, ValueError, TypeError, RuntimeError):
        raise unreadable() from None
    wanted = _wanted(names, schema, also)

    def read(parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
        try:
            with pa.RecordBatchReader.from_stream(table) as reader:
                for batch in reader:
                    yield batch.select(wanted)
        except (pa.ArrowException, OSError, ValueError, TypeError, RuntimeError):
            raise unreadable() from None

    return TableBatches(names, is_text=False, read=read)


def _wanted(names: tuple[str, ...], schema: Schema | None, also: tuple[str, ...]) -> list[str]:
    return [name for name in names if schema is None or name in schema.columns or name in also]


def _in_memory(
    table: Any, schema: Schema | None, also: tuple[str, ...], of_objects: OfObjects
) -> tuple[tuple[str, ...], pa.Table]:
    """All column names of a table in memory, and an Arrow table of those that are wanted."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    library = library_of(table)
    if isinstance(table, pa.Table):
        columns = list(zip(table.column_names, table.columns, strict=True))
        convert: Callable[[Any, Convert], Arrow] = lambda column, _: column  # noqa: E731
    elif library == "pandas" and hasattr(table, "columns"):
        columns = [
            (str(name), table.iloc[:, position]) for position, name in enumerate(table.columns)
        ]
        convert = from_pandas
    elif library == "polars" and hasattr(table, "get_columns"):
        columns = [(column.name, column) for column in table.get_columns()]
        convert = from_polars
    else:
        raise DataError(
            f"cannot read a table from {type(table).__name__}. "
            "Give a table of Arrow, pandas, polars or DuckDB, or the path of a file."
        )
    wanted = [
        (name, column)
        for name, column in columns
        if schema is None or name in schema.columns or name in also
    ]
    arrays = [convert(column, of_objects(name, schema)) for name, column in wanted]
    return tuple(name for name, _ in columns), pa.table(arrays, names=[name for name, _ in wanted])


def kind_of_file(path: Path) -> str | None:
    """The ending that says what a file is, None if there is none that dprap reads; compression
    comes after it.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in ENDINGS else None


def is_text_file(path: Path) -> bool:
    """Whether a path is that of a CSV file, compressed or not."""
    return kind_of_file(path) in _TEXT_ENDINGS


def csv_form(path: Path, form: Csv) -> Csv:
    """The form of a CSV file: as declared, with tabs where the ending says so."""
    return (
        form.model_copy(update={"delimiter": "\t"}) if kind_of_file(path) in _TAB_ENDINGS else form
    )


def require_file(path: Path) -> str:
    """The kind of a file that is there and can be read; raises DataError otherwise."""
    try:
        exists = path.exists()
    except OSError as error:
        raise DataError(
            f"{str(path)[:60]}…: cannot be read ({error.strerror}). Check the path."
        ) from None
    if not exists:
        raise DataError(f"{path}: there is no such file. Check the path.")
    if not path.is_file():
        raise DataError(f"{path}: is not a file. Give one file of a table.")
    kind = kind_of_file(path)
    if kind is None:
        raise DataError(
            f"{path}: unknown kind of file. Tables end in {', '.join(ENDINGS[:-1])} or"
            f" {ENDINGS[-1]}."
        )
    return kind


def _open_file(
    path: Path,
    schema: Schema | None,
    batch_rows: int,
    also: tuple[str, ...],
    of_objects: OfObjects,
) -> TableBatches:
    kind = require_file(path)
    if kind in _TEXT_ENDINGS:
        return open_csv(path, csv_form(path, schema.csv if schema else Csv()))
    if kind in _ARROW_ENDINGS:
        return _open_arrow(path, schema, also)
    if kind in _JSON_ENDINGS:
        declared = None if schema is None else (*schema.columns, *also)
        rows = open_json_lines(path, declared)
        return _of_rows(rows, schema, batch_rows, also, of_objects)
    if kind in _EXCEL_ENDINGS:
        rows = open_excel(path, schema.excel if schema else None)
        return _of_rows(rows, schema, batch_rows, also, of_objects)
    return _open_parquet(path, schema, batch_rows, also)


def open_csv(path: Path, form: Csv) -> TableBatches:
    """A CSV file in a given form."""
    names = csv_header(path, form)
    return TableBatches(
        names,
        is_text=True,
        read=lambda parts=None: read_csv(path, names, form),  # noqa: ARG005
        is_typed=False,
    )


def _of_rows(
    rows: Rows,
    schema: Schema | None,
    batch_rows: int,
    also: tuple[str, ...],
    of_objects: OfObjects,
) -> TableBatches:
    """Rows of values without a type, each placed by the schema alone."""
    wanted = _wanted(rows.names, schema, also)

    def read(parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
        for columns in rows.batches(wanted, batch_rows):
            arrays = [
                of_objects(name, schema)(column)
                for name, column in zip(wanted, columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=wanted)

    return TableBatches(rows.names, is_text=False, read=read, is_typed=False)


def _open_arrow(path: Path, schema: Schema | None, also: tuple[str, ...]) -> TableBatches:
    def unreadable() -> DataError:
        return DataError(
            f"{path}: cannot be read as Arrow IPC. It may be truncated, damaged or of another kind."
        )

    def batches() -> Iterator[pa.RecordBatch]:
        with pa.input_stream(path) as raw:
            is_file = raw.read(6) == b"ARROW1"
        if is_file and path.suffix.lower() not in COMPRESSED:
            with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
                for number in range(file.num_record_batches):
                    yield file.get_batch(number)
            return
        with pa.input_stream(path) as raw, pa.ipc.open_stream(raw) as stream:
            yield from stream

    def names_of() -> tuple[str, ...]:
        with pa.input_stream(path) as raw:
            is_file = raw.read(6) == b"ARROW1"
        with pa.input_stream(path) as raw:
            opened = (
                pa.ipc.open_file(pa.memory_map(str(path))) if is_file else pa.ipc.open_stream(raw)
            )
            return tuple(opened.schema.names)

    try:
        names = names_of()
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable() from None
    wanted = _wanted(names, schema, also)

    def read(parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
        try:
            for batch in batches():
                chosen = batch.select(wanted)
                for column in chosen.columns:
                    _checkable(column).validate(full=True)
                yield chosen
        except (pa.ArrowException, OSError, ValueError):
            raise unreadable() from None

    return TableBatches(names, is_text=False, read=read)


def _checkable(array: pa.Array) -> pa.Array:
    """An array with bytes in place of texts, to be validated.

    Arrow takes lengths and references from a file as they stand there, so they are checked before
    they are followed. A text that is no UTF-8 is a value like others, and no damage.
    """
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(
            array.indices, _checkable(array.dictionary), safe=False
        )
    for texts, raw in ((pa.string(), pa.binary()), (pa.large_string(), pa.large_binary())):
        if array.type == texts:
            return array.view(raw)
    return array


def _open_parquet(
    path: Path, schema: Schema | None, batch_rows: int, also: tuple[str, ...]
) -> TableBatches:
    def unreadable() -> DataError:
        return DataError(
            f"{path}: cannot be read as Parquet. It may be truncated, damaged or of another kind."
        )

    try:
        with pa.parquet.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
            # texts as references to distinct ones, which are read and placed once: half the work of
            # texts one by one
            texts = [each.name for each in file.schema_arrow if is_text_type(each.type)]
            groups = tuple(
                file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)
            )
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable() from None
    wanted = _wanted(names, schema, also)

    def read(parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        try:
            # without pre_buffer=False the whole file is held in memory
            with pa.parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts) as file:
                yield from file.iter_batches(batch_rows, row_groups=parts, columns=wanted)
        except (pa.ArrowException, OSError):
            raise unreadable() from None

    return TableBatches(names, is_text=False, read=read, part_rows=groups)
