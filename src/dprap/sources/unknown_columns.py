"""One pass over a table whose columns are not all known: which values they have, and where on a
public grid numbers lie.

What is collected is exact and private. It goes to the curator, which publishes values above a noisy
threshold and noisy counts of the grid (`dprap.privacy.discovery`). Columns with a declared domain
are encoded in the same pass, so that what does not fit them is refused before anything is spent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.array_types import Bool, Counts, UInt64
from dprap.counting import CellCounts
from dprap.domain import Domain
from dprap.encoding import check_columns, open_table
from dprap.encoding.column_codes import codes_of, positions_of
from dprap.encoding.encode_table import person_ids
from dprap.encoding.tables import TableBatches
from dprap.errors import DataError, SchemaError, SettingsError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.schema.arrays import Mask, Positions, decoded, nulls
from dprap.schema.discover import DiscoverColumn, grid_column, is_candidate
from dprap.schema.values import Unplaced, is_text_type, plain
from dprap.sources.digest import Digest, digest_of
from dprap.sources.locate import find_files
from dprap.sources.open import is_elsewhere
from dprap.sources.read_files import hidden_partitions
from dprap.sources.recoding import Recoding
from dprap.sources.table_files import PassProgress, no_progress

Kept = Callable[[pa.ChunkedArray], Bool[np.ndarray, " records"]]
"""Which records count, given whose each is."""


@dataclass
class Vocabulary:
    """The distinct values of one column so far: private.

    It places values as a categorical column does.

    Whether values are texts or integers follows from the types of the table's columns, which are
    public.
    """

    name: str
    null_values: tuple[str, ...] | None
    whole: bool | None = None
    _numbers: dict[str | int, int] = field(default_factory=dict)
    _hashes: list[int] = field(default_factory=list)

    is_ordered = False
    described = "categorical, whose values are to be discovered: text or integers"
    null_numbers: frozenset[int] = frozenset()

    @property
    def values(self) -> list[Any]:
        """The values by their numbers."""
        return list(self._numbers)

    def hashes(self) -> UInt64[np.ndarray, " values"]:
        """A hash of each value by its number, the same in whatever order they come."""
        return np.array(self._hashes, dtype=np.uint64)

    def takes(self, kind: pa.DataType) -> bool:
        """Texts and integers."""
        return bool(is_text_type(kind) or pa.types.is_integer(kind))

    def place(self, value: Any) -> int:
        """The number of an object: of a text, since only a type can say that a column holds
        integers.
        """
        found = plain(value)
        if isinstance(found, Unplaced):
            return found
        self._is_of(whole=False)
        if isinstance(found, str):
            return Unplaced.MISSING if found in (self.null_values or ()) else self._number(found)
        return Unplaced.UNREADABLE

    def place_texts(self, texts: pa.Array) -> Positions:
        """The number of each text."""
        self._is_of(whole=False)
        return self._place(texts)

    def place_array(self, array: pa.Array) -> Positions:
        """The number of each integer."""
        self._is_of(whole=True)
        return self._place(array)

    def _place(self, array: pa.Array) -> Positions:
        encoded = array.dictionary_encode()
        different = (
            decoded(encoded.dictionary)
            if is_text_type(array.type)
            else encoded.dictionary.to_pylist()
        )
        distinct = np.array([self._number(value) for value in different], dtype=np.int64)
        if len(distinct) == 0:
            return np.full(len(array), Unplaced.MISSING, dtype=np.int64)
        positions = distinct[
            encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        ]
        return np.where(nulls(array), np.int64(Unplaced.MISSING), positions)

    def _number(self, value: Any) -> int:
        number = self._numbers.get(value)
        if number is None:
            if value is None:
                return Unplaced.MISSING
            if not is_candidate(value) or (self.whole and str(value) in (self.null_values or ())):
                return Unplaced.OUTSIDE
            number = self._numbers[value] = len(self._numbers)
            digest = hashlib.blake2b(
                repr(value).encode("utf-8", "surrogatepass"), digest_size=8
            ).digest()
            self._hashes.append(int.from_bytes(digest, "little"))
        return number

    def _is_of(self, *, whole: bool) -> None:
        if self.whole is not None and self.whole != whole:
            raise SchemaError(
                f"column {self.name!r}: has text in one part of the table and integers in another."
                " Convert the column."
            )
        self.whole = whole


@dataclass(frozen=True)
class DiscoverySource:
    """What one pass found in the columns that are to be discovered: exact counts, for the curator
    alone.
    """

    domain: Domain
    """Number columns, on their public grids."""
    digest: Digest
    grids: dict[str, Counts]
    vocabularies: dict[str, tuple[Vocabulary, Counts]]

    @property
    def rows(self) -> int:
        """The exact number of records."""
        return self.digest.rows

    @property
    def whole_columns(self) -> frozenset[str]:
        """Columns of integers, by the types of the table: public."""
        return frozenset(name for name, (found, _) in self.vocabularies.items() if found.whole)

    def fingerprint(self) -> str:
        """A digest of the records in any order."""
        names = (*self.domain.names, *self.vocabularies)
        return self.digest.fingerprint(
            Domain(names, (*self.domain.sizes, *(1 for _ in self.vocabularies)))
        )

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of one-way marginals on the grids."""
        return [
            CellCounts(len(self.grids[name]), self.grids[name])
            for marginal in marginals
            for name in marginal.columns
        ]

    def recoded(self, recoding: Recoding) -> DiscoverySource:
        """Refused: the run after discovery reads the table by the schema that was found."""
        raise NotImplementedError

    def present(self, name: str) -> tuple[list[Any], Counts]:
        """The values of a column that some record has, sorted, and how many records have each."""
        found, counts = self.vocabularies[name]
        present = [
            (value, counts[number])
            for number, value in enumerate(found.values)
            if counts[number] > 0
        ]
        present.sort(key=lambda pair: pair[0])
        return [value for value, _ in present], np.array(
            [count for _, count in present], dtype=np.int64
        )


def open_discovery(
    data: Any,
    schema: Schema,
    *,
    engine: str | None = None,
    person_column: str | None = None,
    kept: Kept | None = None,
    progress: PassProgress = no_progress,
) -> DiscoverySource:
    """Read all records once, for the columns that are to be discovered.

    Args:
        data: A table in memory, or the path of a file, a folder or a glob.
        schema: The schema, with columns to discover.
        engine: The engine that was asked for.
        person_column: The column that says whose each record is.
        kept: Which records count, given whose each is; it may refuse them.
        progress: Told which share of the pass is done.

    Raises:
        SettingsError: The table is of a kind whose values are not discovered.
        SchemaError, DataError: The table does not fit what the schema declares.

    """
    if is_elsewhere(data, engine):
        raise SettingsError(
            "domains are discovered in tables in memory and in files alone. Export the column, or"
            " declare its domain."
        )
    if (person_column is None) != (kept is None):
        raise SettingsError("a person column and what is kept of a person's records go together.")
    reader = _Reader(schema, person_column)
    for batch, table, share in _batches(data, reader):
        reader.add(batch, is_text=table.is_text)
        progress("check", share)
    return reader.finish(kept)


class _Reader:
    """Collects positions batch by batch."""

    def __init__(self, schema: Schema, person_column: str | None) -> None:
        self.person_column = person_column
        if person_column is not None and person_column in (*schema.columns, *schema.discover):
            raise SchemaError(
                f"column {person_column!r}: holds person ids, which are never published. Remove it"
                " from the schema."
            )
        self.wanted = schema.discover
        listed = {name for name, column in self.wanted.items() if column.type == "categorical"}
        numbers = {name: column for name, column in self.wanted.items() if name not in listed}
        self._grids = _grid_columns(numbers, schema)
        self._found = {
            name: Vocabulary(name, column.null_values)
            for name, column in self.wanted.items()
            if name in listed
        }
        self._known = dict(schema.columns)
        ids = () if person_column is None else (person_column,)
        # For reading alone: columns of objects are placed by it, value by value.
        self.reading = schema.model_copy(
            update={
                "columns": {**self._known, **self._grids, **self._found},
                "discover": {},
                "ignore_columns": (*schema.ignore_columns, *ids),
            }
        )
        # Counts so far; with a person column the codes themselves, until it is known which records
        # count.
        self._totals = {name: np.zeros(0, dtype=np.int64) for name in (*self._grids, *self._found)}
        self._parts: dict[str, list[Any]] = {name: [] for name in self._totals}
        self._ids: list[Any] = []
        self._digest = Digest()

    def add(self, batch: pa.RecordBatch | pa.Table, *, is_text: bool) -> None:
        """Take a batch in."""
        coded = []
        for name, column in self.reading.columns.items():
            array = batch.column(name)
            chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
            null_texts = self.reading.null_texts(name) if is_text else None
            parts = [positions_of(name, column, chunk, null_texts) for chunk in chunks]
            positions = np.concatenate([np.empty(0, dtype=np.int64), *parts])
            if name in self._found:
                self._count(name, positions.astype(np.int32))
                known = self._found[name].hashes()
                hashes = (
                    known[np.maximum(positions, 0)]
                    if len(known)
                    else np.zeros(len(positions), dtype=np.uint64)
                )
                coded.append(np.where(positions < 0, (-positions).astype(np.uint64), hashes))
                continue
            codes = codes_of(name, column, positions)
            coded.append(codes)
            if name in self._grids:
                self._count(name, codes)
        self._digest += digest_of(coded)
        if self.person_column is not None:
            self._ids.append(person_ids(batch, self.person_column, self.reading, is_text=is_text))

    def _count(self, name: str, codes: Any) -> None:
        if self.person_column is not None:
            self._parts[name].append(codes)
            return
        self._totals[name] = _summed(self._totals[name], _counts(codes))

    def finish(self, kept: Kept | None) -> DiscoverySource:
        """Count what was collected."""
        if self._digest.rows == 0:
            raise DataError("the table has no records. There is nothing to release.")
        if kept is not None:
            mask: Mask = kept(pa.chunked_array(self._ids))
            self._totals = {
                name: _counts(np.concatenate(parts)[mask]) for name, parts in self._parts.items()
            }

        def total(name: str, size: int) -> Counts:
            return _summed(self._totals[name], np.zeros(size, dtype=np.int64))

        return DiscoverySource(
            domain=Domain.of({name: column.size for name, column in self._grids.items()}),
            digest=self._digest,
            grids={name: total(name, column.size) for name, column in self._grids.items()},
            vocabularies={
                name: (found, total(name, len(found.values))) for name, found in self._found.items()
            },
        )


def _counts(codes: Any) -> Counts:
    """How many records have each code; those without one are left out."""
    return np.bincount(codes[codes >= 0]).astype(np.int64)


def _summed(one: Counts, other: Counts) -> Counts:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    result = longer.copy()
    result[: len(shorter)] += shorter
    return result


def _grid_columns(wanted: dict[str, DiscoverColumn], schema: Schema) -> dict[str, Any]:
    if not wanted:
        return {}
    columns = {name: grid_column(column) for name, column in wanted.items()}
    return dict(
        Schema.of({"columns": columns, "numbers": schema.as_mapping().get("numbers")}).columns
    )


def _batches(data: Any, reader: _Reader) -> Iterator[tuple[pa.RecordBatch, TableBatches, float]]:
    """The batches of a table, wherever it is, with the share of it that is done."""
    also = () if reader.person_column is None else (reader.person_column,)
    if not isinstance(data, str | Path):
        table = _checked(open_table(data, reader.reading, also=also), reader)
        yield from ((batch, table, 1.0) for batch in table.read())
        return
    files = find_files(data)
    total, done = max(1, sum(file.size for file in files)), 0
    for file in files:
        with hidden_partitions(file):
            table = open_table(file.path, reader.reading, also=also)
        if any(name not in table.names for name, _ in file.partitions):
            raise SettingsError(
                "domains are not discovered where the names of folders hold values. Write them as"
                " columns of the files."
            )
        _checked(table, reader)
        done += file.size
        with hidden_partitions(file):
            yield from ((batch, table, done / total) for batch in table.read())


def _checked(table: TableBatches, reader: _Reader) -> TableBatches:
    if reader.person_column is not None and reader.person_column not in table.names:
        raise SchemaError(
            f"column {reader.person_column!r}: is named as the person column and not in the table."
            " Check its name."
        )
    absent = [name for name in reader.wanted if name not in table.names]
    if absent:
        raise SchemaError(
            f"column {absent[0]!r}: its domain is to be discovered, and the table has no such"
            " column. Check its name in --discover or in the schema."
        )
    check_columns(table.names, reader.reading)
    return table
