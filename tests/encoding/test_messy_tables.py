"""From messy tables to a release without a hand's turn: draft, review, check, encode; no column is
destroyed.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.encoding.messy_tables import TABLES, Messy

from dprap.encoding import check, decode, draft_schema, encode, encode_batch, open_table
from dprap.schema import Schema
from dprap.schema.review import accept, finish, to_review

TODAY = dt.date(2026, 1, 1)


def reviewed(draft: Schema) -> Schema:
    for name in to_review(draft):
        draft = accept(draft, name, by="A. Lee", because="code book", on=TODAY)
    return finish(draft)


@dataclass(frozen=True)
class Drafted:
    """A messy table in a file, its draft, and the draft as its reviewer left it."""

    table: Messy
    path: Path
    draft: Schema
    schema: Schema


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            table, id=table.name, marks=[pytest.mark.slow] if table.name == "survey" else []
        )
        for table in TABLES
    ],
)
def messy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drafted:
    path = tmp_path_factory.mktemp("messy") / "table.csv"
    request.param.write(path)
    draft = draft_schema(path)
    return Drafted(request.param, path, draft, reviewed(draft))


def test_draft_review_check(messy: Drafted) -> None:
    table, path, draft = messy.table, messy.path, messy.draft
    assert {name: column.type for name, column in draft.columns.items()} == table.types
    assert set(draft.ignore_columns) == set(table.ignored)
    assert all(draft.draft_notes[name].reason for name in draft.ignore_columns)
    # by values: hashes and names may not stand in the file in any form
    assert not any(text in str(draft.as_mapping()["columns"]) for text in table.personal)
    for name, form in (table.formats or {}).items():
        assert draft.as_mapping()["columns"][name]["format"] == form, name
    schema = messy.schema
    assert not schema.draft_notes
    found = check(schema, path)
    assert found.problems == ()
    assert found.touched == ()
    assert {name for name, column in schema.columns.items() if column.nullable} >= set(table.nulls)


def test_no_column_is_destroyed(messy: Drafted) -> None:
    """What comes out of a noiseless release is distributed as what went in, on codes five times
    finer than the schema's.
    """
    path, schema = messy.path, messy.schema
    codes = encode(path, schema)
    table = decode(codes, schema, seed=1)
    (before,) = [pa.Table.from_batches(open_table(path, schema).read())]
    for name, column in schema.columns.items():
        nulls = schema.null_texts(name)
        texts = [text for text in before.column(name).to_pylist() if text not in nulls]
        after = [value for value in table.column(name).to_pylist() if value is not None]
        assert abs(len(texts) - len(after)) <= 0.01 * len(texts), name
        if not column.is_ordered:
            continue
        real = column.parse(pa.array(texts))[0].astype(float)  # type: ignore[union-attr]
        drawn = column.in_units(table.column(name).combine_chunks().drop_null()).astype(float)  # type: ignore[union-attr]
        at = np.sort(np.concatenate([real, drawn]))
        ks = np.abs(
            np.searchsorted(np.sort(real), at, "right") / len(real)
            - np.searchsorted(np.sort(drawn), at, "right") / len(drawn)
        )
        assert 1 - ks.max() >= 0.93, (name, 1 - ks.max())


def test_a_draft_of_a_part_is_that_of_one_record_less(messy: Drafted) -> None:
    """The declared formats read each record alone: the codes of a file are those of its records,
    one by one.
    """
    path, schema = messy.path, messy.schema
    batch, *_ = list(open_table(path, schema).read())
    some = batch.slice(0, 40)
    whole = encode_batch(some, schema, is_text=True)
    for row in range(0, 40, 7):
        alone = encode_batch(some.slice(row, 1), schema, is_text=True)
        assert [column[row] for column in whole] == [column[0] for column in alone]


def test_a_draft_says_that_dates_are_written_in_two_ways(tmp_path: Path) -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=number) for number in range(400)]
    texts = [f"{day:%Y-%m-%d}" if at % 8 == 0 else f"{day:%d.%m.%Y}" for at, day in enumerate(days)]
    path = tmp_path / "table.csv"
    path.write_text(
        "day;n\n" + "".join(f"{text};{at % 5}\n" for at, text in enumerate(texts)), encoding="utf-8"
    )
    draft = draft_schema(path)
    assert draft.ignore_columns == ("day",)
    reason = draft.draft_notes["day"].reason
    assert "written in more than one way (99.99.9999, 9999-99-99)" in reason


def test_points_between_thousands_are_seen_beside_a_code_of_missing_values(tmp_path: Path) -> None:
    texts = ["2.660", "845", "12.004", "-9999", "1.020", "990", "3.114"]
    (tmp_path / "t.csv").write_text("kWh;m2\n" + "".join(f"{text};1,5\n" for text in texts * 30))
    column = draft_schema(tmp_path / "t.csv").as_mapping()["columns"]["kWh"]
    assert column["format"] == {"decimal": ",", "thousands": "."}
    assert column["null_values"] == ["-9999"]
    assert column["type"] == "integer"


def test_a_draft_says_where_persons_have_several_records(tmp_path: Path) -> None:
    lines = "".join(f"guest{at % 150}@mail.example,g{at}@x.example,{at % 4}\n" for at in range(400))
    (tmp_path / "t.csv").write_text("who,once,n\n" + lines)
    notes = draft_schema(tmp_path / "t.csv").draft_notes
    assert notes["who"].reason.startswith("looks like e-mail addresses; several records share one")
    assert notes["once"].reason == "looks like e-mail addresses"


@pytest.mark.parametrize(
    ("kind", "texts", "line"),
    [
        ("integer", ["7.532", "11.004", "687", "5.120"], '{decimal: ",", thousands: "."}'),
        ("number", ["<0,5", "0,7", "12,4"], '{decimal: ","}'),
        ("number", [f"{size},5 g/dl" for size in range(9, 18)], '{suffix: "g/dl", decimal: ","}'),
        ("number", ["1,23E+04", "4,56E-01"], '{decimal: ","}'),
    ],
)
def test_a_check_names_the_line_that_reads_the_values(
    kind: str, texts: list[str], line: str, tmp_path: Path
) -> None:
    column = {"type": kind, "min": 0, "max": 20_000, "nullable": True, "out_of_domain": "null"}
    schema = Schema.of({"columns": {"x": column}, "csv": {"delimiter": ";"}})
    (tmp_path / "t.csv").write_text("\n".join(["x", *texts * 20, ""]))
    found = check(schema, tmp_path / "t.csv")
    assert any(f"Add to the column: format: {line}" in finding for finding in found.touched)
