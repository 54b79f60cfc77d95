"""A count source over CSV and Parquet files that need not fit in memory: read, encoded and counted
batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dprap.array_types import CodeColumn
from dprap.counting import CellCounts, Tally
from dprap.counting.passes import MEMORY_LIMIT, Pass, first_pass
from dprap.counting.tally import counting_threads
from dprap.errors import DataError, DprapError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.checked import CheckedSource
from dprap.sources.digest import Digest, digest_of
from dprap.sources.locate import DataFile, changed, find_files
from dprap.sources.protocol import Expect, expect_nothing
from dprap.sources.read_files import expected_records, open_file, read_files

PassProgress: TypeAlias = Callable[[str, float], None]
"""Told what is being done ("check", "count") and which share of it is done.

The share is of bytes. How fast it moves tells the size of the table, which is private under
add-remove neighbours: it is for the terminal of the person who holds the data, never for a release
or its log.
"""


def no_progress(stage: str, share: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True, kw_only=True)
class FileSource(CheckedSource):
    """Records in files.

    `FileSource.open` reads all of them once, so that every later error is a change of the files.
    """

    location: str
    files: tuple[DataFile, ...]
    progress: PassProgress = no_progress

    @classmethod
    def open(
        cls,
        location: str | Path,
        schema: Schema,
        *,
        memory_limit: int = MEMORY_LIMIT,
        progress: PassProgress = no_progress,
        expect: Expect = expect_nothing,
    ) -> FileSource:
        """Check every record of a file, a folder or a glob against the schema, before anything is
        spent.
        """
        schema.require_reviewed()
        files = tuple(find_files(location))
        tables = [open_file(file, schema) for file in files]
        tally = Tally(schema.domain, {})
        if expect is not expect_nothing:
            rows = sum(
                expected_records(file, table) for file, table in zip(files, tables, strict=True)
            )
            tally = first_pass(schema.domain, expect(rows), rows=rows, memory_limit=memory_limit)
        digest = Digest()
        for columns, share in read_files(files, schema):
            digest += digest_of(columns)
            tally.add(columns)
            progress("check", share)
        progress("check", 1.0)
        if digest.rows == 0:
            raise DataError(f"{location}: has no records. There is nothing to release.")
        counted = {marginal: counts.compact() for marginal, counts in tally.results()}
        return cls(
            schema=schema,
            digest=digest,
            memory_limit=memory_limit,
            counted=counted,
            location=str(location),
            files=files,
            progress=progress,
        )

    def count_pass(self, plan: Pass, position: int, passes: int) -> Mapping[Marginal, CellCounts]:
        """Exact counts from one pass over the files."""
        tally = Tally(self.domain, plan, threads=counting_threads())
        for columns, share in self._records():
            tally.add(columns)
            self.progress("count", (position + share) / passes)
        self.progress("count", (position + 1) / passes)
        return {marginal: counts.compact() for marginal, counts in tally.results()}

    def blocks(self) -> Iterator[tuple[CodeColumn, ...]]:
        """The encoded records, batch by batch."""
        return (columns for columns, _ in self._records())

    def _records(self) -> Iterator[tuple[tuple[CodeColumn, ...], float]]:
        """All records once; raises DataError, at the end at the latest, unless they are those that
        were checked.
        """
        for file in self.files:
            file.require_unchanged()
        digest = Digest()
        try:
            for columns, share in read_files(self.files, self.schema):
                digest += digest_of(columns)
                yield self.recode(columns), share
        except DprapError:  # they were readable and fitted the schema when they were checked
            raise changed(self.location) from None
        if digest != self.digest:
            raise changed(self.location)
