"""All that stands between a table and a release, in one list for the steward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dprap.encoding.encode import check_columns, encode_batch
from dprap.encoding.tables import open_table
from dprap.errors import DprapError
from dprap.schema import Column, Schema


@dataclass(frozen=True)
class CheckReport:
    """Problems that make a run fail, and notes worth reading. Problems found in a table depend on private data."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.problems


def check(schema: Schema, table: Any = None) -> CheckReport:
    """Check a schema, and a table against it, and list every problem instead of stopping at the first.

    >>> check(Schema.from_domain({"age": 10})).problems
    ()
    """
    problems = []
    try:
        schema.require_reviewed()
    except DprapError as error:
        problems.append(str(error))
    if table is not None:
        problems += _table_problems(schema.model_copy(update={"is_draft": False}), table)
    return CheckReport(tuple(problems), tuple(_notes(schema)))


def _notes(schema: Schema) -> list[str]:
    notes = [f"{len(schema.columns)} columns, {schema.domain.onehot_size:,} codes in all"]
    for name, column in schema.columns.items():
        if not column.is_total:
            notes.append(f"column {name!r}: a run stops when a value has no code. {_advice(column)}")
        if column.size == 1:
            notes.append(f"column {name!r}: has one code, so nothing is learned from it")
    return notes


def _advice(column: Column) -> str:
    if "other" in column.policies:
        return "Declare a catch-all (other) or nullable: true with out_of_domain: null to rule that out"
    return "Declare nullable: true and out_of_domain: null or clip to rule that out"


def _table_problems(schema: Schema, table: Any) -> list[str]:
    problems: dict[str, str] = {}
    rows = 0
    try:
        source = open_table(table, schema)
        check_columns(source.names, schema)
        for batch in source.read():
            rows += batch.num_rows
            _batch_problems(schema, batch, problems, is_text=source.is_text)
    except DprapError as error:
        return [*problems.values(), str(error)]
    return list(problems.values()) if rows else ["the table has no records. There is nothing to release."]


def _batch_problems(schema: Schema, batch: pa.RecordBatch, problems: dict[str, str], *, is_text: bool) -> None:
    codes = {}
    for name, column in schema.columns.items():
        if name in problems:
            continue
        alone = schema.model_copy(update={"columns": {name: column}})
        try:
            (codes[name],) = encode_batch(batch, alone, is_text=is_text)
        except DprapError as error:
            problems[name] = str(error)
    for position, constraint in enumerate(schema.code_constraints, start=1):
        if all(name in codes for name in constraint.columns):
            cells = tuple(codes[name] for name in constraint.columns)
            if constraint.forbidden()[cells].any():
                problems[f"constraint {position}"] = (
                    f"constraint {position} on {', '.join(constraint.columns)}: the table has records that break it. "
                    "Correct the records or remove the constraint."
                )
