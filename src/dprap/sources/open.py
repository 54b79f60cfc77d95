"""Choose the count source for whatever the user hands over."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet

from dprap.address import is_address, refuse_other_addresses
from dprap.counting.passes import MEMORY_LIMIT
from dprap.encoding import code_dtype, encode
from dprap.encoding.tables import is_text_file, kind_of_file
from dprap.errors import SettingsError
from dprap.schema import Schema
from dprap.sources.duckdb import DuckDbSource, is_duckdb
from dprap.sources.memory import MemorySource
from dprap.sources.protocol import CountSource, Expect, expect_nothing
from dprap.sources.table_files import FileSource, PassProgress, no_progress

Engine: TypeAlias = Literal["memory", "files", "duckdb", "postgres", "spark"]


def open_source(
    data: Any,
    schema: Schema,
    *,
    engine: Engine | None = None,
    database_table: str | None = None,
    memory_limit: int = MEMORY_LIMIT,
    progress: PassProgress = no_progress,
    expect: Expect = expect_nothing,
) -> CountSource:
    """A count source over `data`; every record is checked against the schema first, and what to
    `expect` may be counted then.

    - a table in memory (Arrow, pandas, polars), or one file whose codes fit well into
      `memory_limit` bytes: in memory;
    - a larger file, a folder or a glob: out of core;
    - a `.duckdb` file with `database_table`: read by DuckDB, out of core;
    - a `postgresql://` address with `database_table`: counted by the server;
    - a Spark data frame, or a path with `engine="spark"`: counted by Spark.
    """
    refuse_other_addresses(data, engine)
    chosen = engine or engine_for(data, schema, memory_limit)
    if (database_table is not None) != (chosen in ("postgres", "duckdb")):
        raise SettingsError(
            "a database and a table name go together. Give both: postgresql://… or a .duckdb file,"
            " and --table."
        )
    if chosen == "duckdb":
        return DuckDbSource.open(data, str(database_table), schema, memory_limit=memory_limit)
    if chosen == "postgres":
        from dprap.sources.postgres import PostgresSource

        return PostgresSource.open(str(data), str(database_table), schema)
    if chosen == "spark":
        from dprap.sources.spark import SparkSource

        return SparkSource.open(data, schema, memory_limit=memory_limit, expect=expect)
    if chosen == "files":
        if not isinstance(data, str | Path):
            raise SettingsError(
                "the engine files reads a path. Leave the engine out for a table in memory."
            )
        return FileSource.open(
            data, schema, memory_limit=memory_limit, progress=progress, expect=expect
        )
    return MemorySource(
        encode(data, schema), watch=lambda done, every: progress("count", done / every)
    )


def is_spark_frame(data: Any) -> bool:
    """Whether this is a data frame of Spark, told without importing Spark."""
    return type(data).__module__.startswith("pyspark.")


def is_elsewhere(data: Any, engine: str | None = None) -> bool:
    """Whether the records are in a database or in Spark, so that dprap counts them there and does
    not read their values.
    """
    return (
        engine not in (None, "memory", "files")
        or is_spark_frame(data)
        or is_address(data)
        or is_duckdb(data)
    )


def engine_for(data: Any, schema: Schema, memory_limit: int = MEMORY_LIMIT) -> Engine:
    """The engine that `open_source` chooses."""
    if is_spark_frame(data):
        return "spark"
    if not isinstance(data, str | Path):
        return "memory"
    if is_address(data):
        return "postgres"
    if is_duckdb(data):
        return "duckdb"
    path = Path(data)
    # encoding holds the codes twice for a moment
    return "memory" if path.is_file() and 2 * _code_bytes(path, schema) <= memory_limit else "files"


def _code_bytes(path: Path, schema: Schema) -> float:
    """Bytes that the codes of a file take at most."""
    record = sum(code_dtype(size).itemsize for size in schema.domain.sizes)
    kind = kind_of_file(path)
    if is_text_file(path) and path.suffix.lower() == kind:
        # a field takes at least its delimiter, so there are at most this many records
        return path.stat().st_size / len(schema.domain) * record
    if kind not in (".parquet", ".pq"):
        return float("inf")
    try:
        return int(pa.parquet.read_metadata(path).num_rows) * record
    except (pa.ArrowException, OSError):
        return float("inf")  # compressed text, or damaged: the file source will see
