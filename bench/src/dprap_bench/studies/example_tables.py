"""The embedded example as large tables: Parquet folders, CSV files and tables of a PostgreSQL
database; other tables there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dprap.datasets import example, example_batches

PART_ROWS = 5_000_000


def write_parquet(folder: Path, rows: int) -> Path:
    """The example as a folder of Parquet files, made batch by batch."""
    target = folder / f"example-{rows}"
    if target.exists():
        return target
    target.mkdir(parents=True)
    writer, held = None, 0
    for batch in example_batches(rows):
        if writer is None or held >= PART_ROWS:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(
                target / f"part-{len(list(target.iterdir())):03d}.parquet", batch.schema
            )
            held = 0
        writer.write_batch(batch)
        held += batch.num_rows
    if writer is not None:
        writer.close()
    return target


def write_csv(folder: Path, rows: int) -> Path:
    """The example as one CSV file."""
    target = folder / f"example-{rows}.csv"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with pyarrow.csv.CSVWriter(target, example(1).schema) as writer:
            for batch in example_batches(rows):
                writer.write_batch(batch)
    return target


def write_postgres(url: str, rows: int) -> str:
    """The example as a table of the database."""
    return store(url, f"example_{rows}", example(1).schema, example_batches(rows))


def store(url: str, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
    """A table of the database, by COPY from CSV, unless it is there."""
    import psycopg

    kinds = {
        "string": "text",
        "int32": "integer",
        "int64": "bigint",
        "double": "float8",
        "bool": "boolean",
    }
    kinds |= {"date32[day]": "date", "timestamp[us, tz=UTC]": "timestamptz"}
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass(%s)", [name]).fetchone() != (None,):
            return name
        columns = ", ".join(f'"{field.name}" {kinds[str(field.type)]}' for field in schema)
        connection.execute(f"CREATE TABLE {name} ({columns})".encode())
        options = pyarrow.csv.WriteOptions(include_header=False)
        with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
            for batch in batches:
                buffer = pa.BufferOutputStream()
                pyarrow.csv.write_csv(batch, buffer, options)
                copy.write(buffer.getvalue().to_pybytes())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"VACUUM ANALYZE {name}".encode())
    return name
