"""A count source over a table of a DuckDB database: DuckDB reads, dprap encodes and counts batch by
batch.

The columns of a DuckDB table have declared types, so that a value is read as in any other typed
table. The file is opened for reading alone, and without access to anything outside it: a view of a
CSV file would have the types that DuckDB infers from all its values, so that one record could
change how the others are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from dprap.array_types import CodeColumn
from dprap.counting import CellCounts, Tally
from dprap.counting.passes import MEMORY_LIMIT, Pass
from dprap.counting.tally import counting_threads
from dprap.encoding import check_columns, encode_batch
from dprap.encoding.tables import BATCH_ROWS, TableBatches
from dprap.errors import DataError, SettingsError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.checked import CheckedSource
from dprap.sources.digest import Digest, digest_of
from dprap.sources.locate import changed

ENDINGS = (".duckdb", ".ddb")
"""Endings of DuckDB's files."""

# No other file, no network, and no code that a database asks for.
_ALONE = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}


def is_duckdb(data: Any) -> bool:
    """Whether this is the path of a DuckDB database."""
    return isinstance(data, str | Path) and Path(data).suffix.lower() in ENDINGS


def open_duckdb_table(path: str | Path, table: str, schema: Schema | None = None) -> TableBatches:
    """A table or view of a DuckDB database, named `table` or `schema.table`.

    Raises:
        DataError: If the file or the table cannot be read.
        SettingsError: If DuckDB is not installed.

    """
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
    with _errors(path), _connected(path) as database:
        described = database.execute(f"SELECT * FROM {quoted} LIMIT 0")  # noqa: S608 - quoted
        names = tuple(str(each[0]) for each in described.description)
    wanted = [name for name in names if schema is None or name in schema.columns]
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in wanted) or "1"

    def read(parts: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
        with _errors(path), _connected(path) as database:
            yield from database.sql(f"SELECT {listed} FROM {quoted}").to_arrow_reader(BATCH_ROWS)  # noqa: S608 - quoted

    return TableBatches(names, is_text=False, read=read)


def opened(data: Any, table: str | None) -> Any:
    """What drafting and checking read: a DuckDB table by its name, anything else as it is."""
    if (table is not None) != is_duckdb(data):
        raise SettingsError(
            "a .duckdb file and a table name go together. Give both: FILE.duckdb and --table."
        )
    if table is None:
        return data
    return _DuckDbTable(data, table)


@dataclass(frozen=True)
class _DuckDbTable:
    """A table of a DuckDB file that streams anew each time it is asked to."""

    path: str | Path
    table: str

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        batches = open_duckdb_table(self.path, self.table)
        first = batches.read()
        head = next(first, None)
        if head is None:
            raise DataError(f"{self.path}: table {self.table!r} has no records.")
        reader = pa.RecordBatchReader.from_batches(head.schema, chain([head], first))
        return reader.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, kw_only=True)
class DuckDbSource(CheckedSource):
    """Records of a DuckDB table.

    Every pass checks that they are those that were checked when it was opened.
    """

    table: TableBatches
    location: str

    @classmethod
    def open(
        cls, path: str | Path, table: str, schema: Schema, *, memory_limit: int = MEMORY_LIMIT
    ) -> DuckDbSource:
        """Check every record of a table against the schema, before anything is spent."""
        schema.require_reviewed()
        opened = open_duckdb_table(path, table, schema)
        check_columns(opened.names, schema)
        digest = Digest()
        for batch in opened.read():
            digest += digest_of(encode_batch(batch, schema))
        if digest.rows == 0:
            raise DataError(f"{path}: table {table!r} has no records. There is nothing to release.")
        return cls(
            schema=schema,
            digest=digest,
            memory_limit=memory_limit,
            table=opened,
            location=f"{path}: {table}",
        )

    def count_pass(
        self,
        plan: Pass,
        position: int,  # noqa: ARG002 - nobody watches
        passes: int,  # noqa: ARG002
    ) -> Mapping[Marginal, CellCounts]:
        """Exact counts from one pass over the table."""
        tally = Tally(self.domain, plan, threads=counting_threads())
        for columns in self.blocks():
            tally.add(columns)
        return {marginal: counts.compact() for marginal, counts in tally.results()}

    def blocks(self) -> Iterator[tuple[CodeColumn, ...]]:
        """The encoded records, batch by batch; raises DataError at the end unless they are those
        that were checked.
        """
        digest = Digest()
        for batch in self.table.read():
            columns = encode_batch(batch, self.schema)
            digest += digest_of(columns)
            yield self.recode(columns)
        if digest != self.digest:
            raise changed(self.location)


def _connected(path: str | Path) -> Any:
    try:
        import duckdb
    except ImportError:
        raise SettingsError(
            "DuckDB needs an extra package. Run: pip install 'dprap[duckdb]'."
        ) from None
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file. Check the path.")
    return duckdb.connect(str(path), read_only=True, config=dict(_ALONE))


@contextmanager
def _errors(path: str | Path) -> Iterator[None]:
    """Turn DuckDB's errors into ours; their messages may quote values, so that only their kind
    passes.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        if "Catalog" in type(error).__name__:
            raise DataError(
                f"{path}: has no such table. Check the name given by --table."
            ) from None
        if type(error).__name__ == "PermissionException":
            raise DataError(
                f"{path}: its view reads other files, whose types DuckDB would infer from their"
                " values. Make a table of it, with declared types, or give dprap the files."
            ) from None
        if type(error).__name__ == "ConnectionException":
            raise DataError(
                f"{path}: is open in this process with other settings. Close that connection, or"
                " hand over its table."
            ) from None
        raise DataError(
            f"{path}: cannot be read as a DuckDB database ({type(error).__name__})."
        ) from None
