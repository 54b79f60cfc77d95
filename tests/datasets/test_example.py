"""The embedded example: deterministic, of any size, and as its schema says."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dprap.datasets import example, example_batches, example_schema
from dprap.encoding import check, decode, encode


def test_records_do_not_depend_on_rows_or_batches() -> None:
    whole = example(70_000, seed=5)
    assert whole.num_rows == 70_000
    assert example(1_000, seed=5).equals(whole.slice(0, 1_000))
    for batch_rows in (999, 65_536, 200_000):
        batches = list(example_batches(70_000, seed=5, batch_rows=batch_rows))
        assert max(batch.num_rows for batch in batches) <= batch_rows
        assert pa.Table.from_batches(batches).equals(whole)
    assert not example(1_000, seed=6).equals(whole.slice(0, 1_000))


@pytest.mark.parametrize("rows", [0, 1])
def test_tiny_tables(rows: int) -> None:
    table = example(rows)
    assert table.num_rows == rows
    assert table.schema == example(10).schema


def test_schema_describes_the_table() -> None:
    schema, table = example_schema(), example(50_000, seed=1)
    report = check(schema, table)
    assert report.problems == ()
    codes = encode(table, schema)
    synthetic = decode(codes, schema, seed=0)
    assert synthetic.schema == table.schema
    assert check(schema, synthetic).problems == ()
    # every code of a small column occurs, rare ones and nulls included
    for name in ("sex", "region", "education", "occupation", "smoker", "income"):
        assert len(set(codes.column(name).tolist())) >= schema.domain.size(name) - 1


def test_columns_depend_on_each_other() -> None:
    frame = example(30_000, seed=2).to_pandas()
    medians = frame[frame.employment == "employee"].groupby("education").income.median()
    assert medians["doctorate"] > 1.8 * medians["primary"]
    assert frame.income.mean() > 1.3 * frame.income.median()  # a long tail
    assert frame.loc[frame.employment == "retired", "age"].min() >= 55
