"""The review of a draft as an act: each column is accepted, edited, coarsened or dropped by a
person who is named.

Each step gives a new schema, so that a review can stop after any column and go on later. A column
whose note is gone is reviewed. `finish` lifts the mark of the draft, and takes out the notes, which
speak of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from dprap.errors import SchemaError
from dprap.schema.schema import Schema

_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


def to_review(schema: Schema) -> list[str]:
    """The columns that nobody has reviewed yet."""
    return [name for name in schema.columns if name in schema.draft_notes]


def accept(schema: Schema, name: str, *, by: str, because: str, on: date) -> Schema:
    """Take a column as it is; what came from the data is vouched for by a person, with a reason.

    Args:
        schema: A draft.
        name: The column.
        by: Who vouches.
        because: Why the entry is public knowledge.
        on: The day.

    Raises:
        SchemaError: If the name or the reason is empty.

    """
    mapping = _mapping(schema, name)
    note = schema.draft_notes.get(name)
    settings = (
        [] if note is None else [key for key in note.from_data if key in mapping["columns"][name]]
    )
    if settings:
        vouch = {"by": by, "because": because, "on": on.isoformat(), "settings": settings}
        mapping["vouched"] = {**mapping.get("vouched", {}), name: vouch}
    return _without_note(mapping, name)


def edit(schema: Schema, name: str, settings: Mapping[str, Any]) -> Schema:
    """Change settings of a column; None takes one out.

    What a person writes does not come from the data any more.
    """
    mapping = _mapping(schema, name)
    column = {
        key: value
        for key, value in {**mapping["columns"][name], **settings}.items()
        if value is not None
    }
    mapping["columns"] = {**mapping["columns"], name: column}
    note = mapping.get("draft_notes", {}).get(name)
    if note is not None:
        left = [key for key in note.get("from_data", []) if key not in settings and key in column]
        mapping["draft_notes"] = {**mapping["draft_notes"], name: {**note, "from_data": left}}
    return Schema.of(mapping)


def drop(schema: Schema, name: str) -> Schema:
    """Leave a column out of the release."""
    mapping = _mapping(schema, name)
    if len(mapping["columns"]) == 1:
        raise SchemaError(f"column {name!r}: is the last one. A schema needs at least one column.")
    mapping["columns"] = {key: value for key, value in mapping["columns"].items() if key != name}
    mapping["ignore_columns"] = [*mapping.get("ignore_columns", []), name]
    return _without_note(mapping, name)


def coarsen(schema: Schema, name: str, *, into_other: Sequence[str] = ()) -> Schema:
    """Make a column tell less: bins twice as wide, longer units of time, or fewer categories.

    Args:
        schema: A draft.
        name: The column.
        into_other: Categories to put together, for a column of categories.

    """
    column = dict(_mapping(schema, name)["columns"][name])
    from_data = schema.draft_notes[name].from_data if name in schema.draft_notes else ()
    kind = column["type"]
    if kind == "categorical":
        kept = [value for value in column.get("values", []) if str(value) not in into_other]
        if not into_other or not kept or len(kept) == len(column.get("values", [])):
            raise SchemaError(
                f"column {name!r}: name some of its values, not all, to put together as other."
            )
        changed: dict[str, Any] = {"values": kept, "other": column.get("other", "other")}
    elif kind == "boolean":
        raise SchemaError(
            f"column {name!r}: true and false cannot be coarser. Drop the column instead."
        )
    elif kind in ("date", "datetime"):
        unit = column.get("unit", "day")
        later = _UNITS.index(unit) + 1
        changed = (
            {"unit": _UNITS[later]}
            if later < len(_UNITS)
            else {"width": 2 * column.get("width", 1)}
        )
    elif "edges" in column:
        edges = column["edges"]
        first = 1 if edges[0] == 0 and len(edges) > 4 else 0  # a bin for zero alone stays
        kept = [*edges[:first], *edges[first:-1:2], edges[-1]]
        changed = {"edges": kept} if len(kept) < len(edges) else {}
    elif column.get("bins", 1) > 1:
        changed = {"bins": max(1, column["bins"] // 2)}
    else:
        changed = {"width": 2 * column.get("width", 1)}
    coarser = edit(schema, name, changed)
    # bins made of bins of the data still come from the data
    mapping = coarser.as_mapping()
    if name in mapping.get("draft_notes", {}):
        mapping["draft_notes"][name]["from_data"] = list(from_data)
    return Schema.of(mapping)


def finish(schema: Schema) -> Schema:
    """Lift the mark of a draft of which every column was reviewed.

    Raises:
        SchemaError: If a column was not reviewed.

    """
    left = to_review(schema)
    if left:
        raise SchemaError(
            f"column {left[0]!r}: was not reviewed yet ({len(left)} in all). Go on with the review."
        )
    mapping = schema.as_mapping()
    mapping.pop("draft_notes", None)
    mapping.pop("draft", None)
    return Schema.of(mapping)


def _mapping(schema: Schema, name: str) -> dict[str, Any]:
    if name not in schema.columns:
        raise SchemaError(f"column {name!r}: is not in the schema.")
    return schema.as_mapping()


def _without_note(mapping: dict[str, Any], name: str) -> Schema:
    mapping["draft_notes"] = {
        key: note for key, note in mapping.get("draft_notes", {}).items() if key != name
    }
    return Schema.of(mapping)
