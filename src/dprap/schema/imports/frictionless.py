"""Frictionless Table Schema, alone or as the first resource of a data package."""

from __future__ import annotations

from typing import Any

from dprap.schema.imports.column_settings import column_settings

_KINDS = {
    "integer": "integer",
    "year": "integer",
    "number": "number",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
}


def is_of_kind(content: dict[str, Any]) -> bool:
    """Whether content is a table schema or a data package."""
    return isinstance(content.get("fields"), list) or isinstance(content.get("resources"), list)


def known(content: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Settings of the fields; keys and unique fields point to single records, and are not to be
    released.
    """
    table = content if "fields" in content else content["resources"][0]["schema"]
    missing = table.get("missingValues")
    key = table.get("primaryKey") or []
    keys = [key] if isinstance(key, str) else list(key)
    return {
        str(field["name"]): None if _is_key(field, keys) else _settings(field, missing)
        for field in table["fields"]
    }


def _is_key(field: dict[str, Any], keys: list[Any]) -> bool:
    # of a key of several fields none points to a record by itself
    return bool(field.get("constraints", {}).get("unique")) or keys == [field["name"]]


def _settings(field: dict[str, Any], missing: list[Any] | None) -> dict[str, Any]:
    limits = field.get("constraints", {})
    kind = _KINDS.get(field.get("type", "any"))
    nulls = field.get("missingValues", missing)
    texts = [each["value"] if isinstance(each, dict) else each for each in nulls or []]
    form = field.get("format")
    signs = {"decimal": field.get("decimalChar"), "thousands": field.get("groupChar")}
    signs = {
        name: sign
        for name, sign in signs.items()
        if sign is not None and (name, sign) != ("decimal", ".")
    }
    return column_settings(
        kind or ("categorical" if limits.get("enum") else None),
        values=limits.get("enum"),
        low=limits.get("minimum"),
        high=limits.get("maximum"),
        nullable=not limits.get("required", False) and bool(texts),
        description=field.get("description") or field.get("title"),
        null_values=texts or None,
        format=(
            form
            if kind in ("date", "datetime") and isinstance(form, str) and "%" in form
            else signs or None
        ),
        true_values=field.get("trueValues") if kind == "boolean" else None,
        false_values=field.get("falseValues") if kind == "boolean" else None,
    )
