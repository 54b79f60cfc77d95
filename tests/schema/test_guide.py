"""The schemas shown in the guide are schemas."""

from __future__ import annotations

import re
from pathlib import Path

from dprap.schema import Schema

GUIDE = Path(__file__).parents[2] / "docs" / "schema.md"


def test_the_first_example_loads(tmp_path: Path) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "schema.yaml"
    path.write_text(examples[0], encoding="utf-8")
    schema = Schema.load(path)
    assert list(schema.columns) == [
        "age",
        "sex",
        "city",
        "income",
        "admitted",
        "last_visit",
        "smoker",
    ]
    assert schema.columns["sex"].policy == "null"
    assert schema.label("admitted", 0) == "2020-01-01..2020-01-31"


def test_the_guide_names_every_setting() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    columns = Schema.of({"columns": {"x": {"type": "boolean"}}}).model_json_schema()["$defs"]
    settings = {name for part in columns.values() for name in part.get("properties", {})}
    missing = {name for name in settings if not re.search(rf"\b{name}\b", text)}
    assert missing == set()
