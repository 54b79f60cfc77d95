"""A count source over CSV and Parquet files that need not fit in memory: read, encoded and counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dprap.array_types import CodeColumn
from dprap.domain import Domain
from dprap.encoding import check_columns, code_dtype, open_table
from dprap.encoding.column_codes import encode_column, encode_text
from dprap.encoding.tables import TableBatches
from dprap.errors import DataError, DprapError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.digest import Digest, digest_of
from dprap.sources.locate import DataFile, changed, find_files
from dprap.sources.passes import MEMORY_LIMIT, compact, split_passes
from dprap.sources.protocol import CellCounts
from dprap.sources.tally import Tally

PassProgress: TypeAlias = Callable[[str, float], None]
"""Told what is being done ("check", "count") and which share of it is done.

The share is of bytes. How fast it moves tells the size of the table, which is private under add-remove neighbours: it is
for the terminal of the person who holds the data, never for a release or its log.
"""


def no_progress(stage: str, share: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class FileSource:
    """Records in files. `FileSource.open` reads all of them once, so that every later error is a change of the files."""

    schema: Schema
    location: str
    files: tuple[DataFile, ...]
    digest: Digest
    memory_limit: int = MEMORY_LIMIT
    progress: PassProgress = no_progress

    @classmethod
    def open(
        cls,
        location: str | Path,
        schema: Schema,
        *,
        memory_limit: int = MEMORY_LIMIT,
        progress: PassProgress = no_progress,
    ) -> FileSource:
        """Check every record of a file, a folder or a glob against the schema, before anything is spent."""
        schema.require_reviewed()
        files = tuple(find_files(location))
        for file in files:
            _open(file, schema)
        digest = Digest()
        for columns, share in _read(files, schema):
            digest += digest_of(columns)
            progress("check", share)
        progress("check", 1.0)
        if digest.rows == 0:
            raise DataError(f"{location}: has no records. There is nothing to release.")
        return cls(schema, str(location), files, digest, memory_limit, progress)

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return self.schema.domain

    @property
    def rows(self) -> int:
        """The exact number of records."""
        return self.digest.rows

    def fingerprint(self) -> str:
        """A digest of the records in any order: the same after files are copied, cut or merged."""
        return self.digest.fingerprint(self.domain)

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in one pass over the files, or in several where their counters are too large."""
        groups = list(split_passes(self.domain, marginals, rows=self.rows, memory_limit=self.memory_limit))
        counted: list[CellCounts] = []
        for position, group in enumerate(groups):
            tally = Tally(self.domain, group)
            for columns, share in self._records():
                tally.add(columns)
                self.progress("count", (position + share) / len(groups))
            self.progress("count", (position + 1) / len(groups))
            counted.extend(compact(counts) for counts in tally.result())
        return counted

    def blocks(self) -> Iterator[tuple[CodeColumn, ...]]:
        """The encoded records, batch by batch."""
        return (columns for columns, _ in self._records())

    def _records(self) -> Iterator[tuple[tuple[CodeColumn, ...], float]]:
        """All records once; raises DataError, at the end at the latest, unless they are those that were checked."""
        for file in self.files:
            file.require_unchanged()
        digest = Digest()
        try:
            for columns, share in _read(self.files, self.schema):
                digest += digest_of(columns)
                yield columns, share
        except DprapError:  # they were readable and fitted the schema when they were checked
            raise changed(self.location) from None
        if digest != self.digest:
            raise changed(self.location)


def _open(file: DataFile, schema: Schema) -> TableBatches:
    """The table in one file, its columns checked; messages show no partition value."""
    try:
        table = open_table(file.path, schema)
        in_path = [name for name, _ in file.partitions if name not in table.names]
        check_columns([*table.names, *in_path], schema)
    except DprapError as error:
        raise _without_partitions(error, file) from None
    return table


def _read(files: Sequence[DataFile], schema: Schema) -> Iterator[tuple[tuple[CodeColumn, ...], float]]:
    """Codes batch by batch, with the share of all bytes that is done."""
    total = max(1, sum(file.size for file in files))
    done = 0
    for file in files:
        table = _open(file, schema)
        share_of = _shares(file, table)
        try:
            for batch in table.read():
                yield _encode(batch, table, file, schema), (done + file.size * share_of(batch)) / total
        except DprapError as error:
            raise _without_partitions(error, file) from None
        done += file.size


def _encode(batch: pa.RecordBatch, table: TableBatches, file: DataFile, schema: Schema) -> tuple[CodeColumn, ...]:
    in_path = {name: value for name, value in file.partitions if name not in table.names}
    encoded = []
    for name, column in schema.columns.items():
        if name in in_path:
            # one value for the whole file, and text whatever the kind of file
            code = encode_text(name, column, in_path[name], null_texts=schema.null_texts(name))
            encoded.append(np.full(batch.num_rows, code, dtype=code_dtype(column.size)))
        else:
            null_texts = schema.null_texts(name) if table.is_text else None
            encoded.append(encode_column(name, column, batch.column(name), null_texts=null_texts))
    return tuple(encoded)


def _shares(file: DataFile, table: TableBatches) -> Callable[[pa.RecordBatch], float]:
    """A function that takes the batches of a file one by one and tells which share of the file is done."""
    total = file.size if table.is_text else _parquet_rows(file)
    done = 0

    def share_of(batch: pa.RecordBatch) -> float:
        nonlocal done
        # text: Arrow keeps an offset of four bytes where the file has a delimiter of one
        done += batch.nbytes - 3 * batch.num_rows * batch.num_columns if table.is_text else batch.num_rows
        return float(min(1.0, done / max(1, total)))

    return share_of


def _parquet_rows(file: DataFile) -> int:
    try:
        return int(pa.parquet.read_metadata(file.path).num_rows)
    except (pa.ArrowException, OSError):  # it could be read a moment ago
        raise changed(file.shown) from None


def _without_partitions(error: DprapError, file: DataFile) -> DprapError:
    return type(error)(str(error).replace(str(file.path), file.shown))
