"""Schema and workload files that are wrong in hostile ways: one line, at once, without much
memory.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dprap.domain import Domain
from dprap.errors import DprapError, SchemaError, WorkloadError
from dprap.limits import MAX_DOCUMENT_BYTES
from dprap.schema import Schema
from dprap.workload.files import read_workload

COLUMN = "columns: {{a: {{type: {}, min: {}, max: {}}}}}"
BAD = [
    (COLUMN.format("date", "2024-02-30", "2024-03-01"), "line 1 has an impossible date"),
    (COLUMN.format("date", "'2024-02-30'", "2024-03-01"), "column 'a': min"),
    (COLUMN.format("date", "0000-01-01", "2024-03-01"), "line 1 has an impossible date"),
    (
        COLUMN.format("datetime", "2024-01-01 25:00:00", "2024-03-01"),
        "line 1 has an impossible date",
    ),
    (COLUMN.format("integer", "!!int x", "9"), "line 1 has an impossible whole number"),
    (COLUMN.format("integer", "!!float x", "9"), "line 1 has an impossible number"),
    (COLUMN.format("integer", "!!bool x", "9"), "line 1 has an impossible value"),
    (COLUMN.format("integer", "!!timestamp x", "9"), "line 1 has an impossible date"),
    (COLUMN.format("integer", "!!binary é", "9"), "not valid YAML"),
    (COLUMN.format("integer", "!!python/name:os.system ''", "9"), "not valid YAML"),
    (COLUMN.format("integer", "0", "1" + "0" * 400), "more than 300 digits"),
    (COLUMN.format("integer", "0", "9" * 5000), "line 1 has an impossible whole number"),
    ("a: 100000000000000000000000000", "column 'a': max"),
    ("{a: 1" + "0" * 26 + "}", "column 'a': max"),
    (
        (
            "columns: {a: {type: datetime, min: 0001-01-01 00:00:00, max: 9999-12-31 00:00:00,"
            " unit: year, timezone: Asia/Tokyo}}"
        ),
        "end of the calendar",
    ),
    ("[" * 200_000, "nested deeper"),
    ("- " * 200_000, "nested deeper"),
    ("a: &a [1, 1]\nb: [*a, *a]", "alias"),
    ("a: &a {<<: *a}", "alias"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_schemas(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 400 + len(str(path))


def test_brackets_without_end(tmp_path: Path) -> None:
    """A reader that recursed into them would crash the interpreter."""
    (tmp_path / "s.yaml").write_text("[" * 200_000)
    with pytest.raises(SchemaError, match="nested deeper"):
        Schema.load(tmp_path / "s.yaml")


def test_columns_have_a_limit_of_codes_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dprap.schema.declared.MAX_SCHEMA_CODES", 1000)
    (tmp_path / "s.yaml").write_text("{a: 400, b: 400, c: 400}")
    with pytest.raises(SchemaError, match="more than 1,000 codes in all"):
        Schema.load(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("suffix", "text"),
    [("json", "[" * 100_000), ("json", '{"a": 1' + "0" * 5000 + "}"), ("json", '{"a": 1' + "0" * 400 + "}"),
     ("toml", "a = " + "[" * 20_000), ("toml", "a = 1" + "0" * 5000), ("toml", "a = 1979-02-30")],
)  # fmt: skip
def test_other_forms(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"s.{suffix}"
    path.write_text(text)
    with pytest.raises(SchemaError):
        Schema.load(path)


def test_a_domain_of_python_numbers() -> None:
    for size in (10**26, 10**400):
        with pytest.raises(SchemaError, match="column 'a': max"):
            Schema.from_domain({"a": size})


def test_no_file_is_read_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    with path.open("wb") as file:
        file.truncate(MAX_DOCUMENT_BYTES + 1)
    with pytest.raises(SchemaError, match="larger than"):
        Schema.load(path)
    with pytest.raises(WorkloadError, match="larger than"):
        read_workload(path, Domain.of({"a": 2}))


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "- [a]\n- {columns: [a], weight: !!float x}", "- {columns: [a], weight: 1" + "0" * 400 + "}", "- {columns: [[a]]}",
     "- {columns: [a], cumulative: [{}]}", "- &a [a]\n- *a", "- {columns: [a], at_least: 1" + "0" * 30 + "}", "2024-02-30"],
)  # fmt: skip
def test_workloads(text: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)
    with pytest.raises(WorkloadError):
        read_workload(path, Domain.of({"a": 2}))


@pytest.mark.parametrize(
    "path", ["a" * 300 + ".yaml", "a/" * 3000 + "s.yaml", "a\0b.yaml", "\ud800.yaml", "", "."]
)
def test_paths_that_no_file_has(path: str) -> None:
    with pytest.raises(DprapError):
        Schema.load(path)
    with pytest.raises(DprapError):
        read_workload(path, Domain.of({"a": 2}))
