"""pandera schemas: the YAML that pandera writes, or the object itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dprap.schema.imports.column_settings import column_settings

_KINDS = (
    (re.compile(r"u?int", re.IGNORECASE), "integer"),
    (re.compile(r"float|decimal|double", re.IGNORECASE), "number"),
    (re.compile(r"bool", re.IGNORECASE), "boolean"),
    (re.compile(r"datetime|timestamp", re.IGNORECASE), "datetime"),
    (re.compile(r"date", re.IGNORECASE), "date"),
)
_LOW = ("greater_than_or_equal_to", "ge", "greater_than", "gt")
_HIGH = ("less_than_or_equal_to", "le", "less_than", "lt")


def is_of_kind(content: dict[str, Any]) -> bool:
    """Whether content is a schema that pandera wrote."""
    columns = content.get("columns")
    return content.get("schema_type") == "dataframe" or (
        isinstance(columns, dict)
        and bool(columns)
        and all(isinstance(each, dict) and "dtype" in each for each in columns.values())
    )


def known(content: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Settings of the columns; unique ones point to single records, and are not to be released."""
    return {
        str(name): (
            None
            if each.get("unique")
            else _settings(
                str(each.get("dtype")),
                dict(_checks(each.get("checks"))),
                each.get("nullable", False),
                each.get("description"),
            )
        )
        for name, each in content["columns"].items()
    }


def known_object(schema: Any) -> dict[str, dict[str, Any] | None]:
    """Settings of the columns of a `DataFrameSchema` or a `DataFrameModel`."""
    schema = schema.to_schema() if hasattr(schema, "to_schema") else schema
    return {
        str(name): (
            None
            if getattr(column, "unique", False)
            else _settings(
                str(column.dtype),
                {
                    str(check.name): getattr(check, "statistics", None) or {}
                    for check in column.checks
                },
                column.nullable,
                column.description,
            )
        )
        for name, column in schema.columns.items()
    }


def _checks(checks: Any) -> Iterator[tuple[str, Any]]:
    """Names of checks and their arguments, in each of the forms that pandera has written them."""
    if isinstance(checks, dict):
        yield from checks.items()
    for each in checks if isinstance(checks, list) else []:
        options = each.get("options", {})
        yield (
            str(options.get("check_name", each.get("name"))),
            each.get("value", {k: v for k, v in each.items() if k != "options"}),
        )


def _argument(found: Any, *names: str) -> Any:
    if not isinstance(found, dict):
        return found
    return next((found[name] for name in (*names, "value") if name in found), None)


def _settings(
    dtype: str, checks: dict[str, Any], nullable: bool, description: str | None
) -> dict[str, Any]:
    kind = next((name for pattern, name in _KINDS if pattern.search(dtype)), None)
    values = _argument(checks["isin"], "allowed_values") if "isin" in checks else None
    low = next((_argument(checks[name], "min_value") for name in _LOW if name in checks), None)
    high = next((_argument(checks[name], "max_value") for name in _HIGH if name in checks), None)
    within = checks.get("in_range") or checks.get("between")
    if isinstance(within, dict):
        low, high = within.get("min_value"), within.get("max_value")
    if kind == "integer":
        low = low + 1 if low is not None and "greater_than" in checks else low
        high = high - 1 if high is not None and "less_than" in checks else high
    return column_settings(
        kind, values=values, low=low, high=high, nullable=bool(nullable), description=description
    )
