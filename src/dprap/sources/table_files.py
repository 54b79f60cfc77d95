"""A count source over CSV and Parquet files that need not fit in memory: read, encoded and counted
batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from dprap.array_types import CodeColumn
from dprap.counting import CellCounts, Tally
from dprap.counting.passes import MEMORY_LIMIT, first_pass, plan_passes
from dprap.counting.tally import counting_threads
from dprap.domain import Domain
from dprap.errors import DataError, DprapError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.digest import Digest, digest_of
from dprap.sources.locate import DataFile, changed, find_files
from dprap.sources.protocol import Expect, expect_nothing
from dprap.sources.read_files import expected_records, open_file, read_files
from dprap.sources.recoding import Recoding

PassProgress: TypeAlias = Callable[[str, float], None]
"""Told what is being done ("check", "count") and which share of it is done.

The share is of bytes. How fast it moves tells the size of the table, which is private under
add-remove neighbours: it is for the terminal of the person who holds the data, never for a release
or its log.
"""


def no_progress(stage: str, share: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class FileSource:
    """Records in files.

    `FileSource.open` reads all of them once, so that every later error is a change of the files.
    """

    schema: Schema
    location: str
    files: tuple[DataFile, ...]
    digest: Digest
    memory_limit: int = MEMORY_LIMIT
    progress: PassProgress = no_progress
    counted: Mapping[Marginal, CellCounts] = field(default_factory=dict)
    """What was counted while the records were checked."""
    recoding: Recoding | None = None

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
        return cls(schema, str(location), files, digest, memory_limit, progress, counted)

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return (self.schema if self.recoding is None else self.recoding.schema).domain

    @property
    def rows(self) -> int:
        """The exact number of records."""
        return self.digest.rows

    def fingerprint(self) -> str:
        """A digest of the records in any order: the same after files are copied, cut or merged."""
        return self.digest.fingerprint(self.schema.domain)

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in one pass over the files, or in several where their
        counters are too large.

        What was counted while the records were checked needs none.
        """
        counted = dict(self.counted)
        missing = [marginal for marginal in marginals if marginal not in counted]
        passes = list(
            plan_passes(self.domain, missing, rows=self.rows, memory_limit=self.memory_limit)
        )
        for position, plan in enumerate(passes):
            tally = Tally(self.domain, plan, threads=counting_threads())
            for columns, share in self._records():
                tally.add(columns)
                self.progress("count", (position + share) / len(passes))
            self.progress("count", (position + 1) / len(passes))
            counted.update((marginal, counts.compact()) for marginal, counts in tally.results())
        return [counted[marginal] for marginal in marginals]

    def recoded(self, recoding: Recoding) -> FileSource:
        """The same records under a coarser schema; they are still checked by the codes that they
        were read with.
        """
        return replace(self, recoding=recoding, counted={})

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
                yield columns if self.recoding is None else self.recoding(columns), share
        except DprapError:  # they were readable and fitted the schema when they were checked
            raise changed(self.location) from None
        if digest != self.digest:
            raise changed(self.location)
