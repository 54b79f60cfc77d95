"""What the policies of a schema touch in a whole data set, wherever it is: for the steward's eyes
alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from dprap.encoding import open_table
from dprap.encoding.touched_values import TouchedTable, strict_schema
from dprap.schema import Schema
from dprap.sources.duckdb import is_duckdb, open_duckdb_table
from dprap.sources.locate import find_files, table_root
from dprap.sources.open import is_elsewhere
from dprap.sources.read_files import hidden_partitions
from dprap.sources.table_files import PassProgress, no_progress


def touched_in(
    data: Any,
    schema: Schema,
    *,
    database_table: str | None = None,
    engine: str | None = None,
    progress: PassProgress = no_progress,
) -> TouchedTable | None:
    """Count what the policies touch in one pass over the records.

    Args:
        data: A table in memory, or the path of a file, a folder, a glob or a DuckDB database.
        schema: The schema.
        database_table: The table of a database.
        engine: The engine that reads it, if one was named.
        progress: Told which share of the pass is done.

    Returns:
        The counts, or None where no policy changes values without an error, and for tables that
        dprap does not read itself (PostgreSQL, Spark).
    """
    found = TouchedTable(schema)
    if not found.is_worthwhile or (is_elsewhere(data) and not is_duckdb(data)):
        return None
    if engine == "spark" and isinstance(data, str | Path) and not table_root(data).exists():
        return None  # the cluster sees it, this machine does not
    strict = strict_schema(schema)
    if not isinstance(data, str | Path):
        source = open_table(data, strict)
        for batch in source.read():
            found.add(batch, is_text=source.is_text)
        return found
    if is_duckdb(data):
        if database_table is None:
            return None  # opening the source says what is missing
        source = open_duckdb_table(data, database_table, strict)
        for batch in source.read():
            found.add(batch, is_text=False)
        return found
    files = find_files(data)
    total, done = max(1, sum(file.size for file in files)), 0
    for file in files:
        with hidden_partitions(file):
            source = open_table(file.path, strict)
            in_path = {
                name: value
                for name, value in file.partitions
                if name not in source.names and name in schema.columns
            }
            for batch in source.read():
                found.add(batch, is_text=source.is_text)
                for name, value in in_path.items():  # one text for all records of the file
                    found.add_column(
                        name, pa.array([value] * batch.num_rows, pa.string()), is_text=True
                    )
        done += file.size
        progress("check", done / total)
    return found
