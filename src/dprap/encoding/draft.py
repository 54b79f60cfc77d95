"""A first schema from data, for a person to review: everything in it is private until they have
done so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dprap.encoding.csv_dialect import recognise_csv
from dprap.encoding.draft_columns import propose
from dprap.encoding.draft_constraints import suggest_constraints
from dprap.encoding.draft_profile import Profile, profile_table
from dprap.encoding.draft_proposal import Hints, Proposal
from dprap.encoding.tables import (
    TableBatches,
    csv_form,
    is_text_file,
    open_csv,
    open_table,
    require_file,
)
from dprap.encoding.touched_values import Touched, touched_by
from dprap.errors import DataError, SchemaError
from dprap.schema import Schema
from dprap.schema.file_layout import Csv


@dataclass(frozen=True)
class Draft:
    """A drafted schema, and constraints that hold in the data, for a reviewer to think about."""

    schema: Schema
    suggestions: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write the draft, with the suggestions as comments where the file can hold them."""
        self.schema.save(path, suggestions=self.suggestions)


def draft_schema(
    table: Any,
    *,
    known: Mapping[str, Mapping[str, Any] | None] | None = None,
    csv: Mapping[str, Any] | None = None,
) -> Schema:
    """Propose a schema for a table or file, marked as a draft.

    Columns that name persons, or that no column type describes, are listed in `ignore_columns`;
    `draft_notes` has the reason for each column, and for each that was left out.

    Args:
        table: A table in memory or the path of a file.
        known: Settings of columns that are known from elsewhere, by the names of the columns. They
            win over the data.
        csv: How a CSV file is written, where that is known: `delimiter`, `encoding`, `quote`,
            `skip_lines`, `strip`.

    Returns:
        The schema, which every private operation refuses until `dprap schema review` has lifted its
        mark.

    Raises:
        DataError: If the table cannot be read or has no records.
        SchemaError: If no column can be described.
    """
    return draft(table, known=known, csv=csv).schema


def draft(
    table: Any,
    *,
    known: Mapping[str, Mapping[str, Any] | None] | None = None,
    csv: Mapping[str, Any] | None = None,
) -> Draft:
    """`draft_schema` with suggestions of constraints."""
    try:
        return _drafted(table, known=known, csv=csv)
    except (pa.ArrowException, OverflowError, UnicodeError):
        # a message of Arrow may quote a value
        raise DataError(
            "the table has values that a draft cannot describe, such as times beyond the year 9999,"
            " texts that are not UTF-8, or a type that few programs know. Leave such columns out,"
            " or write the schema by hand."
        ) from None


def _drafted(
    table: Any,
    *,
    known: Mapping[str, Mapping[str, Any] | None] | None,
    csv: Mapping[str, Any] | None,
) -> Draft:
    for name, given in (("known", known), ("csv", csv)):
        if given is not None and not isinstance(given, Mapping):
            raise SchemaError(f"{name} must be a mapping, not {type(given).__name__}.")
    source, form = _open(table, csv)
    twice = sorted(name for name, times in Counter(source.names).items() if times > 1)
    if twice:
        names = ", ".join(repr(name) if name else "an empty name" for name in twice)
        raise SchemaError(
            f"the header has more than one column called {names}. Rename all but one, or take them"
            " out."
        )
    profile = profile_table(source)
    if profile.rows == 0:
        raise DataError("the table has no records. A schema cannot be drafted from it.")
    proposals = _proposals(source, profile, form)
    proposals |= {
        name: _known(proposals.get(name), given)
        for name, given in (known or {}).items()
        if name in source.names
    }
    if all(proposal.settings is None for proposal in proposals.values()):
        raise SchemaError(
            "no column of the table has values that a schema can describe. Write the schema by"
            " hand."
        )
    schema = _schema(proposals, form)
    if not profile.is_whole:
        schema = _widened(proposals, form, schema, table)
    return Draft(schema, suggest_constraints(schema, profile.sample, is_text=source.is_text))


def _open(table: Any, csv: Mapping[str, Any] | None) -> tuple[TableBatches, Csv | None]:
    if isinstance(table, str | Path):
        path = Path(table)
        require_file(path)
        if is_text_file(path):
            form = csv_form(path, recognise_csv(path, csv))
            return open_csv(path, form), form
    if csv:
        raise SchemaError(
            "delimiter, encoding and the like are of CSV files, and this table is none. Leave them"
            " out."
        )
    return open_table(table), None


def _proposals(source: TableBatches, profile: Profile, form: Csv | None) -> dict[str, Proposal]:
    """Proposals for all columns; a second look at those for which the other columns decide how they
    are written.
    """

    def of(name: str, hints: Hints) -> Proposal:
        column = profile.columns[name]
        seen, is_exact = profile.seen(name)
        rows = (
            profile.rows if is_exact else _as_many_rows(seen, profile.sample.num_rows, profile.rows)
        )
        return propose(name, column.kind, seen, has_null=column.nulls > 0, rows=rows, hints=hints)

    hints = Hints(
        decimal_comma=form is not None and form.delimiter == ";", typed_texts=source.is_typed
    )
    found = {name: of(name, hints) for name in source.names}
    sure = [
        str(each.settings["format"])
        for each in found.values()
        if _is_dated(each) and each.settings and each.question is None
    ]
    orders = {
        text.startswith("%d")
        for text in sure
        if text.startswith(("%d/", "%d-", "%d.", "%m/", "%m-"))
    }
    commas = any((each.settings or {}).get("format", None) and "decimal" in (each.settings or {})["format"]
                 for each in found.values() if not _is_dated(each) and each.question is None)  # fmt: skip
    day_first = orders.pop() if len(orders) == 1 else None
    better = replace(hints, decimal_comma=hints.decimal_comma or commas, day_first=day_first)
    if better != hints:
        found |= {
            name: of(name, better) for name, each in found.items() if each.question is not None
        }
    return found


def _as_many_rows(seen: Mapping[Any, int], looked_at: int, rows: int) -> int:
    """The number of records with as many records for each of these values as the whole table has
    for each of its own.

    Nearly every record of a sample has a value of its own also where the whole table has dozens of
    records for each: of N records with m for each value, a sample of s has about s²(m − 1)/2N pairs
    of equal ones. So m follows from the pairs.
    """
    pairs = sum(count * (count - 1) / 2 for count in seen.values())
    return round(len(seen) * (1 + 2 * rows * pairs / max(1, looked_at) ** 2))


def _is_dated(proposal: Proposal) -> bool:
    return isinstance((proposal.settings or {}).get("format"), str)


def _known(drafted: Proposal | None, settings: Mapping[str, Any] | None) -> Proposal:
    """What is known from elsewhere, completed by what was drafted where both are of one type."""
    if settings is None:
        return Proposal(None, "is an identifier, or not to be released, as is known from elsewhere")
    own = dict(settings)
    if not own and drafted is not None:
        return drafted
    same = (
        drafted is not None
        and drafted.settings is not None
        and drafted.settings["type"] == own.get("type", drafted.settings["type"])
    )
    if drafted is None or drafted.settings is None or not same:
        return Proposal(own, "known from elsewhere")
    bins = ("min", "max", "edges", "width", "bins", "values", "groups", "other", "unit")
    replaced = (*bins, "decode", "representatives") if set(bins) & set(own) else ()
    base = {key: value for key, value in drafted.settings.items() if key not in replaced}
    left = tuple(key for key in drafted.from_data if key in base and key not in own)
    return Proposal(
        {**base, **own}, "known from elsewhere" + ("; the rest from the data" if left else ""), left
    )


def _schema(proposals: Mapping[str, Proposal], form: Csv | None) -> Schema:
    columns = {name: each.settings for name, each in proposals.items() if each.settings is not None}
    ignored = [name for name, each in proposals.items() if each.settings is None]
    notes = {
        name: {"reason": each.reason, "from_data": each.from_data, "question": each.question}
        for name, each in proposals.items()
    }
    csv = {} if form is None else {"csv": form.model_dump()}
    return Schema.of(
        {"draft": True, "columns": columns, "ignore_columns": ignored, "draft_notes": notes, **csv}
    )


def _widened(
    proposals: dict[str, Proposal], form: Csv | None, schema: Schema, table: Any
) -> Schema:
    """The draft with nulls allowed where a pass over the whole table found values that the sample
    did not show.
    """
    touched = touched_by(schema, table)
    changed = {
        name: replace(
            proposals[name],
            settings={**(proposals[name].settings or {}), **_room(schema, name, seen)},
        )
        for name, seen in touched.columns.items()
        if _room(schema, name, seen)
    }
    return _schema({**proposals, **changed}, form) if changed else schema


def _room(schema: Schema, name: str, seen: Touched) -> dict[str, Any]:
    column = schema.columns[name]
    room: dict[str, Any] = {}
    if (seen.missing or seen.unreadable) and not column.nullable and column.policy != "other":
        room["nullable"] = True
    if seen.outside and column.policy == "error":
        room |= (
            {"nullable": True, "out_of_domain": "null"}
            if column.type != "categorical"
            else {"other": "other"}
        )
    return room
