"""SDV metadata of one table: kinds of columns, and which of them identify persons."""

from __future__ import annotations

from typing import Any

from dprap.schema.imports.column_settings import column_settings

_KINDS = {"numerical": "number", "boolean": "boolean", "datetime": "datetime"}
_PERSONAL = ("id", "text", "unknown")


def is_of_kind(content: dict[str, Any]) -> bool:
    """Whether content is metadata of SDV."""
    columns = content.get("columns")
    single = isinstance(columns, dict) and any(
        isinstance(each, dict) and "sdtype" in each for each in columns.values()
    )
    return single or (isinstance(content.get("tables"), dict) and "resources" not in content)


def known(content: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Settings of the columns; None for ids and what SDV marks as personal."""
    columns = (
        content["columns"]
        if "columns" in content
        else next(iter(content["tables"].values()))["columns"]
    )
    return {str(name): _settings(each) for name, each in columns.items()}


def _settings(entry: dict[str, Any]) -> dict[str, Any] | None:
    kind = entry.get("sdtype", "categorical")
    if kind in _PERSONAL or entry.get("pii", False) or kind not in (*_KINDS, "categorical"):
        return None
    form = entry.get("datetime_format")
    if (
        kind == "datetime"
        and form
        and not any(mark in form for mark in ("%H", "%I", "%T", "%X", "%c"))
    ):
        return column_settings("date", format=None if form == "%Y-%m-%d" else form)
    whole = str(entry.get("computer_representation", "")).startswith(("Int", "UInt"))
    if kind == "numerical":
        # the draft tells whole numbers from others where the metadata does not
        return column_settings("integer") if whole else {}
    if kind == "categorical":
        values = entry.get("order") if isinstance(entry.get("order"), list) else None
        return column_settings("categorical" if values else None, values=values)
    return column_settings(_KINDS[kind], format=form)
