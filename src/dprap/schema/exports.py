"""A schema in the forms of other tools: Frictionless Table Schema and SDV metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dprap.schema.columns import Column
from dprap.schema.schema import Schema

# Types of columns that Frictionless has under the same name; the others are texts there.
_SHARED = ("boolean", "integer", "number", "date", "datetime")


def to_frictionless(schema: Schema) -> dict[str, Any]:
    """The schema as a Frictionless Table Schema, which has no bins.

    >>> (field,) = to_frictionless(Schema.from_domain({"sex": 2}))["fields"]
    >>> field["type"], field["constraints"]
    ('integer', {'required': True, 'minimum': 0, 'maximum': 1})
    """
    columns = schema.as_mapping()["columns"]
    return {
        "fields": [_field(name, columns[name], column) for name, column in schema.columns.items()],
        "missingValues": sorted(
            {text for name in schema.columns for text in schema.null_texts(name)}
        ),
    }


def _field(name: str, column: Mapping[str, Any], declared: Column) -> dict[str, Any]:
    kind = column["type"]
    limits: dict[str, Any] = {} if declared.nullable else {"required": True}
    field: dict[str, Any] = {"name": name, "type": kind if kind in _SHARED else "string"}
    if kind == "categorical":
        members = column.get("values") or [
            member for group in column["groups"].values() for member in group
        ]
        if isinstance(members[0], int):
            field["type"] = "integer"
        if "other" in column or column.get("out_of_domain", "error") == "error":
            limits["enum"] = [*members, *([column["other"]] if "other" in column else [])]
    elif declared.is_number or declared.is_calendar:
        edges = column.get("edges")
        limits["minimum"], limits["maximum"] = (
            (edges[0], edges[-1]) if edges else (column["min"], column["max"])
        )
    form = column.get("format")
    if isinstance(form, str):
        field["format"] = form
    elif form:
        signs = {"decimalChar": form.get("decimal"), "groupChar": form.get("thousands")}
        field |= {key: sign for key, sign in signs.items() if sign is not None}
        field |= {"bareNumber": False} if form.get("prefix") or form.get("suffix") else {}
    for ours, theirs in (
        ("true_values", "trueValues"),
        ("false_values", "falseValues"),
        ("description", "description"),
    ):
        if ours in column:
            field[theirs] = column[ours]
    return {**field, "constraints": limits} if limits else field


def to_sdv(schema: Schema) -> dict[str, Any]:
    """The schema as metadata of SDV, which has neither domains nor bins."""
    columns = {}
    for name, column in schema.columns.items():
        entry: dict[str, Any] = {"sdtype": _sdtype(column)}
        form = getattr(column, "format", None)
        if column.type == "integer":
            entry["computer_representation"] = "Int64"
        if column.is_calendar:
            entry["datetime_format"] = form or (
                "%Y-%m-%d" if column.type == "date" else "%Y-%m-%d %H:%M:%S"
            )
        columns[name] = entry
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {"table": {"columns": columns}},
        "relationships": [],
    }


def _sdtype(column: Column) -> str:
    if column.is_number:
        return "numerical"
    if column.is_calendar:
        return "datetime"
    return "boolean" if column.type == "boolean" else "categorical"


EXPORTS: dict[str, Callable[[Schema], dict[str, Any]]] = {
    "frictionless": to_frictionless,
    "sdv": to_sdv,
}
"""The forms by name."""
