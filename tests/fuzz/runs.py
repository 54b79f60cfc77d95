"""Whole runs over small tables of every kind of column: what was paid for is never lost.

A run may be refused before its first step. Whatever noise it then draws, it ends in a release that
can be saved, read, asked and shown.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import dprap

Cells = list[Any]
Made = tuple[dict[str, Any], Callable[[random.Random], Any]]

RECORDS = (1, 5, 30, 200, 900)


def _categories(rng: random.Random) -> Made:
    count = rng.choice([1, 2, 3, 12, 60])
    column: dict[str, Any] = {"type": "categorical", "values": [f"v{i}" for i in range(count)]}
    if rng.random() < 0.3:
        column["other"] = "rest"
    return column, lambda each: f"v{min(int(each.expovariate(0.5)), count - 1)}"


def _codes(rng: random.Random) -> Made:
    most = rng.choice([1, 9, 120])
    return {"type": "integer", "min": 0, "max": most}, lambda each: each.randint(0, most)


def _heaped(rng: random.Random) -> Made:
    """A fine grid of whole numbers, of which half are 0."""
    most = rng.choice([300, 99_999, 10**6, 10**9])
    return (
        {"type": "integer", "min": rng.choice([0, -most]), "max": most},
        lambda each: each.choice([0, each.randint(0, most) // 100 * 100]),
    )


def _amounts(rng: random.Random) -> Made:
    most = rng.choice([5.0, 1e6])
    column = {"type": "number", "min": -5.0, "max": most, "decimals": rng.choice([0, 1, 2])}
    return (
        column | {"out_of_domain": "clip"},
        lambda each: round(min(each.lognormvariate(0, 3), most), 2),
    )


def _binned(rng: random.Random) -> Made:
    if rng.random() < 0.5:
        column = {"type": "number", "min": 0.0, "max": 1.0, "bins": rng.choice([1, 2, 30])}
        return column, lambda each: each.betavariate(0.2, 0.2)
    column = {"type": "number", "min": 1, "max": 10**6, "bins": 24, "spacing": "log"}
    return column, lambda each: min(max(each.lognormvariate(5, 2), 1.0), 1e6)


def _days(rng: random.Random) -> Made:
    column: dict[str, Any] = {"type": "date", "min": "1990-01-01", "max": "2024-12-31"}
    column |= rng.choice([{}, {"unit": "month"}])
    return column, lambda each: dt.date(1990, 1, 1) + dt.timedelta(days=each.randrange(12_000))


def _instants(rng: random.Random) -> Made:
    column: dict[str, Any] = {"type": "datetime"}
    column |= {"min": "2024-01-01T00:00:00", "max": "2024-03-01T00:00:00"}
    column |= rng.choice([{}, {"unit": "day"}])
    first = dt.datetime.fromisoformat("2024-01-01")
    return column, lambda each: first + dt.timedelta(seconds=each.randrange(5 * 10**6))


def _truths(rng: random.Random) -> Made:
    return {"type": "boolean"}, lambda each: each.random() < 0.1


_KINDS = (_categories, _codes, _heaped, _amounts, _binned, _days, _instants, _truths)


def _table(rng: random.Random) -> tuple[dict[str, Any], pa.Table]:
    records = rng.choice(RECORDS)
    columns: dict[str, Any] = {}
    cells: dict[str, Cells] = {}
    for place in range(rng.choice([1, 2, 3, 4, 6])):
        column, draw = rng.choice(_KINDS)(rng)
        values = [draw(rng) for _ in range(records)]
        if rng.random() < 0.4:
            column = column | {"nullable": True}
            values = [None if rng.random() < 0.2 else value for value in values]
        columns[f"c{place}"], cells[f"c{place}"] = column, values
    schema: dict[str, Any] = {"columns": columns}
    listed = [name for name, column in columns.items() if column["type"] == "categorical"]
    if len(listed) > 1 and rng.random() < 0.5:
        schema["constraints"] = [{"type": "forbid", "where": {name: ["v0"] for name in listed[:2]}}]
    return schema, pa.table(cells)


def _options(rng: random.Random, columns: list[str]) -> dict[str, Any]:
    method = rng.choice(["adaptive"] * 8 + ["gaussian", "independent", "rap"])
    options: dict[str, Any] = {
        "method": method,
        "epsilon": rng.choice([1e-3, 0.1, 1.0, 3.0, 10.0]),
        "delta": rng.choice([1e-9, 1e-7]),
        "neighbors": rng.choice(["replace", "add-remove"]),
        "accounting": rng.choice(["exact", "tight"]),
        "seed": rng.randrange(99),
        "insecure_noise_seed": rng.randrange(2**31),
        "kway": rng.randint(1, min(len(columns), 3)),
        "max_cells": rng.choice([100, 10**5]),
        "check": False,
    }
    if rng.random() < 0.2:
        options["rows"] = rng.choice([1, 1000])
    if rng.random() < 0.3:
        options["certificate_share"] = 0.0
    if rng.random() < 0.5:
        options["intervals"] = "no"
    if method == "adaptive" and rng.random() < 0.2:
        options["target"] = rng.choice(columns)
    if method == "rap":
        options["settings"] = {"rounds": 2, "synthetic_rows": 50}
    return options


def whole_run(rng: random.Random, folder: Path) -> None:
    """A run from a table in memory to a release that was saved, read, asked and reported."""
    schema, table = _table(rng)
    stages: list[str] = []
    try:
        release = dprap.synthesize(
            table,
            schema,
            progress=lambda step: stages.append(step.stage),
            **_options(rng, table.column_names),
        )
    except dprap.errors.DprapError as refused:
        if set(stages) - {"count"}:  # counting comes before the first charge
            raise AssertionError(f"refused after its first step: {refused}") from refused
        raise
    place = folder / f"run-{rng.randrange(2**60)}"
    release.save(place)
    read = dprap.load(place)
    assert read.schema == release.schema
    read.answer(table.column_names[0])
    read.report(place / "report.html")
    assert repr(read)
