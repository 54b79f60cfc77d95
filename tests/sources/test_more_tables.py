"""Tables of DuckDB, Excel and wrappers; and the stop before a run whose policies would destroy a column."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
            "pay": {"type": "number", "min": 0, "max": 5000, "bins": 10, "format": {"prefix": "€", "thousands": ","}},
        }
    }
)
PLAIN_PAY = SCHEMA.as_mapping() | {
    "columns": SCHEMA.as_mapping()["columns"]
    | {"pay": {"type": "number", "min": 0, "max": 5000, "bins": 10, "nullable": True, "out_of_domain": "clip"}}
}


def frame(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex = np.array(["f", "m", None], dtype=object)[rng.integers(0, 3, rows)]
    return pd.DataFrame(
        {"age": rng.integers(0, 100, rows), "sex": sex, "pay": [f"€{v:,}" for v in rng.integers(0, 5000, rows)]}
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


def workbook(path: Path, rows: list[list[object]]) -> None:
    """A file as Excel writes it, with the fewest parts."""

    def cell(value: object) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    lines = "".join(f"<row>{''.join(cell(value) for value in row)}</row>" for row in rows)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        file.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
        )


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
        encode(path, SCHEMA.model_copy(update={"excel": SCHEMA.excel.model_copy(update={"sheet": "Other"})}))


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_a_run_stops_before_it_spends_where_a_policy_destroys_a_column(kind: str, tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "people.csv", index=False)
    table = frame() if kind == "frame" else tmp_path / "people.csv"
    options = {"epsilon": 1.0, "method": "independent", "kway": 1, "ledger": str(tmp_path / "ledger.jsonl")}
    with pytest.raises(
        DataError, match=r'(?s)column .pay.: 100.0% .*format: \{prefix: "€", thousands: ","\}.*check=False'
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
        {"columns": {"x": {"type": "integer", "min": 0, "max": 9, "nullable": True, "out_of_domain": "clip"}}}
    )
    table = pd.DataFrame({"x": pd.Series([5, 50] * 100, dtype=object)})
    assert "50.0%" in check(schema, table).touched[0]
