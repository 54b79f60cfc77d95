"""JSON Schema of a record, or of a list of records; pydantic models come by it too."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from dprap.schema.imports.column_settings import column_settings

_KINDS = {"integer": "integer", "number": "number", "boolean": "boolean"}
_FORMATS = {"date": "date", "date-time": "datetime"}
# Formats of texts that point to persons or records.
_PERSONAL = ("email", "idn-email", "uuid", "uri", "iri", "hostname", "ipv4", "ipv6")


def is_of_kind(content: dict[str, Any]) -> bool:
    """Whether content describes an object with properties, or a list of such."""
    items = content.get("items")
    return isinstance(content.get("properties"), dict) or (
        isinstance(items, dict) and is_of_kind(items)
    )


def known(content: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Settings of the properties."""
    if "properties" not in content:
        return known({**content["items"], "$defs": content.get("$defs", {})})
    shared = {**content.get("definitions", {}), **content.get("$defs", {})}
    required = set(content.get("required", content["properties"]))
    return {
        str(name): _settings(each, shared, is_required=name in required)
        for name, each in content["properties"].items()
    }


def _settings(
    entry: dict[str, Any], shared: dict[str, Any], *, is_required: bool
) -> dict[str, Any] | None:
    entry, allows_null = _resolved(entry, shared)
    if entry.get("format") in _PERSONAL:
        return None
    kinds = entry.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    allows_null |= "null" in kinds
    kind = next((_KINDS[each] for each in kinds if each in _KINDS), None) or _FORMATS.get(
        entry.get("format", "")
    )
    values = entry.get("enum") or ([entry["const"]] if "const" in entry else None)
    low, high = entry.get("minimum"), entry.get("maximum")
    if kind == "integer":
        low = entry["exclusiveMinimum"] + 1 if low is None and "exclusiveMinimum" in entry else low
        high = (
            entry["exclusiveMaximum"] - 1 if high is None and "exclusiveMaximum" in entry else high
        )
    low = entry.get("exclusiveMinimum") if low is None else low
    high = entry.get("exclusiveMaximum") if high is None else high
    low, high = (
        bound.isoformat() if isinstance(bound, date | datetime) else bound for bound in (low, high)
    )
    return column_settings(
        kind,
        values=None if values is None else [value for value in values if value is not None],
        low=low,
        high=high,
        nullable=allows_null or not is_required,
        description=entry.get("description"),
    )


def _resolved(entry: dict[str, Any], shared: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """An entry without references and alternatives of null; and whether it may be null."""
    allows_null = False
    for _ in range(10):
        if "$ref" in entry:
            entry = {
                **shared.get(str(entry["$ref"]).rpartition("/")[2], {}),
                **{k: v for k, v in entry.items() if k != "$ref"},
            }
            continue
        choices = entry.get("anyOf") or entry.get("oneOf") or entry.get("allOf")
        if not choices:
            break
        others = [each for each in choices if each.get("type") != "null"]
        allows_null |= len(others) < len(choices)
        if len(others) != 1:
            break
        entry = {
            **{k: v for k, v in entry.items() if k not in ("anyOf", "oneOf", "allOf")},
            **others[0],
        }
    return entry, allows_null
