"""A bad quote never joins records: the file is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from dprap.encoding import encode
from dprap.encoding.csv_files import read_csv_lines
from dprap.errors import DataError
from dprap.schema import Schema

TOTAL = {"type": "categorical", "values": ["F", "M"], "other": "else"}
SCHEMA = Schema.of({"columns": {"age": {"type": "integer", "min": 0, "max": 99}, "sex": TOTAL}})


@pytest.mark.parametrize(
    "records",
    [
        '1,"F\n2,M\n3,F\n',
        '1,F\n2,"M',
        '1,"F\n2,"M"\n',
        '1,"F"x\n2,M\n',
        '"1,F\n2,M\n3,F"\n4,F\n',
        '1,"' + "x" * 3_000_000,
    ],
)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_open_quotes_and_text_behind_them_are_refused(
    tmp_path: Path, records: str, is_compressed: bool
) -> None:
    content = ("age,sex\n" + records).encode()
    path = tmp_path / ("people.csv.gz" if is_compressed else "people.csv")
    path.write_bytes(gzip.compress(content) if is_compressed else content)
    with pytest.raises(DataError) as caught:
        encode(path, SCHEMA)
    assert "\n" not in str(caught.value)
    assert "M" not in str(caught.value).replace("MB", "")


def test_quotes_as_csv_writers_make_them_are_read(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('age,sex\n1,"F"\n"2","M"\n3,"a ""b"", c\nd"\n4,5\'10"\n', encoding="utf-8")
    assert encode(path, SCHEMA).column("sex").tolist() == [0, 1, 2, 2]


def test_a_file_that_changed_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('age,sex\n1,"F"\n', encoding="utf-8")
    assert encode(path, SCHEMA).rows == 1
    path.write_text('age,sex\n1,"F\n2,M\n', encoding="utf-8")
    with pytest.raises(DataError, match="not closed"):
        encode(path, SCHEMA)


@pytest.mark.parametrize("line", ['1,"F', '1,"F"x', '"1,F', '1,"F""'])
def test_a_line_by_itself_is_a_record_or_refused(line: str) -> None:
    """Where a table comes line by line, as in Spark, no quote reaches the next line."""
    with pytest.raises(DataError, match="has a line whose quotes are not closed"):
        read_csv_lines(pa.array(["2,M", line, "3,M"]), ["age", "sex"], ",", "people")
    read = read_csv_lines(pa.array(['1,"F"', '2,"a ""b"""']), ["age", "sex"], ",", "people")
    assert read["sex"].to_pylist() == ["F", 'a "b"']
