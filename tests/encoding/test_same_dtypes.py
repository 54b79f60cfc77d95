"""A synthetic CSV comes back in pandas with the dtypes of the private one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.csv
import pytest

from dprap.datasets import example, example_schema
from dprap.encoding import decode, encode, write_table
from dprap.schema import Schema

ROOT = Path(__file__).parents[2]
RAW = ROOT.parent / "shared" / "data" / "raw"


def synthetic_of(private: Path, schema: Schema, folder: Path) -> Path:
    """What a release writes, of the private codes themselves: every value, and null, that can occur
    does.
    """
    write_table(decode(encode(private, schema), schema, seed=0), folder / "synthetic.csv", schema)
    return folder / "synthetic.csv"


def test_the_example_with_dates_and_nulls(tmp_path: Path) -> None:
    private = tmp_path / "private.csv"
    pyarrow.csv.write_csv(example(3000, seed=3), private)
    synthetic = synthetic_of(private, example_schema(), tmp_path)
    before, after = pd.read_csv(private), pd.read_csv(synthetic)
    assert after.dtypes.to_dict() == before.dtypes.to_dict()
    assert (after.isna().sum() == before.isna().sum()).all()
    dates = ["hired", "last_review"]
    before, after = (pd.read_csv(path, parse_dates=dates) for path in (private, synthetic))
    assert all(str(before[name].dtype).startswith("datetime64") for name in dates)
    assert after.dtypes.to_dict() == before.dtypes.to_dict()


@pytest.mark.parametrize("name", ["adult-train.csv", "adult-test.csv"])
def test_adult_as_published(name: str, tmp_path: Path) -> None:
    if not (RAW / name).exists():
        pytest.skip(f"the published file {name} is not beside this checkout, in shared/data/raw")
    schema = Schema.load(ROOT / "examples" / "adult-schema.yaml")
    before, after = pd.read_csv(RAW / name), pd.read_csv(synthetic_of(RAW / name, schema, tmp_path))
    assert list(after.columns) == list(before.columns)
    assert after.dtypes.to_dict() == before.dtypes.to_dict()
    for column in ("workclass", "occupation", "native-country"):
        assert (after[column] == "?").sum() == (before[column] == "?").sum()
