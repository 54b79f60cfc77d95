"""Inputs that are documents: schemas and workloads."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import yaml
from tests.fuzz.mutate import mutated, mutated_bytes, mutated_text

from dprap.datasets import example_schema
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.workload.files import read_workload

SCHEMAS: list[dict[str, Any]] = [
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 99, "width": 10, "nullable": True, "out_of_domain": "clip"},
            "logs": {"type": "integer", "min": 1, "max": 10_000, "bins": 8, "spacing": "log", "storage": "int16"},
            "pay": {"type": "number", "edges": [0, 1.5, 10], "decimals": 2, "storage": "decimal128(10, 2)"},
            "kept": {
                "type": "number", "min": 0, "max": 8, "width": 0.5, "decode": "histogram",
                "histogram": {"edges": [0, 1, 8], "weights": [1, 2.5]},
            },
            "city": {"type": "categorical", "values": ["Oslo", "Rome"], "other": "elsewhere", "null_values": ["-"]},
            "job": {
                "type": "categorical", "groups": {"a": [1, 2], "b": [3]}, "decode": "representative",
                "representatives": [1, 3],
            },
            "ok": {"type": "boolean", "true_values": ["y"], "false_values": ["n"]},
            "day": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "unit": "month", "format": "%d.%m.%Y"},
            "at": {
                "type": "datetime", "min": "2024-01-01T00:00:00Z", "max": "2024-12-31T00:00:00Z", "unit": "week",
                "timezone": "Europe/Berlin", "resolution": "second",
            },
        },
        "constraints": [
            {"type": "forbid", "where": {"age": {"min": 90}, "city": ["Oslo"]}},
            {"type": "determines", "from": "city", "to": "ok", "map": {"Oslo": True}},
        ],
        "null_values": ["", "NA"],
        "ignore_columns": ["id"],
        "csv": {"delimiter": ";"},
    },
    {
        "columns": {
            "zip": {"type": "categorical", "domain": "discover", "nullable": False, "null_values": ["-"]},
            "pay": {"type": "integer", "domain": "discover", "format": {"prefix": "€", "thousands": ","}},
            "rate": {"type": "number", "min": 0, "max": 1, "format": {"decimal": ",", "suffix": "%"}, "null_values": ["99"]},
            "start": {"type": "integer", "min": 0, "max": 1439, "format": {"clock": "minutes"}, "step": 5},
            "late": {"type": "integer", "min": -(2**62), "max": 2**62},
        },
        "csv": {"delimiter": "\t", "encoding": "cp1252", "quote": "'", "strip": True, "skip_lines": 2},
        "excel": {"sheet": "Data", "skip_lines": 1},
        "numbers": {"thousands": " ", "decimal": ","},
    },
    {"age": 85, "sex": 2, "income": 3},
    example_schema().as_mapping(),
]  # fmt: skip
WORKLOAD: list[Any] = [
    ["age", "city"],
    {"columns": ["age"], "weight": 2},
    {"columns": ["age", "ok", "day"], "at_least": 2},
    {"columns": ["age", "pay"], "cumulative": ["age"]},
]
YAML_BOMBS = [
    "[" * 200_000,
    "{a: " * 100_000,
    "- " * 100_000 + "1",
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\ncolumns: *c",
    "a: &a {<<: *a}",
    "columns: {a: {type: integer, min: !!int x, max: 9}}",
    "columns: {a: {type: integer, min: !!timestamp x, max: 9}}",
    "columns: {a: {type: integer, min: !!bool x, max: 9}}",
    "columns: {a: {type: integer, min: !!float x, max: 9}}",
    "columns: {a: {type: integer, min: !!binary x, max: 9}}",
    "columns: {a: {type: integer, min: !!python/name:os.system x, max: 9}}",
    "columns: {a: {type: integer, min: !!set {x}, max: !!omap [a: 1]}}",
    "columns: {a: {type: date, min: 2024-02-30, max: 2024-03-01}}",
    "columns: {a: {type: datetime, min: 2024-01-01 25:00:00, max: 2024-03-01}}",
    "a: 100000000000000000000000000",
    "? [a, b]\n: 1",
    "0x: 1",
    "a: 1:99:99",
    "--- a\n--- b",
    "%YAML 9.9\n---\na: 1",
    "\x85",
]


def _written(data: Any, form: str) -> bytes:
    """Plain data in a file's form; what the form cannot hold is left to its writer's own way
    out.
    """
    try:
        if form == "json":
            return json.dumps(data, default=str).encode("utf-8", "surrogatepass")
        if form == "toml":
            return _toml(data).encode()
        return yaml.dump(data, Dumper=_NoAliases, allow_unicode=True).encode(
            "utf-8", "surrogatepass"
        )
    except (TypeError, ValueError, yaml.YAMLError):
        return repr(data).encode("utf-8", "surrogatepass")


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, _: Any) -> bool:
        return True


def _toml(data: Any) -> str:
    """Enough of TOML: inline tables and JSON's literals, which TOML shares."""
    if isinstance(data, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(str(key))} = {_toml(value)}" for key, value in data.items())
            + "}"
        )
    if isinstance(data, list):
        return "[" + ", ".join(map(_toml, data)) + "]"
    return {None: '""', float("inf"): "inf"}.get(data) or json.dumps(data, default=str)


def _document(valid: Any, rng: random.Random, form: str) -> bytes:
    if form == "yaml" and rng.random() < 0.05:
        return rng.choice(YAML_BOMBS).encode()
    content = _written(valid if rng.random() < 0.2 else mutated(valid, rng), form)
    if form == "toml":
        content = b"\n".join(
            f"{json.dumps(str(key))} = {_toml(value)}".encode() for key, value in json.loads(_written(valid, "json")).items()
        ) if rng.random() < 0.3 else b"columns = " + content  # fmt: skip
    if rng.random() < 0.3:
        text = mutated_text(
            content.decode("utf-8", "replace"), rng, ["  ", "- ", ": ", "\n", "{", "]", "# "]
        )
        content = text.encode("utf-8", "surrogatepass")
    return mutated_bytes(content, rng) if rng.random() < 0.1 else content


def schema(rng: random.Random, folder: Path) -> None:
    """A schema file; one that is read is used, saved and read again."""
    form = rng.choice(["yaml", "yaml", "json", "toml"])
    path = folder / f"s.{form}"
    path.write_bytes(_document(rng.choice(SCHEMAS), rng, form))
    _use(Schema.load(path), folder)


def schema_mapping(rng: random.Random, folder: Path) -> None:
    """A schema handed over in Python, where numbers and dates are objects."""
    data = mutated(rng.choice(SCHEMAS), rng)
    if isinstance(data, dict):
        _use(Schema.of(data), folder)


def _use(found: Schema, folder: Path) -> None:
    for name, column in found.columns.items():
        for code in {0, column.size // 2, column.size - 1}:
            found.label(name, code)
        column.shares_of(column.all_values())
    found.code_constraints  # noqa: B018 - computed when asked for
    for column in found.fine_columns.values():
        column.interval_levels()
    found.save(folder / "again.yaml")
    assert Schema.load(folder / "again.yaml") == found


def workload(rng: random.Random, folder: Path) -> None:
    """A workload file, and a plan with it."""
    path = folder / "w.yaml"
    path.write_bytes(_document(WORKLOAD, rng, rng.choice(["yaml", "json"])))
    domain = _SCHEMA.domain
    read_workload(path, domain)
    options = RunOptions(epsilon=1.0, workload=read_workload(path, domain), method="independent")
    make_plan(_SCHEMA, options, records=1000)


_SCHEMA = Schema.of({key: value for key, value in SCHEMAS[0].items() if key != "constraints"})
