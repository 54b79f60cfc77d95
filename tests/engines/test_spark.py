"""Spark counts exactly what the in-memory source counts, whatever the partitioning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.sources.tables import all_marginals, assert_same_counts, random_table, same

from dprap.datasets import example, example_schema
from dprap.encoding import encode
from dprap.errors import DataError, SchemaError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.sources.open import open_source
from dprap.sources.spark import SparkSource
from dprap.sources.table_files import FileSource

# pyspark itself warns on new versions of Python and pandas
pytestmark = pytest.mark.filterwarnings("ignore")


def frame_of(spark: Any, table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "table.parquet", coerce_timestamps="us")
    return spark.read.parquet(str(folder / "table.parquet"))


@pytest.mark.parametrize("seed", range(12))
def test_counts_like_memory(seed: int, spark: Any, tmp_path: Path) -> None:
    table, schema = random_table(seed, columns=6)
    frame = frame_of(spark, table, tmp_path).repartition(1 + seed % 3)
    assert_same_counts(open_source(frame, schema), table, schema)


def test_example_from_a_folder_in_several_passes(spark: Any, tmp_path: Path) -> None:
    table, schema = example(4000, seed=2), example_schema()
    for part in range(3):
        pq.write_table(table.slice(part * 1500, 1500), tmp_path / f"{part}.parquet")
    source = open_source(str(tmp_path), schema, engine="spark", memory_limit=1 << 17)
    memory = MemorySource(encode(table, schema))
    marginals = all_marginals(schema, k=2)
    assert all(
        same(a, b) for a, b in zip(source.count(marginals), memory.count(marginals), strict=True)
    )
    assert source.fingerprint() == FileSource.open(tmp_path, schema).fingerprint()


def test_csv_like_files(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        'name,age\n"a ""b"", c",1\n,2\n"two\nlines",\n"",4\nback\\slash,5\n', encoding="utf-8"
    )
    names = ['a "b", c', "two\nlines", "back\\slash"]
    for null_values in (("",), ("5",)):
        schema = Schema.of(
            {
                "columns": {
                    "name": {
                        "type": "categorical",
                        "values": names,
                        "other": "rest",
                        "nullable": True,
                    },
                    "age": {
                        "type": "integer",
                        "min": 0,
                        "max": 9,
                        "nullable": True,
                        "out_of_domain": "null",
                    },
                },
                "null_values": null_values,
            }
        )
        spark_source, file_source = (
            open_source(path, schema, engine="spark"),
            FileSource.open(path, schema),
        )
        assert spark_source.fingerprint() == file_source.fingerprint()
        marginals = all_marginals(schema)
        counts = zip(spark_source.count(marginals), file_source.count(marginals), strict=True)
        assert all(same(a, b) for a, b in counts)


def test_errors_name_the_column_and_no_value(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"a": [1, 4242]})
    frame = frame_of(spark, table, tmp_path)
    with pytest.raises(DataError) as in_memory:
        encode(table, Schema.from_domain({"a": 5}))
    with pytest.raises(DataError) as in_spark:
        SparkSource.open(frame, Schema.from_domain({"a": 5}))
    assert str(in_spark.value) == str(in_memory.value)
    text = Schema.of({"columns": {"a": {"type": "categorical", "values": ["x"]}}})
    with pytest.raises(SchemaError, match="'a'"):
        SparkSource.open(frame, text)
    with pytest.raises(SchemaError, match="'b'"):
        SparkSource.open(frame, Schema.from_domain({"b": 5}))
    with pytest.raises(DataError, match="no records"):
        SparkSource.open(frame.limit(0), Schema.from_domain({"a": 5000}))


def test_changed_files_are_refused(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    source = open_source(path, Schema.from_domain({"a": 5}), engine="spark")
    path.write_text("a\n1\n3\n")
    with pytest.raises(DataError, match=r"changed|failed"):
        source.count([Marginal(("a",))])


def test_ragged_csv_and_missing_path(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n4242\n")
    for location in (path, tmp_path / "none.parquet"):
        with pytest.raises(DataError) as caught:
            open_source(location, Schema.from_domain({"a": 5, "b": 5}), engine="spark")
        assert "4242" not in str(caught.value)


def test_missing_package_is_said() -> None:
    code = (
        "import sys; sys.modules['pyspark.sql'] = None\n"
        "from dprap.schema import Schema; from dprap.sources.open import open_source\n"
        "open_source('x.parquet', Schema.from_domain({'a': 2}), engine='spark')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "dprap[spark]" in done.stderr
