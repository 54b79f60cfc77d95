"""Code books as CSV files: one line for each variable, or one for each value of a variable."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from dprap.documents import DocumentError, read_text
from dprap.errors import SchemaError
from dprap.schema.imports.column_settings import column_settings
from dprap.schema.texts import read_number, read_whole

_HEADINGS = {
    "variable": (
        "variable",
        "variable name",
        "variable_name",
        "varname",
        "column",
        "name",
        "field",
        "item",
        "var",
    ),
    "value": ("value", "code", "values", "codes"),
    "label": ("label", "meaning", "description", "value_label", "text"),
    "kind": ("type", "kind"),
    "low": ("min", "minimum", "low", "from"),
    "high": ("max", "maximum", "high", "to"),
    "missing": ("missing", "is_missing", "null"),
}
_KINDS = {"integer": "integer", "int": "integer", "number": "number", "float": "number", "numeric": "number", "boolean": "boolean",
          "date": "date", "datetime": "datetime", "categorical": "categorical", "text": "categorical", "string": "categorical"}  # fmt: skip
_YES = ("1", "yes", "y", "true", "x", "missing")
_NO = ("0", "no", "n", "false", "none")


def known(path: Path) -> dict[str, dict[str, Any] | None]:
    """Settings of the variables. Values that are marked as missing become null markers."""
    try:
        text = read_text(path)
    except DocumentError as error:
        raise SchemaError(f"{path}: {error}.") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    rows = list(csv.DictReader(text.splitlines(), delimiter=delimiter))
    heads = (
        {
            key: next((head for head in rows[0] if head and head.strip().lower() in words), None)
            for key, words in _HEADINGS.items()
        }
        if rows
        else {}
    )
    if not heads.get("variable") or not any(heads.get(key) for key in ("value", "kind", "low")):
        raise SchemaError(
            f"{path}: is no code book. It needs a column named variable, and value, type, or min"
            " and max; label and missing may follow."
        )
    found: dict[str, list[dict[str, str]]] = {}
    name = ""
    for row in rows:
        facts = {key: (row.get(head) or "").strip() for key, head in heads.items() if head}
        # many code books name a variable once, above its values
        name = facts.get("variable") or name
        found.setdefault(name, []).append(facts)
    return {name: _settings(lines) for name, lines in found.items() if name}


def _settings(lines: list[dict[str, str]]) -> dict[str, Any]:
    def first(key: str) -> str | None:
        return next((line[key] for line in lines if line.get(key)), None)

    values = [line["value"] for line in lines if line.get("value")]
    nulls = [
        line["value"]
        for line in lines
        if line.get("value") and line.get("missing", "").lower() in _YES
    ]
    kept = [value for value in values if value not in nulls]
    # of a variable without listed values the missing ones are named themselves, such as 98, 99
    nulls += [
        code.strip()
        for line in lines
        if not line.get("value") and line.get("missing", "").lower() not in ("", *_YES, *_NO)
        for code in re.split(r"[,;/]", line["missing"])
        if code.strip()
    ]
    kind = _KINDS.get((first("kind") or "").lower())
    low, high = first("low"), first("high")
    whole = [read_whole(value) for value in kept]
    is_whole = bool(kept) and all(
        number is not None and str(number) == value
        for number, value in zip(whole, kept, strict=True)
    )
    if kind is None and low is not None and high is not None and not kept:
        kind = (
            "integer" if read_whole(low) is not None and read_whole(high) is not None else "number"
        )
    if kind in ("integer", "number"):
        read: Any = read_whole if kind == "integer" else read_number
        low, high = (None if bound is None else read(bound) for bound in (low, high))
    described = "; ".join(
        f"{line['value']}: {line['label']}"
        for line in lines
        if line.get("value") and line.get("label")
    )
    label = next(
        (line["label"] for line in lines if line.get("label") and not line.get("value")), None
    )
    return column_settings(
        kind,
        values=(whole if is_whole else kept) if kept and kind in (None, "categorical") else None,
        low=low,
        high=high,
        nullable=bool(nulls),
        description=(label or described)[:2000] or None,
        null_values=nulls or None,
    )
