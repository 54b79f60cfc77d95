"""A value means in PostgreSQL and Spark what it means in memory: the hostile values of
tests/privacy, one by one.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.privacy import hostile_values as hostile
from tests.privacy.hostile_values import TEXTS, TOTAL_SCHEMA

from dprap.encoding.column_codes import codes_of
from dprap.encoding.policy import unplaced_code
from dprap.errors import SchemaError
from dprap.queries import Marginal
from dprap.schema import Column, Schema
from dprap.schema.values import Unplaced
from dprap.sources.spark import SparkSource
from dprap.sources.sql import Kind, code_sql
from dprap.sources.table_files import FileSource

FAR_DAY, FAR_PAST = pa.scalar(2**31 - 1, pa.date32()), pa.scalar(-(2**31), pa.date32())


def far(zone: str | None, *, sign: int = 1) -> pa.Scalar:
    return pa.scalar(sign * 2**60, pa.timestamp("us", zone))


# what the database stores, and what it is in Python
STORED: dict[str, tuple[Kind, list[tuple[str | None, Any]]]] = {
    "boolean": ("boolean", [("t", True), ("f", False)]),
    "bigint": ("integer", [(str(value), value) for value in hostile.WHOLE]),
    "float8": ("float", [(repr(value), value) for value in hostile.FLOATS]),
    "float4": ("float", [("0.1", np.float32(0.1)), ("7", np.float32(7)), ("NaN", None), ("-Infinity", -np.inf)]),
    "numeric": (
        "decimal",
        [(str(value), value) for value in [*hostile.DECIMALS, *hostile.WIDE_DECIMALS[:3]]]
        + [(text, Decimal(text)) for text in ("NaN", "Infinity", "-Infinity", "1" + "0" * 400, "5e-324", "2e-324", "-2e-324")]
        + [(text, Decimal(text)) for text in ("3e-324", "1e-310", "1.69e308", "1.75e308", "1.79769313486231580e308", "1e308")],
    ),
    "text": ("text", [(text, text) for text in TEXTS if "\x00" not in text]),
    "date": (
        "date",
        [(str(value), value) for value in hostile.DAYS]
        + [("0044-03-15 BC", np.datetime64("-0043-03-15")), ("infinity", FAR_DAY), ("-infinity", FAR_PAST)],
    ),
    "timestamp": (
        "timestamp",
        [(str(value), value) for value in hostile.WALL_TIMES]
        + [("0001-12-31 23:00 BC", np.datetime64("0000-12-31T23:00")), ("infinity", far(None)), ("-infinity", far(None, sign=-1))],
    ),
    "timestamptz": (
        "timestamptz",
        [(value.isoformat(), value) for value in hostile.INSTANTS[:4]]
        + [("0001-01-01 00:00+15", dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=15))))]
        + [("infinity", far("UTC")), ("-infinity", far("UTC", sign=-1)), ("0044-03-15 00:00+00 BC", far("UTC", sign=-1))],
    ),
}  # fmt: skip


def code_alone(name: str, column: Column, value: Any) -> int:
    position = column.place(value)
    return position if position >= 0 else unplaced_code(name, column, Unplaced(position))


@pytest.mark.parametrize("sql_type", STORED)
def test_postgres(sql_type: str, postgres_url: str) -> None:
    import psycopg

    kind, stored = STORED[sql_type]
    stored = [*stored, (None, None)]
    read = 0
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute(
            f"CREATE TEMPORARY TABLE kept (place int, x {sql_type}) ON COMMIT DROP".encode()
        )
        for place, (written, _) in enumerate(stored):
            insert = f"INSERT INTO kept VALUES (%s, %s::{sql_type})"  # noqa: S608
            connection.execute(insert.encode(), [place, written])
        for name, column in TOTAL_SCHEMA.columns.items():
            try:
                expression = code_sql("x", column, kind)
            except SchemaError:  # where the type says it all; text is read by files and frames only
                places = {column.place(value) for _, value in stored}
                assert kind == "text" or places <= {Unplaced.UNREADABLE, Unplaced.MISSING}
                continue
            read += 1
            query = f"SELECT {expression} FROM kept ORDER BY place"  # noqa: S608
            codes = [row[0] for row in connection.execute(query.encode()).fetchall()]
            expected = [code_alone("x", column, value) for _, value in stored]
            assert dict(zip(stored, codes, strict=True)) == dict(
                zip(stored, expected, strict=True)
            ), name
    assert read


def counts_of(column: Column, values: list[Any]) -> list[int]:
    codes = codes_of("x", column, np.array([column.place(value) for value in values]))
    return np.bincount(codes, minlength=column.size).tolist()


TYPED = [
    (pa.int64(), hostile.WHOLE),
    (pa.float64(), hostile.FLOATS),
    (pa.string(), TEXTS),
    (pa.date32(), hostile.DAYS),
    (pa.timestamp("us", "UTC"), hostile.INSTANTS[:4]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "values"), TYPED, ids=[str(kind) for kind, _ in TYPED])
def test_spark(kind: pa.DataType, values: list[Any], spark: Any, tmp_path: Path) -> None:
    array = pa.array([*values, None], kind)
    columns = {name: column for name, column in TOTAL_SCHEMA.columns.items() if column.takes(kind)}
    pq.write_table(pa.table(dict.fromkeys(columns, array)), tmp_path / "table.parquet")
    source = SparkSource.open(
        spark.read.parquet(str(tmp_path / "table.parquet")).repartition(3), Schema(columns=columns)
    )
    for (_, column), counted in zip(
        columns.items(), source.count([Marginal((name,)) for name in columns]), strict=True
    ):
        assert _dense(counted, column) == counts_of(column, list(array))


@pytest.mark.filterwarnings("ignore")
def test_spark_reads_csv_like_files(spark: Any, tmp_path: Path) -> None:
    # the lines of an address have no line ends in them; the same file by its path may have
    texts = [text for text in TEXTS if not {"\r", "\n"} & set(text)]
    path = tmp_path / "table.csv"
    pa.csv.write_csv(pa.table(dict.fromkeys(TOTAL_SCHEMA.columns, texts)), path)
    sources = (
        SparkSource.open(str(path), TOTAL_SCHEMA),
        SparkSource.open(path.as_uri(), TOTAL_SCHEMA),
        FileSource.open(path, TOTAL_SCHEMA),
    )
    marginals = [Marginal((name,)) for name in TOTAL_SCHEMA.columns]
    for column, *counted in zip(
        TOTAL_SCHEMA.columns.values(), *(each.count(marginals) for each in sources), strict=True
    ):
        assert [_dense(each, column) for each in counted] == [counts_of(column, texts)] * 3


def _dense(counted: Any, column: Column) -> list[int]:
    dense = np.zeros(column.size, dtype=np.int64)
    dense[slice(None) if counted.cells is None else counted.cells] = counted.counts
    return dense.tolist()
