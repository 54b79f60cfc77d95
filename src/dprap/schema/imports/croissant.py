"""Croissant descriptions of data sets (MLCommons): the fields of the first set of records."""

from __future__ import annotations

from typing import Any

from dprap.schema.imports.column_settings import column_settings

_KINDS = {"integer": "integer", "int64": "integer", "int32": "integer", "float": "number", "number": "number", "float32": "number",
          "float64": "number", "boolean": "boolean", "date": "date", "datetime": "datetime"}  # fmt: skip


def is_of_kind(content: dict[str, Any]) -> bool:
    """Whether content is a description by Croissant."""
    return "recordSet" in content or "cr:recordSet" in content


def known(content: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Settings of the fields; a field that refers to a set of records with data takes its values
    from there.
    """
    sets = content.get("recordSet") or content["cr:recordSet"]
    listed = {str(each.get("@id", each.get("name"))): each for each in sets}
    with_fields = [each for each in sets if not each.get("data")] or sets
    found: dict[str, dict[str, Any] | None] = {}
    for field in with_fields[0].get("field", []):
        name = str(field.get("name", field.get("@id", ""))).rpartition("/")[2]
        kinds = field.get("dataType", [])
        words = [
            str(kind).rpartition(":")[2].rpartition("/")[2].lower()
            for kind in ([kinds] if isinstance(kinds, str) else kinds)
        ]
        kind = next((_KINDS[word] for word in words if word in _KINDS), None)
        found[name] = column_settings(
            kind, values=_enumeration(field, listed), description=field.get("description")
        )
    return found


def _enumeration(field: dict[str, Any], listed: dict[str, Any]) -> list[Any] | None:
    """The values of the set of records that a field refers to."""
    reference = (field.get("references") or {}).get("field")
    reference = reference.get("@id") if isinstance(reference, dict) else reference
    if not isinstance(reference, str):
        return None
    group, _, key = reference.rpartition("/")
    rows = listed.get(group, {}).get("data") or []
    return [row.get(reference, row.get(key)) for row in rows] or None
