"""Inputs that are descriptions of tables by other tools, which become schemas."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import mutated, mutated_bytes, mutated_text

from dprap.schema.imports import import_known, import_schema

_BOUNDS = {"minimum": 0, "maximum": 99}
SOURCES: list[dict[str, Any]] = [
    {
        "fields": [
            {"name": "age", "type": "integer", "constraints": {**_BOUNDS, "required": True}},
            {"name": "pay", "type": "number", "decimalChar": ",", "groupChar": ".", "constraints": _BOUNDS},
            {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
            {"name": "day", "type": "date", "format": "%d/%m/%Y", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
        ],
        "missingValues": ["", "NA"],
    },
    {
        "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
        "columns": {"person": {"sdtype": "id"}, "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}, "sex": {"sdtype": "categorical"}},
    },
    {
        "$defs": {"Kind": {"enum": ["a", "b"], "type": "string"}},
        "properties": {
            "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 120},
            "kind": {"$ref": "#/$defs/Kind"},
            "pay": {"anyOf": [{"type": "number", **_BOUNDS}, {"type": "null"}]},
            "ok": {"type": "boolean"},
        },
        "required": ["age"],
        "type": "object",
    },
    {
        "schema_type": "dataframe",
        "columns": {
            "age": {"dtype": "int64", "nullable": False, "checks": {"greater_than_or_equal_to": 0, "less_than": 100}},
            "sex": {"dtype": "str", "nullable": True, "checks": {"isin": ["F", "M"]}},
        },
    },
    {
        "@type": "sc:Dataset",
        "recordSet": [{"@id": "t", "field": [{"@id": "t/age", "name": "age", "dataType": "sc:Integer"}]}],
    },
]  # fmt: skip
CODE_BOOK = "name,type,min,max,value,label\nage,integer,0,99,,\nsex,,,,1,woman\nsex,,,,2,man\n"


def imported(rng: random.Random, folder: Path) -> None:
    """A file of another tool; what is known of its columns may be enough for a schema."""
    if rng.random() < 0.2:
        path, content = (
            folder / "known.csv",
            mutated_text(CODE_BOOK, rng, [",", '"', "\n"]).encode("utf-8", "replace"),
        )
    else:
        path = folder / "known.json"
        source = rng.choice(SOURCES)
        content = json.dumps(
            source if rng.random() < 0.1 else mutated(source, rng), default=str
        ).encode()
    path.write_bytes(mutated_bytes(content, rng) if rng.random() < 0.1 else content)
    import_known(path)
    import_schema(path)
