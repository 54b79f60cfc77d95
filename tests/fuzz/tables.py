"""Inputs that are tables: files of every kind with hostile cells, types and bytes.

Their values are private.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from tests.encoding.workbooks import DAMAGED_CELLS, ODD_CELLS, cell, workbook_of_cells
from tests.fuzz.mutate import HOSTILE_TEXTS, HOSTILE_VALUES, mutated_bytes, mutated_text
from tests.privacy.hostile_values import HOSTILE

from dprap.encoding import check, draft_schema, encode
from dprap.errors import DprapError
from dprap.runs.discover import discover, open_for_discovery
from dprap.runs.options import RunOptions
from dprap.schema import Schema
from dprap.sources.open import open_source
from dprap.sources.touched_values import touched_in

SECRET = "8675309"  # noqa: S105 - a value that no message may quote
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "integer", "min": 0, "max": 99},
    "pay": {"type": "number", "min": 0, "max": 10, "bins": 5},
    "city": {"type": "categorical", "values": ["Oslo", "Rome"]},
    "ok": {"type": "boolean"},
    "day": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "unit": "month"},
    "at": {
        "type": "datetime",
        "min": "2024-01-01T00:00:00",
        "max": "2024-12-31T00:00:00",
        "unit": "week",
    },
}
TOTAL = {"nullable": True, "out_of_domain": "null"}
STRICT = Schema.of({"columns": COLUMNS})
LENIENT = Schema.of({"columns": {name: {**column, **TOTAL} for name, column in COLUMNS.items()}})
WRITTEN: dict[str, dict[str, Any]] = COLUMNS | {
    "age": {"type": "integer", "min": 0, "max": 5000, "width": 60, "format": {"clock": "minutes"}, "null_values": ["N", "99"]},
    "pay": {"type": "number", "min": 0, "max": 10, "bins": 5, "format": {"prefix": "€", "decimal": ",", "thousands": ".", "suffix": "%"}},
    "day": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "unit": "month", "format": "%d.%m.%Y"},
}  # fmt: skip
FORMATS = Schema.of({"columns": {name: {**column, **TOTAL} for name, column in WRITTEN.items()}})
DISCOVERED = Schema.of(
    {
        "columns": (
            COLUMNS
            | {
                "age": {"type": "integer", "domain": "discover", "null_values": ["99"]},
                "pay": {"type": "number", "domain": "discover"},
                "city": {"type": "categorical", "domain": "discover"},
                "ok": {"type": "categorical", "domain": "discover", "nullable": False},
                "day": COLUMNS["day"] | TOTAL,
                "at": COLUMNS["at"] | TOTAL,
            }
        )
    }
)
GOOD = ["30", "2.5", "Oslo", "true", "2020-05-05", "2024-05-05T10:00:00"]
CELLS = [*HOSTILE_TEXTS, SECRET, f"x{SECRET}", f"{SECRET}.5", "-0", "1e5", "NA", "2020-13-01", "2020-05-05T10:00:00Z",
         "€1.234,5 %", "(€5)", "-€-5", "12:34", "12:60:00", "1.5", "31.12.2020", f"€{SECRET},5", f"{SECRET}:00"]  # fmt: skip

_ARROW: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [1, -1, None]),
    (pa.int64(), [int(SECRET), 2**62, 5]),
    (pa.uint64(), [2**64 - 1, 3]),
    (pa.float64(), [float("nan"), float("inf"), 2.5, float(SECRET)]),
    (pa.float16(), [1.0, None]),
    (pa.decimal128(38, 10), [Decimal("1E+20"), Decimal(SECRET)]),
    (pa.decimal256(76, 0), [Decimal(10) ** 70]),
    (pa.string(), [SECRET, "Oslo", "2020-05-05", "", None]),
    (pa.large_string(), ["Rome", SECRET]),
    (pa.string_view(), ["Rome", SECRET]),
    (pa.binary(), [SECRET.encode(), b"\xff"]),
    (pa.binary_view(), [SECRET.encode()]),
    (pa.bool_(), [True, None]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    (pa.date64(), [dt.date(2020, 5, 5)]),
    (pa.timestamp("ns"), [0, 2**62]),
    (pa.timestamp("s"), [2**62, -(2**62)]),
    (pa.timestamp("us", "Asia/Tokyo"), [0, None]),
    (pa.time64("us"), [5]),
    (pa.duration("s"), [5]),
    (pa.null(), [None]),
    (pa.list_(pa.int64()), [[int(SECRET)], []]),
    (pa.large_list(pa.string()), [[SECRET]]),
    (pa.struct({"a": pa.int64()}), [{"a": int(SECRET)}]),
    (pa.map_(pa.string(), pa.int64()), [[(SECRET, 1)]]),
    (pa.dictionary(pa.int8(), pa.string()), ["Oslo", SECRET]),
    (pa.dictionary(pa.int32(), pa.int64()), [5, int(SECRET)]),
]


def _read(path: Path, rng: random.Random) -> None:
    schema = rng.choice([STRICT, LENIENT, FORMATS])
    kind = rng.randrange(7)
    if kind == 0:
        encode(path, schema)
    elif kind == 1:
        open_source(path, schema, memory_limit=rng.choice([1, 1 << 20]))
    elif kind == 2:
        found = check(schema, path)
        if found.problems:
            raise DprapError(" ".join(found.problems))
    elif kind == 3:
        found = touched_in(path, schema)
        if found is not None and found.findings(0.0, quoting=False):
            raise DprapError(found.findings(0.0, quoting=False)[0])
    elif kind == 4:
        _discover(path)
    else:
        draft_schema(path)


def _discover(table: Any) -> None:
    """Domains of a table, and the table read by them: nothing in it may stop a run after
    discovery.
    """
    wanted = open_for_discovery(
        table,
        DISCOVERED,
        RunOptions(epsilon=1.0, delta=1e-3, neighbors="add-remove"),
        lambda *_: None,
    )
    encode(table, discover(wanted, ledger=None, run=None))


def csv_table(rng: random.Random, folder: Path) -> None:
    """A CSV file."""
    rows = [list(COLUMNS), *([*GOOD] for _ in range(rng.choice([0, 1, 5, 40])))]
    for _ in range(rng.choice([0, 1, 3])):
        row = rng.choice(rows)
        # names of columns are public and may be quoted
        row[rng.randrange(len(row))] = rng.choice(HOSTILE_TEXTS if row is rows[0] else CELLS)
        if rng.random() < 0.2:
            row.append("x" if row is rows[0] else SECRET)
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    content = text.getvalue()
    if rng.random() < 0.3:
        content = mutated_text(content, rng, [",", '"', "\r", "\n\n", "\t", ";"])
    encoded = content.encode(
        rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]), "replace"
    )
    path = folder / rng.choice(["t.csv", "t.csv", "t.tsv", "t.csv.gz", "t.txt"])
    path.write_bytes(mutated_bytes(encoded, rng) if rng.random() < 0.3 else encoded)
    _read(path, rng)


def parquet_table(rng: random.Random, folder: Path) -> None:
    """A Parquet file whose columns have any type, or whose bytes are damaged."""
    rows = rng.choice([0, 1, 5])
    table = pa.table(
        {
            "age": pa.array([5] * rows, pa.int64()),
            "pay": pa.array([2.5] * rows),
            "city": ["Oslo"] * rows,
            "ok": pa.array([True] * rows, pa.bool_()),
            "day": pa.array([dt.date(2020, 5, 5)] * rows, pa.date32()),
            "at": pa.array([dt.datetime(2024, 5, 5)] * rows, pa.timestamp("us")),  # noqa: DTZ001 - wall time
        }
    )
    for _ in range(rng.choice([0, 1, 2])):
        kind, values = rng.choice(_ARROW)
        position = rng.randrange(table.num_columns)
        column = pa.array([rng.choice(values) for _ in range(table.num_rows)], kind)
        name = rng.choice([table.column_names[position]] * 4 + ["other", "age"])
        table = table.set_column(position, name, column)
    path = folder / "t.parquet"
    try:
        pq.write_table(table, path)
    except (pa.ArrowException, NotImplementedError):  # a type that Parquet does not have
        return
    if rng.random() < 0.4:
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    _read(path, rng)


def json_lines(rng: random.Random, folder: Path) -> None:
    """A file of JSON lines."""
    rows = [dict(zip(COLUMNS, GOOD, strict=True)) for _ in range(rng.choice([0, 1, 5, 40]))]
    values = [value for value in HOSTILE_VALUES if not isinstance(value, dt.date)]
    for _ in range(min(len(rows), rng.choice([0, 1, 3]))):
        rng.choice(rows)[rng.choice(list(COLUMNS))] = rng.choice(
            [*CELLS, *values, int(SECRET), {"a": SECRET}, [SECRET]]
        )  # type: ignore[assignment]
    lines = [json.dumps(row) for row in rows]
    if lines and rng.random() < 0.4:
        at = rng.randrange(len(lines))
        lines[at] = rng.choice(
            [mutated_text(lines[at], rng, ['"', ":", "{", "}", ","]), "[]", SECRET, "[" * 9999, f'{{"age": {"9" * 9000}}}', '{"age": 1, "age": 2}', ""]
        )  # fmt: skip
    content = "\n".join(lines).encode("utf-8", "replace")
    path = folder / rng.choice(["t.jsonl", "t.ndjson", "t.jsonl.gz"])
    path.write_bytes(mutated_bytes(content, rng) if rng.random() < 0.2 else content)
    _read(path, rng)


def sheet(rng: random.Random, folder: Path) -> None:
    """An Excel sheet."""
    odd = [
        *ODD_CELLS.values(),
        *DAMAGED_CELLS.values(),
        *(cell(text) for text in CELLS if text.isprintable()),
    ]
    rows = [
        [cell(name) for name in COLUMNS],
        *([*map(cell, GOOD)] for _ in range(rng.choice([0, 1, 5]))),
    ]
    for _ in range(rng.choice([0, 1, 3])):
        row = rng.choice(rows)
        if rng.random() < 0.8:
            row[rng.randrange(len(row))] = rng.choice(
                odd if row is not rows[0] else list(ODD_CELLS.values())
            )
        else:
            del row[rng.randrange(len(row)) :]
            row.append(cell(None))
    path = folder / "t.xlsx"
    workbook_of_cells(path, rows)
    if rng.random() < 0.3:
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    _read(path, rng)


def arrow_file(rng: random.Random, folder: Path) -> None:
    """A file of Arrow's own, or a stream, with columns of any type and damaged bytes."""
    columns = {name: pa.array([rng.choice(values) for _ in range(4)], kind) for name, (kind, values) in zip(COLUMNS, rng.choices(_ARROW, k=6), strict=True)}  # fmt: skip
    table = pa.table(columns)
    path = folder / "t.arrow"
    with (pa.ipc.new_file if rng.random() < 0.5 else pa.ipc.new_stream)(
        str(path), table.schema
    ) as writer:
        writer.write_table(table)
    if rng.random() < 0.6:
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    _read(path, rng)


def discovery(rng: random.Random, folder: Path) -> None:
    """A table whose domains are found, in memory, of objects and of any type."""
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        kind, values = (
            rng.choice(_ARROW)
            if rng.random() < 0.3
            else (pa.string(), [GOOD[list(COLUMNS).index(name)], *CELLS])
        )
        columns[name] = pa.array([rng.choice(values) for _ in range(60)], kind)
    table = pa.table(columns)
    _discover(table if rng.random() < 0.5 else table.to_pandas())


def memory_table(rng: random.Random, folder: Path) -> None:
    """One column of any type in memory, held by Arrow or pandas, or objects of any kind."""
    name = rng.choice(list(COLUMNS))
    policy = TOTAL if rng.random() < 0.7 else {}
    schema = Schema.of({"columns": {name: rng.choice([COLUMNS, WRITTEN])[name] | policy}})
    kind, values = rng.choice(_ARROW)
    typed = pa.table({name: pa.array([rng.choice(values) for _ in range(3)], kind)})
    objects = [*rng.choices(HOSTILE, k=2), *typed[name]]
    table = rng.choice(
        [typed, typed.to_pandas(), pd.DataFrame({name: pd.Series(objects, dtype=object)})]
    )
    encode(table, schema)
