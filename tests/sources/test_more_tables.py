"""Tables of DuckDB, Excel and wrappers; and the stop before a run whose policies would destroy a
column.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.encoding.workbooks import DAMAGED_CELLS, cell, workbook, workbook_of_cells

import dprap
from dprap.encoding import check, draft_schema, encode
from dprap.errors import DataError, SettingsError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources.open import open_source

SCHEMA = Schema.of(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 99},
            "sex": {"type": "categorical", "values": ["f", "m"], "nullable": True},
            "pay": {
                "type": "number",
                "min": 0,
                "max": 5000,
                "bins": 10,
                "format": {"prefix": "€", "thousands": ","},
            },
        }
    }
)
PLAIN_PAY = SCHEMA.as_mapping() | {
    "columns": (
        SCHEMA.as_mapping()["columns"]
        | {
            "pay": {
                "type": "number",
                "min": 0,
                "max": 5000,
                "bins": 10,
                "nullable": True,
                "out_of_domain": "clip",
            }
        }
    )
}


def frame(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex = np.array(["f", "m", None], dtype=object)[rng.integers(0, 3, rows)]
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "sex": sex,
            "pay": [f"€{v:,}" for v in rng.integers(0, 5000, rows)],
        }
    )


def counts(data: object, **options: object) -> list[int]:
    source = open_source(data, SCHEMA, **options)  # type: ignore[arg-type]
    (counted,) = source.count([Marginal(("sex", "pay"))])
    dense = np.zeros(counted.size, dtype=np.int64)
    if counted.cells is None:
        dense[:] = counted.counts
    else:
        dense[counted.cells] = counted.counts
    return dense.tolist()


def test_duckdb_tables_and_relations_count_as_in_memory(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = pa.Table.from_pandas(frame())
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("given", table)
        database.execute('CREATE TABLE "the people" AS SELECT * FROM given')
    expected = counts(frame())
    assert counts(path, database_table="the people") == expected
    with duckdb.connect(str(path), read_only=True) as database:
        assert counts(database.table("the people")) == expected
    with pytest.raises(SettingsError, match="--table"):
        open_source(path, SCHEMA)
    with pytest.raises(DataError, match="no such table"):
        open_source(path, SCHEMA, database_table="others")
    (tmp_path / "bad.duckdb").write_text("no database")
    with pytest.raises(DataError, match="cannot be read as a DuckDB database"):
        open_source(tmp_path / "bad.duckdb", SCHEMA, database_table="x")


def test_wrappers_give_what_they_hold() -> None:
    narwhals = pytest.importorskip("narwhals")
    assert counts(narwhals.from_native(frame())) == counts(frame())


def test_excel_sheets_are_read_cell_by_cell(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "people.xlsx"
    rows = frame().to_numpy().tolist()
    workbook(path, [["age", "sex", "pay"], *rows])
    assert encode(path, SCHEMA).columns[2].tolist() == encode(frame(), SCHEMA).columns[2].tolist()
    assert counts(path) == counts(frame())
    drafted = draft_schema(path)
    assert {name: column.type for name, column in drafted.columns.items()} == {
        "age": "integer",
        "sex": "categorical",
        "pay": "integer",
    }
    with pytest.raises(DataError, match="no sheet 'Other'"):
        encode(
            path,
            SCHEMA.model_copy(update={"excel": SCHEMA.excel.model_copy(update={"sheet": "Other"})}),
        )


@pytest.mark.parametrize("damage", DAMAGED_CELLS)
def test_a_cell_that_cannot_be_read_refuses_the_book_in_one_line(
    damage: str, tmp_path: Path
) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "people.xlsx"
    workbook_of_cells(
        path, [list(map(cell, ["age", "sex", "pay"])), [cell(3), cell("f"), DAMAGED_CELLS[damage]]]
    )
    with pytest.raises(DataError, match="cannot be read as an Excel file"):
        encode(path, SCHEMA)


def test_midnight_in_a_sheet_is_a_time_as_others_are(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "people.xlsx"
    days = {"min": "2023-01-01", "max": "2023-12-31", "unit": "month"}
    times = {"min": "2023-01-01T00:00:00", "max": "2023-12-31T00:00:00", "unit": "month"}
    schema = Schema.of(
        {"columns": {"day": {"type": "date", **days}, "at": {"type": "datetime", **times}}}
    )
    values = [f'<c s="2"><v>{serial}</v></c>' for serial in (45000, 45000.75)]
    workbook_of_cells(path, [[cell("day"), cell("at")], *([value, value] for value in values)])
    assert [column.tolist() for column in encode(path, schema).columns] == [[2, 2], [2, 2]]


def test_a_view_of_files_is_refused_because_its_types_follow_their_values(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    frame().to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE VIEW seen AS FROM read_csv('{tmp_path / 'people.csv'}')")
        database.execute("CREATE TABLE kept AS FROM seen")
        database.execute("CREATE VIEW of_table AS FROM kept")
    assert sum(counts(path, database_table="of_table")) == 600
    with pytest.raises(DataError, match="its view reads other files"):
        open_source(path, SCHEMA, database_table="seen")
    with duckdb.connect(str(path)), pytest.raises(DataError, match="is open in this process"):
        open_source(path, SCHEMA, database_table="kept")


def test_messages_about_a_file_never_show_its_partition(tmp_path: Path) -> None:
    """Neither those of the check before a run nor those of discovery."""
    folder = tmp_path / "sex=Secret"
    folder.mkdir()
    (folder / "a.csv").write_text("age,pay\n5\n")
    known = SCHEMA.as_mapping()["columns"]
    columns = known | {"age": known["age"] | {"nullable": True, "out_of_domain": "clip"}}
    for column in (known["sex"], {"type": "categorical", "domain": "discover"}):
        with pytest.raises(DataError) as refused:
            dprap.synthesize(
                tmp_path, {"columns": columns | {"sex": column}}, epsilon=1.0, ledger=False
            )
        assert "fields than the header" in str(refused.value)
        assert "Secret" not in str(refused.value)


def test_the_stop_before_a_run_quotes_no_value() -> None:
    schema = PLAIN_PAY | {
        "columns": PLAIN_PAY["columns"] | {"pay": PLAIN_PAY["columns"]["pay"] | {"format": None}}
    }
    table = frame().assign(pay=["Mister Secret", "?"] * 300)
    with pytest.raises(DataError, match=r"100\.0%") as stopped:
        dprap.synthesize(table, schema, epsilon=1.0, ledger=False)
    assert "Secret" not in str(stopped.value)
    assert "Mister Secret" in check(Schema.of(schema), table).touched[0]


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_a_run_stops_before_it_spends_where_a_policy_destroys_a_column(
    kind: str, tmp_path: Path
) -> None:
    frame().to_csv(tmp_path / "people.csv", index=False)
    table = frame() if kind == "frame" else tmp_path / "people.csv"
    options = {
        "epsilon": 1.0,
        "method": "independent",
        "kway": 1,
        "ledger": str(tmp_path / "ledger.jsonl"),
    }
    with pytest.raises(
        DataError,
        match=r'(?s)column .pay.: 100.0% .*format: \{prefix: "€", thousands: ","\}.*check=False',
    ) as stopped:
        dprap.synthesize(table, PLAIN_PAY, **options)
    assert "steward" in str(stopped.value)
    assert not (tmp_path / "ledger.jsonl").exists()
    report = check(Schema.of(PLAIN_PAY), table)
    assert not report.is_ready
    assert "unreadable" in report.counts[-1]
    assert dprap.synthesize(table, PLAIN_PAY, check=False, **options).rows == 600
    assert dprap.synthesize(table, SCHEMA, **options).rows == 600


def test_what_is_clipped_in_columns_of_objects_is_seen() -> None:
    schema = Schema.of(
        {
            "columns": {
                "x": {
                    "type": "integer",
                    "min": 0,
                    "max": 9,
                    "nullable": True,
                    "out_of_domain": "clip",
                }
            }
        }
    )
    table = pd.DataFrame({"x": pd.Series([5, 50] * 100, dtype=object)})
    assert "50.0%" in check(schema, table).touched[0]
