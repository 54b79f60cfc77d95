"""CSV through Spark: a record never takes in, drops or changes another, whether workers read files
or Spark hands out lines.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.tables import all_marginals, same

from dprap.errors import DataError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import spark_tables
from dprap.sources.open import open_source
from dprap.sources.table_files import FileSource

# pyspark itself warns on new versions of Python and pandas
pytestmark = pytest.mark.filterwarnings("ignore")

TEXT = {"type": "categorical", "values": ["F", "M"], "other": "else"}
PAIRS = Schema.of(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 99, "out_of_domain": "clip"},
            "sex": TEXT,
        }
    }
)
ONE = Schema.of(
    {
        "columns": {
            "x": {"type": "categorical", "values": ["a", "", "#a", " ", "a\\", "\0a", "\ufeffa"]}
        },
        "null_values": ["?"],
    }
)


def places(path: Path) -> tuple[str, str]:
    """The same file as a path, which workers read, and as an address, of which Spark hands out
    lines.
    """
    return str(path), path.as_uri()


BAD = {
    "open": '1,"F\n2,M\n3,F\n',
    "open at the end": '1,F\n2,"M',
    "closed by the next record": '1,"F\n2,"M"\n',
    "text behind": '1,"F"x\n2,M\n',
    "takes in two": '"1,F\n2,M\n3,F"\n4,F\n',
    "ragged": "1,F\n4242\n",
    "blank": "1,F\n  \n2,M\n",
    "not UTF-8": "1,F\n2,M\udcff\n",
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_record_is_refused(kind: str, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(("age,sex\n" + BAD[kind]).encode("utf-8", "surrogateescape"))
    for place in places(path):
        with pytest.raises(DataError) as caught:
            open_source(place, PAIRS, engine="spark")
        assert "\n" not in str(caught.value)
        assert "4242" not in str(caught.value)


def test_a_line_break_in_a_field_is_read_from_files_and_refused_in_lines(
    spark: Any, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b'age,sex\n1,"F\nM"\n2,M\n')
    file, lines = places(path)
    assert open_source(file, PAIRS, engine="spark").rows == 2
    with pytest.raises(DataError, match="a line is a record"):
        open_source(lines, PAIRS, engine="spark")


GOOD = {
    "line ends of all kinds": b"x\r\na\ra\n\ra\r\n#a",
    "empty lines are records of one field": b"x\n\na\n\n\n",
    "backslashes": b"x\na\\\na\\\n",
    "blanks": b"x\n \n \na\n",
    "comments": b"x\n#a\na\n#a\n",
    "NUL": b"x\n\0a\n\0a\na\n",
    "mark": b"\xef\xbb\xbfx\n\xef\xbb\xbfa\na\n",
    "quotes": b'x\n"a"\n""\n"#a"\n',
}


@pytest.mark.parametrize("kind", GOOD)
def test_every_line_is_kept_and_means_what_it_means_in_files(
    kind: str, spark: Any, tmp_path: Path
) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(GOOD[kind])
    expected = FileSource.open(path, ONE)
    for place in places(path):
        found = open_source(place, ONE, engine="spark")
        assert found.fingerprint() == expected.fingerprint()
        assert same(found.count([Marginal(("x",))])[0], expected.count([Marginal(("x",))])[0])


def test_headers_of_all_files_and_splits(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file has a header, records may look like one, and Spark cuts files where it likes."""
    folder = tmp_path / "people.csv"
    folder.mkdir()
    for number in range(3):
        body = "age,sex\n" * 5 + f"{number},F\n" * 400
        (folder / f"{number}.csv").write_text("age,sex\n" + body)
    (folder / "3.csv.gz").write_bytes(gzip.compress(b"age,sex\n7,M\n"))
    schema = Schema.of(PAIRS.as_mapping() | {"columns": {"age": {"type": "integer", "min": 0, "max": 9, "nullable": True,
                                                                 "out_of_domain": "null"}, "sex": TEXT}})  # fmt: skip
    expected = FileSource.open(folder, schema)
    assert expected.rows == 3 * 405 + 1
    monkeypatch.setitem(spark_tables._SETTINGS, "spark.sql.files.maxPartitionBytes", "500")
    assert spark_tables.spark_table(folder.as_uri(), schema).frame.rdd.getNumPartitions() > 4
    found = open_source(folder.as_uri(), schema, engine="spark")
    assert found.fingerprint() == expected.fingerprint()
    marginals = all_marginals(schema, k=2)
    counted = zip(found.count(marginals), expected.count(marginals), strict=True)
    assert all(same(a, b) for a, b in counted)
    (folder / "4.csv").write_text("sex,age\nF,1\n")
    with pytest.raises(DataError, match="different header"):
        open_source(folder.as_uri(), schema, engine="spark")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_partition_values_are_texts_whatever_the_others_are(
    suffix: str, spark: Any, tmp_path: Path
) -> None:
    """Spark would read 01 and 02 as numbers, and as texts as soon as one more folder has another
    name.
    """
    folder = tmp_path / f"people.{suffix}"
    values = {"01": "01", "02": "02", "x%20y": "x y", "__HIVE_DEFAULT_PARTITION__": None}
    for number, name in enumerate(values):
        part = folder / f"region={name}"
        part.mkdir(parents=True)
        if suffix == "csv":
            (part / "t.csv").write_text("age\n" + f"{number}\n" * (number + 1))
        else:
            pq.write_table(pa.table({"age": [number] * (number + 1)}), part / "t.parquet")
        schema = Schema.of({"columns": {
            "age": {"type": "integer", "min": 0, "max": 9},
            "region": {"type": "categorical", "values": ["01", "02", "x y"], "nullable": True, "other": "other"},
        }})  # fmt: skip
        expected = FileSource.open(folder, schema).fingerprint()
        for place in places(folder):
            assert open_source(place, schema, engine="spark").fingerprint() == expected
