"""The example script: two raw CSV files become one synthetic CSV file."""

from __future__ import annotations

import runpy
from pathlib import Path

import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "adult.py"
HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income-per-year\n"
)
# made-up records in the form of the published files
TRAIN = "41,State-gov,77000,Bachelors,13,Never-married,Adm-clerical,Not-in-family,White,Male,2100,0,40,United-States,<=50K\n"
TEST = "27,?,183000,HS-grad,9,Never-married,?,Own-child,Black,Female,0,0,20,?,<=50K\n"


def test_raw_files_to_synthetic_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "adult-train.csv").write_text(HEADER + TRAIN * 60)
    (raw / "adult-test.csv").write_text(HEADER + TEST * 40)
    out = tmp_path / "synthetic.csv"
    options = ["--epsilon", "5", "--kway", "1", "--method", "independent", "--ledger", str(tmp_path / "adult.ledger")]
    monkeypatch.setattr("sys.argv", ["adult.py", str(raw), str(out), *options])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    synthetic = pd.read_csv(out)
    assert list(synthetic.columns) == HEADER.strip().split(",")
    assert len(synthetic) == 100
