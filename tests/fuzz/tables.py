"""Inputs that are tables: CSV and Parquet files with hostile cells, types and bytes. Their values are private."""

from __future__ import annotations

import csv
import datetime as dt
import io
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.mutate import HOSTILE_TEXTS, mutated_bytes, mutated_text

from dprap.encoding import check, draft_schema, encode
from dprap.errors import DprapError
from dprap.schema import Schema
from dprap.sources.open import open_source

SECRET = "8675309"  # noqa: S105 - a value that no message may quote
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "integer", "min": 0, "max": 99},
    "pay": {"type": "number", "min": 0, "max": 10, "bins": 5},
    "city": {"type": "categorical", "values": ["Oslo", "Rome"]},
    "ok": {"type": "boolean"},
    "day": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "unit": "month"},
    "at": {"type": "datetime", "min": "2024-01-01T00:00:00", "max": "2024-12-31T00:00:00", "unit": "week"},
}
TOTAL = {"nullable": True, "out_of_domain": "null"}
STRICT = Schema.of({"columns": COLUMNS})
LENIENT = Schema.of({"columns": {name: {**column, **TOTAL} for name, column in COLUMNS.items()}})
GOOD = ["30", "2.5", "Oslo", "true", "2020-05-05", "2024-05-05T10:00:00"]
CELLS = [*HOSTILE_TEXTS, SECRET, f"x{SECRET}", f"{SECRET}.5", "-0", "1e5", "NA", "2020-13-01", "2020-05-05T10:00:00Z"]

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
    schema = rng.choice([STRICT, LENIENT])
    kind = rng.randrange(4)
    if kind == 0:
        encode(path, schema)
    elif kind == 1:
        open_source(path, schema, memory_limit=rng.choice([1, 1 << 20]))
    elif kind == 2:
        found = check(schema, path)
        if found.problems:
            raise DprapError(" ".join(found.problems))
    else:
        draft_schema(path)


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
    encoded = content.encode(rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]), "replace")
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


def memory_table(rng: random.Random, folder: Path) -> None:
    """An Arrow table in memory with columns of any type."""
    columns = {}
    for name in COLUMNS:
        kind, values = rng.choice(_ARROW)
        columns[name] = pa.array([rng.choice(values) for _ in range(3)], kind)
    encode(pa.table(columns), rng.choice([STRICT, LENIENT]))
