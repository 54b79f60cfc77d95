"""Constraints between columns: as people write them into a form, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from dprap.studio import forms
from dprap.studio.views import texts


def declared_in(form: Mapping[str, str], schema: Any) -> tuple[dict[str, Any], forms.Errors]:
    """A constraint as the form says it, and what is wrong with which field."""
    said = texts()["forms"]
    first, second = (form.get(f"column_{side}", "") for side in "ab")
    kind = form.get("relation", "forbid")
    errors = {
        f"column_{side}": said["which_column"]
        for side, name in zip("ab", (first, second), strict=True)
        if name not in schema.columns
    }
    if not errors and first == second:
        errors["column_b"] = said["two_columns"]
    if kind == "order":
        return {"type": "order", "smaller": first, "larger": second}, errors
    where: dict[str, Any] = {}
    for side, name in (("a", first), ("b", second)) if kind == "forbid" else (("b", second),):
        try:
            where[name] = _condition(
                schema.columns[name].type if name in schema.columns else "",
                form.get(f"values_{side}", ""),
            )
        except (KeyError, ValueError):
            errors.setdefault(f"values_{side}", said["which_values"])
    if kind == "null_when":
        return {"type": "null_when", "column": first, "where": where}, errors
    return {"type": "forbid", "where": where}, errors


def _condition(kind: str, text: str) -> Any:
    """Values of a column as a constraint writes them: a list, or `low..high` for columns with an
    order.
    """
    low, dots, high = text.strip().partition("..")
    if dots and kind != "categorical":
        read = forms.number if kind in ("integer", "number") else str
        ends = {"min": low.strip(), "max": high.strip()}
        return {key: read(value) for key, value in ends.items() if value}
    values = [each.strip() for each in text.replace("\n", ",").split(",") if each.strip()]
    if not values:
        raise ValueError
    if kind == "boolean":
        return [{"true": True, "false": False}[each.lower()] for each in values]
    return [forms.number(each) for each in values] if kind in ("integer", "number") else values


def constraint_text(constraint: Mapping[str, Any]) -> str:
    """A constraint in words."""
    said = texts()["schema"]
    where = cast("str", said["and"]).join(
        _where_text(*each) for each in constraint.get("where", {}).items()
    )
    parts = " + ".join(constraint.get("parts", ()))
    words = {
        "forbid": said["forbidden"],
        "order": said["ordered"],
        "null_when": said["null_when"],
        "sum": said["summed"],
        "determines": said["determined"],
    }
    named = {
        "source": constraint.get("from", ""),
        "target": constraint.get("to", ""),
        "relation": constraint.get("relation", "="),
    }
    return cast("str", words[constraint["type"]]).format(
        where=where, sum=parts, **{**named, **_plain_names(constraint)}
    )


def _where_text(name: str, condition: Any) -> str:
    if isinstance(condition, dict):
        return f"{name} = {condition.get('min', '')}..{condition.get('max', '')}"
    return f"{name} = {', '.join('null' if each is None else str(each) for each in condition)}"


def _plain_names(constraint: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(constraint.get(key, "")) for key in ("smaller", "larger", "column", "total")}
