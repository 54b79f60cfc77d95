"""At most so many records a person: a bound that is enforced, because every sensitivity rests on
it.

The person-id column stands outside the schema. It is read here, on the private side, and never
published.

* Under **replace** the number of records is public, so no record may be dropped: dropping would
  make it depend on who is in the table. More than m records of one person are an error, for the
  steward's eyes, before anything is spent.
* Under **add-remove**, `drop` keeps the first m records of each person in the table's order. What
  is kept of one person does not depend on anybody else, so adding or removing a person adds or
  removes at most m records. `error` refuses as above.
"""

from __future__ import annotations

import glob
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.accounting.neighbors import Neighbors, Relation
from dprap.array_types import Bool, Int64
from dprap.encoding import Codes, encode_with_ids
from dprap.errors import DataError, SettingsError
from dprap.schema import Schema
from dprap.schema.values import is_text_type
from dprap.sources import CountSource, MemorySource
from dprap.sources.open import Engine, engine_for, open_source
from dprap.sources.protocol import Expect, expect_nothing
from dprap.sources.table_files import PassProgress, no_progress

# Types besides text whose values are equal or not; ids among objects come as bytes.
_ID_TYPES = (
    pa.types.is_integer, pa.types.is_null, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary,
    pa.types.is_date, pa.types.is_timestamp,
)  # fmt: skip


class Excess(StrEnum):
    """What happens to the records of a person beyond the bound."""

    ERROR = "error"
    DROP = "drop"


@dataclass(frozen=True)
class PersonColumn:
    """The column that says whose each record is, and what happens to records beyond the bound."""

    name: str
    excess: Excess = Excess.ERROR

    def __post_init__(self) -> None:
        object.__setattr__(self, "excess", Excess(self.excess))


def open_bounded(
    data: Any,
    schema: Schema,
    *,
    neighbors: Neighbors,
    person: PersonColumn | None,
    engine: Engine | None = None,
    database_table: str | None = None,
    progress: PassProgress = no_progress,
    expect: Expect = expect_nothing,
) -> CountSource:
    """A count source in which nobody has more than `neighbors.max_rows_per_person` records.

    Without a person column a record is a person, so the bound must be 1. With one, the table is
    read into memory.
    """
    if person is None:
        _require_one(neighbors)
        return open_source(
            data,
            schema,
            engine=engine,
            database_table=database_table,
            progress=progress,
            expect=expect,
        )
    _check_excess(person.excess, neighbors)
    require_memory(data, schema, engine)
    codes, ids = encode_with_ids(data, schema, person.name)
    return MemorySource(bound_records(codes, ids, neighbors=neighbors, excess=person.excess))


def require_memory(data: Any, schema: Schema, engine: Engine | None) -> None:
    """Refuse a table whose records cannot be bounded per person, because it is not read into
    memory.
    """
    chosen = engine or engine_for(data, schema)
    if chosen != "memory" and not _is_missing(data):
        # JSON lines, Excel, Arrow and compressed files do not tell how many records they have
        is_one_file = (
            engine is None
            and chosen == "files"
            and isinstance(data, str | Path)
            and Path(data).is_file()
        )
        advice = (
            "If the file fits in memory, add --engine memory."
            if is_one_file
            else (
                "Bound them before, so that a person has one record, or give one file that fits in"
                " memory."
            )
        )
        raise SettingsError(
            "records are bounded per person in memory only, and this table is read by the engine"
            f" {chosen}. {advice}"
        )


def bound_mask(
    neighbors: Neighbors, person: PersonColumn | None
) -> Callable[[pa.ChunkedArray], Bool[np.ndarray, " records"]] | None:
    """Which records `open_bounded` keeps, as a function of whose each is; None where every record
    is a person's only one.

    The function raises DataError where records beyond the bound are an error.
    """
    if person is None:
        _require_one(neighbors)
        return None
    _check_excess(person.excess, neighbors)
    return lambda ids: _kept(ids, neighbors=neighbors, excess=person.excess)


def _require_one(neighbors: Neighbors) -> None:
    if neighbors.max_rows_per_person > 1:
        raise SettingsError(
            f"{neighbors.max_rows_per_person} records a person need a person column: the bound is"
            " enforced, not assumed. Name the column with the person ids by --person-column."
        )


def _is_missing(data: Any) -> bool:
    """Whether this is the path of one file that does not exist, which deserves its own message."""
    is_path = (
        isinstance(data, str | Path) and "://" not in str(data) and not glob.has_magic(str(data))
    )
    return is_path and not Path(data).exists()


def bound_records(
    codes: Codes, ids: pa.Array | pa.ChunkedArray, *, neighbors: Neighbors, excess: Excess
) -> Codes:
    """Codes in which nobody has more than `neighbors.max_rows_per_person` records; `ids` has one id
    a record.
    """
    excess = Excess(excess)
    _check_excess(excess, neighbors)
    kept = _kept(ids, neighbors=neighbors, excess=excess)
    if len(kept) != codes.rows:
        raise DataError("there must be one person id for each record.")
    return (
        codes
        if kept.all()
        else Codes(codes.domain, tuple(column[kept] for column in codes.columns))
    )


def _kept(
    ids: pa.Array | pa.ChunkedArray, *, neighbors: Neighbors, excess: Excess
) -> Bool[np.ndarray, " records"]:
    kept = records_within_bound(ids, neighbors.max_rows_per_person)
    if excess is Excess.ERROR and not kept.all():
        raise DataError(
            f"somebody has more records than the {neighbors.max_rows_per_person} allowed. Raise"
            " --max-rows-per-person; or use add-remove neighbours, where --excess can be drop."
        )
    return kept


def _check_excess(excess: Excess, neighbors: Neighbors) -> None:
    if excess is Excess.DROP and neighbors.relation is Relation.REPLACE:
        raise SettingsError(
            "under replace neighbours the number of records is public, so none may be dropped. Use"
            " add-remove neighbours, or bound the records before and leave --excess at error."
        )


def records_within_bound(
    ids: pa.Array | pa.ChunkedArray, bound: int
) -> Bool[np.ndarray, " records"]:
    """Which records are among the first `bound` of their person, in the table's order."""
    people = _person_numbers(ids)
    order = np.argsort(people, kind="stable")
    grouped = people[order]
    first = np.flatnonzero(np.diff(grouped, prepend=-1))
    rank = np.arange(len(grouped)) - np.repeat(first, np.diff(first, append=len(grouped)))
    kept = np.empty(len(people), dtype=bool)
    kept[order] = rank < bound
    return kept


def _person_numbers(ids: pa.Array | pa.ChunkedArray) -> Int64[np.ndarray, " records"]:
    """Equal numbers for equal ids. An id that is missing could be anybody's, so it is refused."""
    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)  # a dictionary may hold a value twice, or a null
    kind = ids.type
    if not (is_text_type(kind) or any(is_of(kind) for is_of in _ID_TYPES)):
        raise DataError(
            f"person ids must be integers or text, and the table has {kind}. Convert the column."
        )
    if ids.null_count:
        raise DataError("some record has no person id. Give every record one.")
    chunks = ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]
    joined = pa.concat_arrays(chunks) if chunks else pa.array([], ids.type)
    return np.asarray(pc.dictionary_encode(joined).indices, dtype=np.int64)
