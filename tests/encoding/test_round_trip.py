"""Codes survive decoding and encoding for every generated schema, in memory and through files."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.schema.strategies import SCHEMAS, any_array, instant, is_buildable, total_schemas

from dprap.encoding import (
    Codes,
    decode,
    decode_chunks,
    encode,
    encode_batch,
    write_chunks,
    write_table,
)
from dprap.encoding.write_tables import require_writable
from dprap.errors import ImpossibleTableError, SettingsError
from dprap.release.output_checks import check_output
from dprap.schema import Schema
from dprap.schema.encodings import ENCODINGS
from dprap.schema.file_layout import Csv

UNICODE = {"gb18030", *(name for name in ENCODINGS if name.startswith("utf-"))}


def all_codes(schema: Schema) -> Codes:
    """Every code of every column at least once; shorter columns repeat."""
    rows = max(schema.domain.sizes)
    columns = {
        name: np.arange(rows) % size
        for name, size in zip(schema.domain.names, schema.domain.sizes, strict=True)
    }
    return Codes.of(schema.domain, columns)


def assert_same(first: Codes, second: Codes) -> None:
    for name, a, b in zip(first.domain.names, first.columns, second.columns, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert a.dtype == b.dtype


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, st.integers(0, 2**32))
def test_encode_inverts_decode(schema: Schema, seed: int) -> None:
    codes = all_codes(schema)
    table = decode(codes, schema, seed=seed)
    assert table.column_names == list(schema.columns)
    assert table.schema.types == [column.arrow_type for column in schema.columns.values()]
    assert_same(encode(table, schema), codes)


@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS)
def test_save_and_load_give_the_same_schema(schema: Schema, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("schema")
    for ending in ("yaml", "json"):
        schema.save(folder / f"schema.{ending}")
        again = Schema.load(folder / f"schema.{ending}")
        assert again == schema
        assert again.domain == schema.domain


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(total_schemas(), st.data())
def test_total_policies_never_fail(schema: Schema, data: st.DataObject) -> None:
    assert schema.is_total
    for name, column in schema.columns.items():
        array = data.draw(any_array(column))
        alone = Schema(columns={name: column})
        codes = encode(pa.table({name: pa.concat_arrays([array, pa.nulls(1, array.type)])}), alone)
        assert codes.rows == len(array) + 1
        assert codes.columns[0][-1] == column.null_code
        if array.type == pa.string():
            (codes_of_text,) = encode_batch(
                pa.record_batch({name: array.drop_null()}), alone, is_text=True
            )
            assert len(codes_of_text) == len(array) - array.null_count


@settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS, seed=st.integers(0, 100))
def test_parquet_files_give_the_same_codes(schema: Schema, seed: int, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("parquet") / "table.parquet"
    codes = all_codes(schema)
    pa.parquet.write_table(decode(codes, schema, seed=seed), path)
    assert_same(encode(path, schema), codes)


@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS, seed=st.integers(0, 100))
def test_csv_files_give_the_same_codes(schema: Schema, seed: int, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    # a text that no generated column lists stands for null
    schema = schema.model_copy(update={"null_values": ("<null>",)})
    codes = all_codes(schema)
    write_table(decode(codes, schema, seed=seed), path, schema)
    assert_same(encode(path, schema), codes)


SIGNS = st.sampled_from([chr(code) for code in range(1, 128) if chr(code) not in "\r\n"])
FORMS = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from([",", ";", "\t", "|", ":", "."]) | SIGNS,
        "encoding": st.sampled_from(sorted(ENCODINGS)),
        "quote": st.sampled_from(['"', "'"]) | SIGNS,
        "strip": st.booleans(),
        "skip_lines": st.integers(0, 3),
    }
)
# a quote that is a tab cannot stand in a .tsv file
FORMS = FORMS.filter(lambda form: form["delimiter"] != form["quote"] != "\t")


@settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(schema=SCHEMAS, form=FORMS, ending=st.sampled_from(["csv", "tsv"]), cut=st.integers(1, 5))
def test_files_in_every_declared_form_give_the_same_codes(
    schema: Schema, form: dict[str, Any], ending: str, cut: int, tmp_path_factory
) -> None:
    """Or are refused before anything is spent."""
    path = tmp_path_factory.mktemp("form") / f"table.{ending}"
    schema = schema.model_copy(update={"null_values": ("<null>",), "csv": Csv(**form)})
    try:
        require_writable(schema)
    except SettingsError:
        assert form["encoding"] not in UNICODE or form["strip"]
        return
    codes = all_codes(schema)
    parts = [
        Codes(codes.domain, tuple(column[part] for column in codes.columns))
        for part in (slice(0, cut), slice(cut, None))
        if len(codes.columns[0][part])
    ]
    write_chunks(decode_chunks(parts, schema, seed=1), path, schema)
    assert_same(encode(path, schema), codes)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"encoding": "cp1252"}, "column 'name': has a name or a value that cp1252 cannot write"),
        ({"encoding": "shift_jis"}, "that shift_jis cannot write"),
        ({"strip": True}, "column 'name': has a name or a value with blanks around it"),
    ],
)
def test_tables_that_their_form_cannot_hold_are_refused(
    form: dict[str, Any], says: str, tmp_path
) -> None:
    column = {"type": "categorical", "values": [" a", "ł", "¥"]}
    schema = Schema.of({"columns": {"name": column}, "csv": form})
    with pytest.raises(SettingsError, match=says) as refused:
        check_output(tmp_path / "out", schema, rows=10, table_format="csv")
    assert "--format parquet" in str(refused.value)
    assert "\n" not in str(refused.value)
    check_output(tmp_path / "out", schema, rows=10, table_format="parquet")


def test_discovered_values_beyond_the_encoding_leave_the_table_out(tmp_path) -> None:
    """They are known only once they are paid for, so that the rest of the release is written."""
    column = {"type": "categorical", "values": ["a", "ł"]}
    schema = Schema.of({"columns": {"name": column}, "csv": {"encoding": "cp1252"}})
    with pytest.raises(ImpossibleTableError, match="values that cp1252 cannot write"):
        write_table(decode(all_codes(schema), schema, seed=1), tmp_path / "t.csv", schema)


@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS, seed=st.integers(0, 100), cut=st.integers(1, 5))
def test_chunks_are_decoded_and_written_as_the_whole_is(
    schema: Schema, seed: int, cut: int, tmp_path_factory
) -> None:
    path = tmp_path_factory.mktemp("chunks") / "table.csv"
    schema = schema.model_copy(update={"null_values": ("<null>",)})
    codes = all_codes(schema)
    parts = [
        Codes(codes.domain, tuple(column[part] for column in codes.columns))
        for part in (slice(0, cut), slice(cut, None))
        if len(codes.columns[0][part])
    ]
    tables = list(decode_chunks(parts, schema, seed=seed))
    if all(getattr(column, "cells", None) is None for column in schema.columns.values()):
        # a shape inside bins takes a second draw for each record, after those of the whole chunk
        assert pa.concat_tables(tables).equals(decode(codes, schema, seed=seed))
    write_chunks(tables, path, schema)
    assert_same(encode(path, schema), codes)


@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(column=instant().filter(is_buildable), seed=st.integers(0, 100))
def test_times_have_the_digits_of_their_resolution(
    column: dict[str, Any], seed: int, tmp_path_factory
) -> None:
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    column["resolution"] = ("minute", column["resolution"])[seed % 2]
    if not is_buildable(column):
        return
    schema = Schema.of({"null_values": ["<null>"], "columns": {"at": column}})
    codes = all_codes(schema)
    write_table(decode(codes, schema, seed=seed), path, schema)
    assert_same(encode(path, schema), codes)
    digits = {"millisecond": 3, "microsecond": 6}.get(column["resolution"], 0)
    for line in path.read_text().replace("<null>", "").splitlines()[1:]:
        assert len(re.sub(r".*:[0-9]{2}\.?([0-9]*)([Z+-].*)?", r"\1", line.strip('"'))) <= digits


def test_representatives_may_be_finer_than_the_resolution(tmp_path) -> None:
    column = {
        "type": "datetime",
        "edges": ["2024-01-01", "2024-01-02", "2024-01-03"],
        "resolution": "minute",
        "decode": "representative",
        "representatives": ["2024-01-01T10:00:00.250", "2024-01-02T10:00"],
    }
    schema = Schema.of({"columns": {"at": column}})
    write_table(decode(all_codes(schema), schema, seed=1), tmp_path / "t.csv", schema)
    assert (tmp_path / "t.csv").read_text().splitlines()[1:] == [
        "2024-01-01 10:00:00.250",
        "2024-01-02 10:00:00.000",
    ]
