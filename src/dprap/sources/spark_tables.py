"""Tables that Spark's workers read: what Spark hands to a worker, and how the worker makes codes of
it.

files   Files that every machine sees at the same path. Spark hands out names of files and of parts
        of Parquet files, and workers read them as the engine `files` does: with its rules for
        quotes, and partition values as text.
lines   CSV files elsewhere (`hdfs://…`, `s3a://…`). Spark's own CSV reader drops lines, trims NULs
        and lets an open quote take in the records after it, so Spark hands out lines and the worker
        reads each as one record. A quote that is open at a line's end is refused, even where a
        field may have a line break in it: nothing in a line tells that apart from a quote that was
        forgotten, which would join records.
frames  Any other data frame, and Parquet files elsewhere.

Everything runs in a session of our own, where no setting of the user's makes Spark pass over files
that it cannot read, or take partition values for the type that all of them together look like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.array_types import CodeColumn
from dprap.encoding import check_columns
from dprap.encoding.column_codes import encode_column
from dprap.encoding.csv_files import csv_fields, read_csv_lines
from dprap.errors import DataError, SettingsError
from dprap.schema import Schema
from dprap.schema.file_layout import Csv
from dprap.sources.locate import DataFile, find_files, hive_value
from dprap.sources.read_files import expected_records, open_file, read_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]
Encode: TypeAlias = Callable[[Batches, Schema], Iterator[tuple[CodeColumn, ...]]]
"""Runs in a worker: what Spark hands over becomes codes."""

_PART_RECORDS = 1 << 20
# Records of a Parquet file that are read together, whole row groups: enough that what a task costs
# by itself is little.

_TASKS_PER_CORE = 4
# So many, that one slow task does not keep all others waiting, and few, because each sends its own
# counts.

_WORKER_ROWS = 1 << 16
# Records that a worker encodes together. Spark sends ten thousand at a time.

_SETTINGS = {
    # one folder named region=x would turn region=01 and region=02 from numbers into texts
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # files that cannot be read are an error, never records that are not there
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_WORKER_ROWS),
}


@dataclass(frozen=True)
class SparkTable:
    """A data frame that Spark hands to the workers part by part, and what they do with a part."""

    frame: DataFrame
    encode: Encode
    expected_records: int | None = None


def spark_table(data: Any, schema: Schema) -> SparkTable:
    """The table in a data frame, or in the CSV or Parquet files at a path or address; its columns
    are checked.
    """
    if not isinstance(data, str | Path):
        return _of_frame(data, schema, ())
    session = _session()
    if _is_seen_by_all(session, str(data)):
        return _of_files(session, str(data), schema)
    endings = Path(str(data).rstrip("/")).name.lower().split(".")[1:]
    text = next((ending for ending in endings if ending in ("csv", "tsv")), None)
    if text is not None:
        if schema.csv != Csv(delimiter=schema.csv.delimiter):
            raise SettingsError(
                "Spark reads CSV files in UTF-8 with double quotes, a header at the top and no"
                " blanks to strip. Convert them, or read them without Spark."
            )
        return _of_lines(
            session, str(data), schema, "\t" if text == "tsv" else schema.csv.delimiter
        )
    with spark_errors():
        frame = session.read.parquet(str(data))
        in_path = _partition_names(frame)
    return _of_frame(frame, schema, tuple(in_path))


def _session() -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SettingsError(
            "Spark needs an extra package. Run: pip install 'dprap[spark]'."
        ) from None
    # ours to start: its workers are to have the packages that we have
    if SparkSession.getActiveSession() is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with spark_errors():
        session = SparkSession.builder.appName("dprap").getOrCreate().newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
    return session


def _is_seen_by_all(session: SparkSession, path: str) -> bool:
    """Whether this is a path, and paths without a scheme are those of the machines themselves."""
    if "://" in path or path.startswith("file:"):
        return False
    with spark_errors():
        default = session.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")  # noqa: SLF001 - no other way
    return str(default).startswith("file:")


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _of_files(session: SparkSession, path: str, schema: Schema) -> SparkTable:
    tasks: list[tuple[DataFile, tuple[int, ...] | None]] = []
    records = 0
    for file in find_files(path):
        table = open_file(file, schema)
        records += expected_records(file, table)
        tasks += [(file, part) for part in _parts(table.part_rows)]
    with spark_errors():
        most = _TASKS_PER_CORE * session.sparkContext.defaultParallelism
        frame = session.range(len(tasks), numPartitions=min(len(tasks), most)).toDF("task")

    def encode(batches: Batches, here: Schema) -> Iterator[tuple[CodeColumn, ...]]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                file, part = tasks[number]
                file.require_unchanged()
                yield from read_parts(file, here, part)

    return SparkTable(frame, encode, records)


def _parts(rows: tuple[int, ...] | None) -> Iterator[tuple[int, ...] | None]:
    """Parts of a file that are read together, by their numbers; None is the whole file."""
    if rows is None:
        yield None
        return
    ends = np.cumsum(rows) // _PART_RECORDS
    for end in np.unique(ends):
        yield tuple(int(number) for number in np.flatnonzero(ends == end))


# ── lines ─────────────────────────────────────────────────────────────────────────────────────────


def _of_lines(session: SparkSession, address: str, schema: Schema, delimiter: str) -> SparkTable:
    from pyspark.sql import functions as sql

    with spark_errors():
        lines = session.read.text(address)
        in_path = [name for name in lines.columns if name != "value"]
        file, start = sql.xxhash64("_metadata.file_path"), sql.col("_metadata.file_block_start")
        first = lines.where(start == 0).select("value").head()
        frame = lines.select(
            file.alias("file"), start.alias("start"), "value", *map(_quoted, in_path)
        )
    shown = address.rpartition("/")[2] or "the table"
    if first is None:
        raise DataError(f"{shown}: is empty. A CSV file needs a header line and records.")
    names = csv_fields(first["value"], delimiter, shown)
    check_columns([*names, *(name for name in in_path if name not in names)], schema)

    def encode(batches: Batches, here: Schema) -> Iterator[tuple[CodeColumn, ...]]:
        for batch in _without_headers(batches, names, delimiter, shown):
            table = read_csv_lines(batch.column("value"), names, delimiter, shown)
            if table.num_rows != batch.num_rows:
                # an empty line is no record where a record has several fields
                batch = batch.filter(pc.not_equal(pc.binary_length(batch.column("value")), 0))
            if table.num_rows != batch.num_rows:
                raise DataError(
                    f"{shown}: has lines that are no records. Check delimiter and quotes."
                )
            arrays = {name: batch.column(name) for name in in_path} | dict(
                zip(names, table.columns, strict=True)
            )
            yield _codes(arrays, here, is_text=lambda _: True)

    return SparkTable(frame, encode)


def _without_headers(batches: Batches, names: Sequence[str], delimiter: str, shown: str) -> Batches:
    """Lines without the first of each file, which must name the same columns everywhere."""
    before: tuple[int, int] | None = None
    for batch in _merged(batches):
        file, start = (batch.column(name).to_numpy() for name in ("file", "start"))
        is_first = np.append(True, (np.diff(file) != 0) | (np.diff(start) != 0))
        is_first[0] = (int(file[0]), int(start[0])) != before
        before = int(file[-1]), int(start[-1])
        is_header = is_first & (start == 0)
        for header in batch.column("value").filter(pa.array(is_header)).to_pylist():
            if csv_fields(header, delimiter, shown) != names:
                raise DataError(
                    f"{shown}: its files have different header lines. Write the same columns to"
                    " each."
                )
        lines = batch.filter(pa.array(~is_header))
        if lines.num_rows:
            yield lines


# ── frames ────────────────────────────────────────────────────────────────────────────────────────


def _of_frame(data: DataFrame, schema: Schema, in_path: tuple[str, ...]) -> SparkTable:
    check_columns(data.columns, schema)
    # Spark reads a dot in a name as a field of a struct: quote each name once, and be rid of it
    with spark_errors():
        frame = data.select(
            [data[_quoted(name)].alias(f"c{i}") for i, name in enumerate(schema.columns)]
        )

    def encode(batches: Batches, here: Schema) -> Iterator[tuple[CodeColumn, ...]]:
        for batch in _merged(batches):
            arrays = dict(zip(here.columns, batch.columns, strict=True))
            yield _codes(arrays, here, is_text=lambda name: name in in_path)

    return SparkTable(frame, encode)


def _partition_names(frame: DataFrame) -> set[str]:
    """Columns that stand in the names of folders."""
    found = (
        hive_value(part) for file in frame.inputFiles() for part in unquote(file).split("/")[:-1]
    )
    return {hive[0] for hive in found if hive is not None} & set(frame.columns)


# ── all of them ───────────────────────────────────────────────────────────────────────────────────


def _codes(
    arrays: dict[str, Any], schema: Schema, is_text: Callable[[str], bool]
) -> tuple[CodeColumn, ...]:
    encoded = []
    for name, column in schema.columns.items():
        array = (
            arrays[name].combine_chunks()
            if isinstance(arrays[name], pa.ChunkedArray)
            else arrays[name]
        )
        null_texts = schema.null_texts(name) if is_text(name) else None
        encoded.append(encode_column(name, column, array, null_texts=null_texts))
    return tuple(encoded)


def _merged(batches: Batches) -> Batches:
    """The same records in fewer batches: encoding one costs something whatever is in it."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _WORKER_ROWS:
            yield pa.concat_batches(waiting)
            waiting = []
    if any(batch.num_rows for batch in waiting):
        yield pa.concat_batches(waiting)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn Spark's errors into ours; their messages may quote values and plans, so only their kind
    passes.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        if "No module named 'dprap'" in str(error):
            raise SettingsError(
                "the Spark workers do not have dprap. Install it there, and set PYSPARK_PYTHON to"
                " their Python."
            ) from None
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        raise DataError(
            f"the Spark job failed ({condition or type(error).__name__}); Spark's log says more. "
            "Nothing was charged for this step: start again, or resume the run."
        ) from None
