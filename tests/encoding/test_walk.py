"""The walk of a new user on the command line: draft, review, check, synth at ε = 1; no column is
destroyed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.encoding.messier_tables import MESSIER
from tests.encoding.messy_tables import Messy
from tests.encoding.odd_tables import ODD
from tests.encoding.unit_tables import UNITS
from typer.testing import CliRunner

from dprap.cli.app import app
from dprap.encoding import Codes, encode, open_table
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn

QUICK = ("nulls",)
# Their drafts take about a second each.
LONG = ("wages", "payments", "sensors", "taxi", "hospital", "clinic")
TABLES = [*MESSIER, *ODD, *UNITS]
BY_NAME = {table.name: table for table in TABLES}


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, (arguments[:2], result.output)
    return str(result.output)


def drafted(table: Messy, folder: Path) -> tuple[Path, Path, str]:
    path, schema = folder / "table.csv", folder / "schema.yaml"
    table.write(path)
    return path, schema, call("schema", "draft", path, "-o", schema)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(table, id=table.name, marks=[pytest.mark.slow] if table.name in LONG else [])
        for table in TABLES
    ],
)
def test_drafts_say_what_they_take_and_what_they_leave(table: Messy, tmp_path: Path) -> None:
    path, schema, said = drafted(table, tmp_path)
    draft = Schema.load(schema)
    assert {name: column.type for name, column in draft.columns.items()} == table.types
    assert set(draft.ignore_columns) == set(table.ignored)
    assert all(f"left out   {name}: " in said for name in table.ignored)
    assert not any(text in str(draft.as_mapping()["columns"]) for text in table.personal)
    for name, form in (table.formats or {}).items():
        assert draft.as_mapping()["columns"][name]["format"] == form, name
    assert {name for name, column in draft.columns.items() if column.nullable} == set(table.nulls)
    call("schema", "review", schema, "--by", "A. Lee", "--because", "code book", "--accept-all")
    assert "every value fits" in call("schema", "check", schema, path)


def values_of(path: Path, schema: Schema, name: str) -> np.ndarray:
    """The values of an ordered column in the file, in the unit of its bins."""
    column = schema.columns[name]
    assert isinstance(column, BinnedColumn)
    nulls = schema.null_texts(name)
    texts = [
        text for batch in open_table(path, schema).read() for text in batch.column(name).to_pylist()
    ]
    values, readable = column.parse(pa.array([text for text in texts if text not in nulls]))
    return values[readable].astype(float)


def similarity(
    path: Path, schema: Schema, name: str, table: pa.Table, codes: tuple[Codes, Codes]
) -> float:
    """1 minus the Kolmogorov-Smirnov distance of values, or the total variation distance of
    categories.
    """
    column = schema.columns[name]
    if not isinstance(column, BinnedColumn):
        shares = [
            np.bincount(each.column(name), minlength=column.size) / each.rows for each in codes
        ]
        return float(1 - np.abs(shares[0] - shares[1]).sum() / 2)
    drawn = table.column(name).combine_chunks().drop_null()
    real, made = (
        np.sort(values_of(path, schema, name)),
        np.sort(column.in_units(drawn).astype(float)),
    )
    at = np.concatenate([real, made])
    apart = np.searchsorted(real, at, "right") / len(real) - np.searchsorted(
        made, at, "right"
    ) / len(made)
    return float(1 - np.abs(apart).max())


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in BY_NAME],
)
def test_no_column_is_destroyed_at_epsilon_one(name: str, tmp_path: Path) -> None:
    path, schema_path, _ = drafted(BY_NAME[name], tmp_path)
    call(
        "schema", "review", schema_path, "--by", "A. Lee", "--because", "code book", "--accept-all"
    )
    out = tmp_path / "out"
    call(
        *(
            "synth",
            path,
            "--schema",
            schema_path,
            "--out",
            out,
            "--epsilon",
            1,
            "--kway",
            2,
            "-y",
            "-q",
        ),
        *("--insecure-noise-seed", 5, "--intervals", "no", "--certificate", 0),
    )
    schema = Schema.load(schema_path)
    table = pyarrow.parquet.read_table(out / "synthetic.parquet")
    codes = encode(path, schema), encode(table, schema)
    for column, described in schema.columns.items():
        missing = [float((each.column(column) == described.null_code).mean()) for each in codes]
        assert abs(missing[0] - missing[1]) < 0.03, column
        assert similarity(path, schema, column, table, codes) >= 0.9, column
