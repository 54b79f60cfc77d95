"""All that stands between a table and a release, in one list for the steward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dprap.encoding.encode_table import check_columns, encode_batch
from dprap.encoding.tables import open_table
from dprap.encoding.touched_values import TouchedTable, touched_by
from dprap.errors import DprapError
from dprap.schema import Column, Schema

MAX_TOUCHED = 0.01
"""The share of a column's values that a policy may turn into null or move to a bound before a run
stops.
"""


@dataclass(frozen=True)
class CheckReport:
    """Problems that make a run fail, and notes worth reading.

    What is found in a table depends on private data.

    Args:
        problems: What stands in the way.
        notes: What follows from the schema.
        touched: Columns of which a policy changes more than a share of the values, with the likely
            cause.
        counts: For each column how many values its policy touches.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    touched: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    records: int | None = None
    """Records of the table, if it was read to its end. Public under replace neighbours alone."""

    @property
    def is_ready(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.problems and not self.touched


def check(schema: Schema, table: Any = None, *, share: float = MAX_TOUCHED) -> CheckReport:
    """Check a schema, and a table against it, and list every problem instead of stopping at the
    first.

    Args:
        schema: The schema.
        table: A table in memory or the path of a file.
        share: The share of values that a policy may turn into null or move to a bound.

    >>> check(Schema.from_domain({"age": 10})).problems
    ()
    """
    problems = []
    try:
        schema.refuse_draft()
    except DprapError as error:
        problems.append(str(error))
    notes = tuple(_notes(schema))
    if table is None or not schema.columns:
        return CheckReport(tuple(problems), notes)
    unknown = {"discover": {}, "ignore_columns": (*schema.ignore_columns, *schema.discover)}
    schema = schema.model_copy(update=unknown)
    found, records = _table_problems(schema.model_copy(update={"is_draft": False}), table)
    problems += found
    touched = TouchedTable(schema) if found else touched_by(schema, table)
    return CheckReport(
        tuple(problems),
        notes,
        tuple(touched.findings(share, quoting=True)),
        tuple(touched.count_lines()),
        records,
    )


def _notes(schema: Schema) -> list[str]:
    notes = [_codes_in_all(schema)]
    notes += [
        f"column {name!r}: a run finds its domain and pays for it" for name in schema.discover
    ]
    stopping: dict[str, list[str]] = {}
    for name, column in schema.columns.items():
        if not column.is_total:
            stopping.setdefault(_advice(column), []).append(repr(name))
    for advice, names in stopping.items():
        columns = f"column {names[0]}" if len(names) == 1 else f"columns {', '.join(names)}"
        notes.append(f"{columns}: a run stops when a value has no code. {advice}")
    for name, column in schema.columns.items():
        if column.size == 1:
            notes.append(f"column {name!r}: has one code, so nothing is learned from it")
    return notes


def _codes_in_all(schema: Schema) -> str:
    """How large the schema is; the points of a fine grid are no codes yet."""
    fine = schema.fine_columns
    codes = sum(column.size for name, column in schema.columns.items() if name not in fine)
    found = f"; a run finds intervals of {', '.join(fine)}" if fine else ""
    return f"{len(schema.columns)} columns, {codes:,} codes in all{found}"


def _advice(column: Column) -> str:
    if "other" in column.policies:
        return (
            "Declare a catch-all (other) or nullable: true with out_of_domain: null to rule"
            " that out"
        )
    return "Declare nullable: true and out_of_domain: null or clip to rule that out"


def _table_problems(schema: Schema, table: Any) -> tuple[list[str], int | None]:
    """The problems of a table, and its number of records if it could be read to its end."""
    problems: dict[str, str] = {}
    rows = 0
    try:
        source = open_table(table, schema)
        check_columns(source.names, schema)
        for batch in source.read():
            rows += batch.num_rows
            _batch_problems(schema, batch, problems, is_text=source.is_text)
    except DprapError as error:
        return [*problems.values(), str(error)], None
    return (
        list(problems.values())
        if rows
        else ["the table has no records. There is nothing to release."]
    ), rows


def _batch_problems(
    schema: Schema, batch: pa.RecordBatch, problems: dict[str, str], *, is_text: bool
) -> None:
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
        held = [codes[name] for name in constraint.columns if name in codes]
        if len(held) == len(constraint.columns) and constraint.broken(*held).any():
            problems[f"constraint {position}"] = (
                f"constraint {position} on {', '.join(constraint.columns)}: the table has records"
                " that break it. Correct the records or remove the constraint."
            )
