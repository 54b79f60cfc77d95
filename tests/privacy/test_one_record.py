"""One record never changes how another is encoded: the code of a record is a function of the schema
and the record.

Two tables that differ in one record must have codes that differ in that record alone; every
sensitivity rests on it.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.encoding.workbooks import ODD_CELLS, cell, workbook, workbook_of_cells
from tests.privacy import hostile_values as hostile
from tests.privacy.hostile_values import HOSTILE, TEXTS, TOTAL_SCHEMA
from tests.schema.strategies import total_schemas

from dprap.encoding import encode, encode_batch, encode_batches
from dprap.encoding.column_codes import codes_of, positions_of
from dprap.encoding.policy import unplaced_code
from dprap.errors import DataError
from dprap.schema import Column, Schema
from dprap.schema.values import Unplaced
from dprap.sources.duckdb import open_duckdb_table

QUICK = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
COLUMNS = list(TOTAL_SCHEMA.columns.items())


def code_alone(name: str, column: Column, value: Any) -> int:
    """The code that the definition gives to one value: its place, then the policy."""
    position = column.place(value)
    return position if position >= 0 else unplaced_code(name, column, Unplaced(position))


@cache
def codes_of_array(kind: str, position: int) -> list[int]:
    """What the definition gives to the values of one of `ARRAYS` under one of `COLUMNS`."""
    column = COLUMNS[position][1]
    return [code_alone("x", column, each) for each in dict(ARRAYS)[kind]]


@cache
def alone(name: str, column: Column) -> Schema:
    return Schema(columns={name: column}, null_values=("<null>",))


def test_there_are_enough_kinds() -> None:
    assert len(HOSTILE) >= 250
    assert len({type(value) for value in HOSTILE}) >= 50


@pytest.mark.parametrize(("name", "column"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_every_hostile_value_has_a_code_under_a_total_policy(name: str, column: Column) -> None:
    assert column.is_total
    codes = encode(
        pd.DataFrame({name: pd.Series(HOSTILE, dtype=object)}), alone(name, column)
    ).columns[0]
    assert codes.tolist() == [code_alone(name, column, value) for value in HOSTILE]
    seen = set(codes.tolist())
    assert len(seen) > 2  # the values tell the codes apart, or the tests below would prove nothing


# by their number: hypothesis would show the values, and some cannot be shown
ANY_OBJECT = st.integers(0, len(HOSTILE) - 1)


@settings(QUICK, max_examples=150)
@given(
    st.lists(ANY_OBJECT, min_size=2, max_size=30),
    ANY_OBJECT,
    st.sampled_from(COLUMNS),
    st.integers(1, 7),
    st.booleans(),
)
def test_objects(
    numbers: list[int], other: int, column: tuple[str, Column], rows: int, in_polars: bool
) -> None:
    values = [HOSTILE[number] for number in numbers]
    changed = other % len(values)
    name, schema = column[0], alone(*column)

    def codes(of: list[Any]) -> list[int]:
        series = (
            pl.Series(name, [None, *of], dtype=pl.Object).slice(1)
            if in_polars
            else pd.Series(of, dtype=object, name=name)
        )
        parts = encode_batches(series.to_frame(), schema, batch_rows=rows)
        return [code for part in parts for code in part[0].tolist()]

    before, after = (
        codes(values),
        codes([*values[:changed], HOSTILE[other], *values[changed + 1 :]]),
    )
    assert before == [code_alone(*column, value) for value in values]
    assert [*before[:changed], *before[changed + 1 :]] == [*after[:changed], *after[changed + 1 :]]


@settings(QUICK, max_examples=60)
@given(total_schemas(), st.lists(ANY_OBJECT, min_size=1, max_size=20))
def test_objects_in_generated_schemas(schema: Schema, numbers: list[int]) -> None:
    values = [HOSTILE[number] for number in numbers]
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name in schema.columns})
    codes = encode(frame, schema)
    for (name, column), encoded in zip(schema.columns.items(), codes.columns, strict=True):
        assert encoded.tolist() == [code_alone(name, column, value) for value in values]


TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    *((kind, hostile.WHOLE) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32())),
    (pa.uint64(), [*hostile.WHOLE, *hostile.HUGE]),
    *((kind, hostile.FLOATS) for kind in (pa.float16(), pa.float32(), pa.float64())),
    *(
        (kind, [*hostile.DECIMALS, Decimal("-2.5")])
        for kind in (pa.decimal32(9, 2), pa.decimal64(18, 4), pa.decimal128(18, 0), pa.decimal128(38, 0), pa.decimal128(38, 20), pa.decimal128(18, 2),
                     pa.decimal128(5, -3), pa.decimal256(76, 22))
    ),
    *((kind, hostile.DAYS) for kind in (pa.date32(), pa.date64())),
    *((pa.timestamp(unit), hostile.WALL_TIMES) for unit in ("s", "ms", "us", "ns")),
    *((pa.timestamp(unit, zone), hostile.INSTANTS) for unit in ("s", "ms", "us", "ns") for zone in ("UTC", "Asia/Kolkata")),
    *((kind, TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((pa.dictionary(pa.int16(), kind), TEXTS) for kind in (pa.string(), pa.large_string())),
    (pa.null(), [None]),
]  # fmt: skip


def carried(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """An array of those values that a type can carry, and null; numbers of the type's own ends for
    times.
    """
    found = []
    for value in [*values, None]:
        try:
            found.append(pa.array([value], kind))
        except (pa.ArrowException, OverflowError, ValueError):
            continue
    if pa.types.is_date32(kind):
        found.append(pa.array([-(2**31), 2**31 - 1, -719_528], pa.int32()).cast(kind))
    if pa.types.is_timestamp(kind):
        found.append(pa.array([-(2**63), 2**63 - 1, 0, -1, 999], pa.int64()).cast(kind))
    if pa.types.is_dictionary(kind):
        return pa.concat_arrays([part.cast(kind.value_type) for part in found]).dictionary_encode()
    return pa.concat_arrays(found)


ARRAYS = [(str(kind), carried(kind, values)) for kind, values in TYPES]


@pytest.mark.parametrize(("kind", "array"), ARRAYS, ids=[kind for kind, _ in ARRAYS])
def test_fast_paths_equal_the_definition(kind: str, array: pa.Array) -> None:
    taken = 0
    for name, column in COLUMNS:
        expected = [column.place(each) for each in array]
        if (
            pa.types.is_null(array.type)
            or pa.types.is_dictionary(array.type)
            or column.takes(array.type)
        ):
            taken += 1
            assert positions_of(name, column, array).tolist() == expected, name
            sliced = pa.concat_arrays([array.slice(1), array.slice(0, 1)]).slice(1)
            assert positions_of(name, column, sliced).tolist() == [*expected[2:], expected[0]], name
        else:  # a type is refused as a whole exactly where no value of it is readable
            assert {*expected} <= {Unplaced.UNREADABLE, Unplaced.MISSING}, name
    assert taken >= 1, kind


def arrays_of_any_type() -> st.SearchStrategy[tuple[pa.Array, list[int]]]:
    def drawn(array: pa.Array) -> st.SearchStrategy[tuple[pa.Array, list[int]]]:
        indices = st.lists(st.integers(0, len(array) - 1), min_size=2, max_size=25)
        return indices.map(
            lambda chosen: (pa.concat_arrays([array.slice(each, 1) for each in chosen]), chosen)
        )

    return st.sampled_from([array for _, array in ARRAYS]).flatmap(drawn)


@settings(QUICK, max_examples=200)
@given(arrays_of_any_type(), st.sampled_from(COLUMNS), st.data())
def test_typed_arrays(
    drawn: tuple[pa.Array, list[int]], column: tuple[str, Column], data: st.DataObject
) -> None:
    array, _ = drawn
    name, declared = column
    if not declared.takes(
        array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    ):
        return
    changed = data.draw(st.integers(0, len(array) - 1))
    rows = data.draw(st.integers(1, 9))
    without = pa.concat_arrays([array.slice(0, changed), array.slice(changed + 1)])

    def codes(of: pa.Array) -> list[int]:
        parts = encode_batches(pa.table({name: of}), alone(name, declared), batch_rows=rows)
        return [code for part in parts for code in part[0].tolist()]

    whole = codes(array)
    assert [*whole[:changed], *whole[changed + 1 :]] == codes(without)
    assert whole == [code_alone(name, declared, each) for each in array]


class OwnFrame(pd.DataFrame):
    """A class made from pandas' own, as GeoDataFrame is.

    Streamed by Arrow, its objects would be given a type together.
    """


class OwnPolars(pl.DataFrame):
    """A class made from polars' own."""


@pytest.mark.parametrize("own", [OwnFrame, OwnPolars])
def test_frames_of_other_classes_are_read_value_by_value(own: type) -> None:
    """Of these objects no type can be inferred together; each pair has the codes of its values."""
    day, wall = dt.date(2024, 3, 1), dt.datetime(2024, 3, 1, 12)  # noqa: DTZ001
    for name, values in (
        ("day", [wall, "odd", day]),
        ("integer", [7, "7", 7.0, True]),
        ("city", ["Rome", b"Rome", 7]),
    ):
        column = TOTAL_SCHEMA.columns[name]
        series = (
            pd.Series(values, dtype=object)
            if own is OwnFrame
            else pl.Series(name, values, dtype=pl.Object)
        )
        codes = encode(own({name: series}), alone(name, column)).columns[0]
        assert codes.tolist() == [code_alone(name, column, value) for value in values]


CONTAINERS: dict[str, Callable[[pa.Array, Path], Any]] = {
    "frames of another class": lambda array, _: OwnFrame(
        {"x": pd.Series(list(array), dtype=object)}
    ),
    "parquet": lambda array, folder: _written(array, folder / "table.parquet"),
    "pandas": lambda array, _: pa.table({"x": array}).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas objects": lambda array, _: pd.DataFrame({"x": pd.Series(list(array), dtype=object)}),
    "polars": lambda array, _: pl.from_arrow(pa.table({"x": array})),
    "arrow file": lambda array, folder: _ipc(array, folder / "table.arrow"),
    "arrow stream in a file": lambda array, folder: _ipc(
        array, folder / "table.arrows", stream=True
    ),
    "arrow stream": lambda array, _: Streams(pa.table({"x": array})),
}


class Streams:
    """A table of which nothing is known but that Arrow can stream from it, as from those of DuckDB
    or Ibis.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


SECONDS = [
    str(pa.timestamp("s", zone)) for zone in (None, "UTC", "Asia/Kolkata")
]  # written as milliseconds, up to their end
NOT_CARRIED = {
    "parquet": ["decimal128(5, -3)", *SECONDS],
    "polars": ["decimal128(5, -3)", "decimal256(76, 22)"],
}


def _ipc(array: pa.Array, path: Path, *, stream: bool = False) -> Path:
    table = pa.table({"x": array})
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=13)
    return path


def _written(array: pa.Array, path: Path) -> Path:
    pa.parquet.write_table(pa.table({"x": array}), path)
    return path


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("kind", "array"), ARRAYS, ids=[kind for kind, _ in ARRAYS])
def test_containers_agree(kind: str, array: pa.Array, container: str, tmp_path: Path) -> None:
    value_type = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if kind in NOT_CARRIED.get(container, ()):
        pytest.skip(f"{container} does not carry {kind}")
    table = CONTAINERS[container](array, tmp_path)
    # Polars has no seconds and no date64: what it carries is what it gives back.
    carried = table["x"].to_arrow() if container == "polars" else array
    for position, (_, column) in enumerate(COLUMNS):
        if pa.types.is_null(value_type) or column.takes(value_type):
            codes = encode(table, alone("x", column)).columns[0]
            same = carried.type == array.type and carried.equals(array)
            expected = (
                codes_of_array(kind, position)
                if same
                else [code_alone("x", column, each) for each in carried]
            )
            assert codes.tolist() == expected


@pytest.mark.parametrize("of_text", [TEXTS, TEXTS[::-1]], ids=["forwards", "backwards"])
def test_csv_agrees(of_text: list[str], tmp_path: Path) -> None:
    # with two columns an empty text is a field; with one it would be an empty line
    pa.csv.write_csv(pa.table({"x": of_text, "y": of_text}), tmp_path / "table.csv")
    for _, column in COLUMNS:
        schema = Schema(columns={"x": column, "y": column}, null_values=("<null>",))
        for codes in encode(tmp_path / "table.csv", schema).columns:
            assert codes.tolist() == [code_alone("x", column, text) for text in of_text]


@pytest.mark.parametrize("text", ["007", "1.50", "true", "2024-03-01", "2024-03-01 00:00:00"])
def test_texts_of_a_csv_file_are_texts_whatever_all_of_them_look_like(
    text: str, tmp_path: Path
) -> None:
    column = {"type": "categorical", "values": [text], "other": "else"}
    schema = Schema.of({"columns": {"x": column, "y": column}})
    for texts, codes in (([text] * 4, [0] * 4), ([text, "odd", text, text], [0, 1, 0, 0])):
        (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{each},{each}\n" for each in texts))
        assert encode(tmp_path / "t.csv", schema).columns[0].tolist() == codes


@settings(QUICK, max_examples=60)
@given(
    texts=st.lists(st.sampled_from(TEXTS), min_size=2, max_size=20),
    column=st.sampled_from(COLUMNS),
    data=st.data(),
)
def test_csv_records(
    texts: list[str], column: tuple[str, Column], data: st.DataObject, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    schema = Schema(columns={"x": column[1]}, null_values=("", "?"), ignore_columns=("y",))
    changed, other = data.draw(st.integers(0, len(texts) - 1)), data.draw(st.sampled_from(TEXTS))

    def codes(of: list[str]) -> list[int]:
        pa.csv.write_csv(pa.table({"x": of, "y": of}), path)
        return encode(path, schema).columns[0].tolist()

    before, after = codes(texts), codes([*texts[:changed], other, *texts[changed + 1 :]])
    assert [*before[:changed], *before[changed + 1 :]] == [*after[:changed], *after[changed + 1 :]]


def in_json() -> list[Any]:
    """Those of the hostile values that JSON carries as they are."""
    found = []
    for value in HOSTILE:
        if type(value) in (str, int, float, bool, type(None), list, dict):
            with suppress(ValueError, TypeError):
                again = json.loads(json.dumps(value, allow_nan=False))
                found += [value] if type(again) is type(value) and again == value else []
    return found


def test_json_lines_agree(tmp_path: Path) -> None:
    values = in_json()
    assert len(values) > 120
    path = tmp_path / "table.jsonl"
    for order in (values, values[::-1]):
        path.write_text("".join(json.dumps({"x": value}) + "\n" for value in order))
        for _, column in COLUMNS:
            codes = encode(path, alone("x", column)).columns[0]
            assert codes.tolist() == [code_alone("x", column, value) for value in order]


def test_numbers_of_any_length_in_json_lines_are_beyond_the_bounds(tmp_path: Path) -> None:
    column, path = TOTAL_SCHEMA.columns["clipped"], tmp_path / "table.jsonl"
    path.write_text(
        "".join(
            f'{{"x": {number}}}\n' for number in ("5", "9" * 5000, "-" + "9" * 90_000, "1e99999")
        )
    )
    codes = encode(path, alone("x", column)).columns[0]
    last = column.regular - 1
    assert codes.tolist() == [code_alone("x", column, 5), last, 0, last]


def test_a_line_that_is_too_long_is_refused_whatever_it_holds(tmp_path: Path) -> None:
    """Cut at the limit, this line would be two records."""
    path = tmp_path / "table.jsonl"
    path.write_text('{"x": 1}' + " " * (1 << 21) + '{"x": 2}\n')
    with pytest.raises(DataError, match="no JSON object"):
        encode(path, alone("x", TOTAL_SCHEMA.columns["clipped"]))


def _json_lines(texts: list[str], path: Path) -> None:
    path.write_text("".join(json.dumps({"x": text, "y": text}) + "\n" for text in texts))


def _text_file(texts: list[str], path: Path, *, encoding: str) -> None:
    rows = (",".join(['"' + text.replace('"', '""') + '"'] * 2) for text in ("x", *texts))
    header = "x,y"
    path.write_bytes("\n".join([header, *list(rows)[1:], ""]).encode(encoding))


def _zipped(texts: list[str], path: Path) -> None:
    _text_file(texts, path, encoding="utf-8")
    path.write_bytes(gzip.compress(path.read_bytes()))


def _database(texts: list[str], path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        database.register("given", pa.table({"x": texts, "y": texts}))
        database.execute("CREATE TABLE kept AS FROM given")


# ending, encoding, and how texts are written; what a kind of file cannot hold is left out
FILES: dict[str, tuple[str, str, Callable[[list[str], Path], None]]] = {
    "json lines": ("jsonl", "utf-8", _json_lines),
    "utf-16": ("csv", "utf-16", lambda texts, path: _text_file(texts, path, encoding="utf-16")),
    "windows": ("csv", "cp1252", lambda texts, path: _text_file(texts, path, encoding="cp1252")),
    "japanese": (
        "csv",
        "shift_jis",
        lambda texts, path: _text_file(texts, path, encoding="shift_jis"),
    ),
    "gzip": ("csv.gz", "utf-8", _zipped),
    "arrow": ("arrow", "utf-8", lambda texts, path: _arrow(texts, path)),
    "excel": (
        "xlsx",
        "utf-8",
        lambda texts, path: workbook(path, [["x", "y"], *([text, text] for text in texts)]),
    ),
    "duckdb": ("duckdb", "utf-8", _database),
}


def _arrow(texts: list[str], path: Path) -> None:
    table = pa.table({"x": texts, "y": texts})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=16)


def carried_by(kind: str, texts: list[str]) -> list[str]:
    """The texts that a kind of file gives back as they are."""
    found = []
    for text in texts:
        with suppress(UnicodeEncodeError):
            text.encode(FILES[kind][1])
            # sheets know no empty text, and XML neither control signs nor the end of a line as it
            # was
            if kind != "excel" or (
                text and text.isprintable() and not re.search("_x[0-9a-fA-F]{4}_", text)
            ):
                found.append(text)
    return found


@pytest.mark.parametrize("kind", FILES)
def test_one_record_of_a_file_leaves_the_others(kind: str, tmp_path: Path) -> None:
    """Every text in the place of one record, between others: each has the code that it has alone,
    and so have the others.
    """
    ending, encoding, write = FILES[kind]
    if kind == "excel":
        pytest.importorskip("python_calamine")
    texts, path = carried_by(kind, TEXTS), tmp_path / f"table.{ending}"
    assert len(texts) > 90
    for odd in [[], *([text] for text in texts[::30])]:
        written = [*texts[:40], *odd, *texts[40:]] if odd else texts
        write(written, path)
        batches = list(open_duckdb_table(path, "kept").read()) if kind == "duckdb" else []
        for name, column in COLUMNS[:: 1 if not odd else 5]:
            schema = Schema(
                columns={"x": column},
                null_values=("<null>",),
                ignore_columns=("y",),
                csv={"encoding": encoding},
            )
            if kind == "duckdb":
                codes = np.concatenate([encode_batch(batch, schema)[0] for batch in batches])
            else:
                codes = encode(path, schema).columns[0]
            assert codes.tolist() == [code_alone(name, column, text) for text in written], name


@pytest.mark.parametrize("odd", ODD_CELLS)
def test_one_cell_of_a_sheet_leaves_the_others(odd: str, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "table.xlsx"
    usual = [cell(7), cell("Rome"), '<c s="2"><v>45000.25</v></c>', cell("1.5")]
    names = ("integer", "city", "wall", "clipped")
    schema = Schema(columns={name: TOTAL_SCHEMA.columns[name] for name in names})

    def codes(*rows: list[str]) -> list[list[int]]:
        workbook_of_cells(path, [list(map(cell, names)), usual, *rows, usual])
        return [column.tolist() for column in encode(path, schema).columns]

    for place in range(len(names)):
        changed = [ODD_CELLS[odd] if number == place else each for number, each in enumerate(usual)]
        before, after = codes(usual), codes(changed)
        assert [column[:1] + column[2:] for column in before] == [
            column[:1] + column[2:] for column in after
        ]


def test_csv_in_other_forms_agrees(tmp_path: Path) -> None:
    """Encoding, quotes and blanks are declared: the same texts have the same codes as in plain
    UTF-8.
    """
    texts = [text.strip() for text in TEXTS if not set(text) & set("\r\n\x00") and text.isascii()]
    path = tmp_path / "table.csv"
    for _, column in COLUMNS:
        form = {
            "delimiter": ";",
            "encoding": "utf-16",
            "quote": "'",
            "strip": True,
            "skip_lines": 2,
        }
        schema = Schema(columns={"x": column, "y": column}, null_values=("<null>",), csv=form)
        quoted = ["'" + text.replace("'", "''") + "'" for text in texts]
        lines = [
            "a report",
            "",
            "x;y ",
            *(f"{text} ;{text}" if not text else f"{text};{text}" for text in quoted),
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-16")
        for codes in encode(path, schema).columns:
            assert codes.tolist() == [code_alone("x", column, text) for text in texts]


@pytest.mark.parametrize(("name", "column"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_categories_of_any_kind(name: str, column: Column) -> None:
    categories = [
        "Rome",
        7,
        2.5,
        Decimal("3"),
        dt.date(2024, 3, 1),
        b"7",
        "2024-02-30",
        "\ud800",
        pd.Timestamp("2024-03-01"),
    ]
    series = pd.Series(
        pd.Categorical.from_codes(
            [8, 0, 1, 2, -1, 3, 4, 5, 6, 7, 0], pd.Index(categories, dtype=object)
        )
    )
    codes = encode(series.to_frame(name), alone(name, column)).columns[0]
    values = [None if code < 0 else categories[code] for code in series.cat.codes]
    assert codes.tolist() == [code_alone(name, column, value) for value in values]


def test_bytes_that_are_no_text() -> None:
    """A Parquet file may hold a text that is no UTF-8; it is unreadable, or in no list, and the
    others stay.
    """
    data, ends = b"7Ro\xffme2024-03-01\xff2024-03-01", np.array([0, 1, 6, 17, 27], np.int32)
    broken = pa.Array.from_buffers(pa.string(), 4, [None, pa.py_buffer(ends), pa.py_buffer(data)])
    for name, column in COLUMNS:
        for array in (broken, broken.cast(pa.large_string()), broken.dictionary_encode()):
            expected = [column.place(each) for each in array]
            assert positions_of(name, column, array).tolist() == expected
            assert codes_of(name, column, np.array(expected)).tolist()


class TestWhatWasMeasured:
    """The defects of the first version, each with the tables that showed it."""

    def frames(self, ordinary: Any, odd: Any, rows: int = 50) -> tuple[list[int], list[int]]:
        def codes(values: list[Any]) -> list[int]:
            return (
                encode(pd.DataFrame({"x": pd.Series(values, dtype=object)}), self.schema)
                .columns[0]
                .tolist()[1:]
            )

        return codes([ordinary] * rows), codes([odd, *[ordinary] * (rows - 1)])

    @pytest.mark.parametrize(
        ("column", "ordinary", "odd"),
        [
            ("day", dt.datetime(2024, 3, 1, 12), "odd"),  # noqa: DTZ001
            ("day", pd.Timestamp("2024-03-01"), [7]),
            ("day", np.datetime64("2024-03-01"), 7),
            ("day", np.datetime64("2024-03-01T00:00:00", "us"), 7),
            ("wall", dt.datetime(2024, 3, 1, 12), dt.date(2024, 3, 1)),  # noqa: DTZ001
            ("stamped", dt.datetime(2024, 3, 1, tzinfo=dt.UTC), "odd"),
            ("written", dt.date(2024, 3, 1), "odd"),
            ("extreme", float("inf"), "odd"),
            ("integer", Decimal("1E+2"), "odd"),
            ("code", 7.0, "odd"),
            ("flag", True, "odd"),
            ("city", "Rome", b"Rome"),
            ("city", "Rome", "\ud800"),
        ],
    )
    def test_one_odd_object_leaves_the_others(self, column: str, ordinary: Any, odd: Any) -> None:
        self.schema = alone("x", TOTAL_SCHEMA.columns[column])
        before, after = self.frames(ordinary, odd)
        assert before == after
        assert before[0] == code_alone("x", TOTAL_SCHEMA.columns[column], ordinary)

    @pytest.mark.parametrize("column", ["any_day", "wall"])
    @pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
    def test_one_impossible_date_leaves_the_others(self, column: str, kind: pa.DataType) -> None:
        schema = alone("x", TOTAL_SCHEMA.columns[column])
        codes = [
            encode(
                pa.table({"x": pa.array([first, "0000-06-01", "2024-03-01"]).cast(kind)}), schema
            )
            .columns[0]
            .tolist()
            for first in ("2024-02-29", "2024-02-30")
        ]
        assert codes[0][1:] == codes[1][1:]
        # there is no year 0, in any container
        assert codes[0][1] == schema.columns["x"].null_code

    def test_one_leap_second_leaves_the_others(self) -> None:
        schema = alone("x", TOTAL_SCHEMA.columns["wall"])
        for others in ("2024-03-01T00:00:00.123456789", "0000-06-01T00:00:00", "2024-03-01"):
            batches = [
                pa.record_batch({"x": [first, others]})
                for first in ("2024-03-01 00:00:00", "2024-06-30 23:59:60")
            ]
            codes = [encode_batch(batch, schema, is_text=True)[0].tolist() for batch in batches]
            assert codes[0][1] == codes[1][1]

    def test_numbers_beyond_int64_are_in_no_list(self) -> None:
        column = TOTAL_SCHEMA.columns["code"]
        for array in (
            pa.array([2**63, 7], pa.uint64()),
            pa.array([1e300, 7.0]),
            pa.array([2.0**63, 7.0]),
        ):
            assert encode(pa.table({"x": array}), alone("x", column)).columns[0].tolist() == [
                column.null_code,
                2,
            ]

    def test_integers_of_any_size_are_beyond_the_bounds(self) -> None:
        column = TOTAL_SCHEMA.columns["clipped"]
        frame = pd.DataFrame({"x": pd.Series([10**301, -(10**4000), "9" * 5000], dtype=object)})
        last = column.regular - 1
        assert encode(frame, alone("x", column)).columns[0].tolist() == [last, 0, last]

    def test_decimals_are_not_rounded(self) -> None:
        column = TOTAL_SCHEMA.columns["far"]
        array = pa.array(
            [Decimal("9007199254740993.00"), Decimal("9007199254740992.00")], pa.decimal128(38, 2)
        )
        assert encode(pa.table({"x": array}), alone("x", column)).columns[0].tolist() == [3, 2]

    def test_decimals_are_rounded_once(self) -> None:
        """Turned into a float before it is divided, this decimal would fall below the edge."""
        edge = 817644166808.0327
        schema = Schema.of({"columns": {"x": {"type": "number", "edges": [0, edge, 1e12]}}})
        array = pa.array([Decimal("817644166808.03268"), Decimal("817644166808.03262")])
        assert encode(pa.table({"x": array}), schema).columns[0].tolist() == [1, 0]

    @pytest.mark.parametrize("number", [0, 1, 7])
    def test_equal_objects_of_other_types_are_other_values(self, number: int) -> None:
        values = [number, bool(number), float(number), Decimal(number), np.int8(number), -0.0]
        for name, column in COLUMNS:
            for order in (values[:3], values[2::-1], values, values[::-1]):
                frame = pd.DataFrame({name: pd.Series(order, dtype=object)})
                codes = encode(frame, alone(name, column)).columns[0]
                assert codes.tolist() == [code_alone(name, column, value) for value in order]


@pytest.mark.parametrize(("name", "column"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_one_category_of_a_pandas_column_never_decides_how_the_others_are_read(
    name: str, column: Column
) -> None:
    for beside in ("2", 2, "\ud800", b"2"):
        categories = pd.Index(["1", beside], dtype=object)
        table = pd.DataFrame({name: pd.Categorical.from_codes([0, 1], categories=categories)})
        codes = encode(table, alone(name, column)).columns[0]
        assert codes.tolist() == [code_alone(name, column, value) for value in ("1", beside)]
