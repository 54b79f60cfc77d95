"""Two raw CSV files become one synthetic CSV file of the same dtypes, by the example script and on
the command line.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pandas as pd
import pyarrow.csv
import pytest
from tests.cli.driving import Done, in_process

from dprap.datasets import example, example_schema

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "adult.py"
SCHEMA = ROOT / "examples" / "adult-schema.yaml"
PUBLISHED = ROOT.parent / "shared" / "data" / "raw"
HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income-per-year\n"
)
# made-up records in the form of the published files
TRAIN = "41,State-gov,77000,Bachelors,13,Never-married,Adm-clerical,Not-in-family,White,Male,2100,0,40,United-States,<=50K\n"
TEST = "27,?,183000,HS-grad,9,Never-married,?,Own-child,Black,Female,0,0,20,?,<=50K\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "adult-train.csv").write_text(HEADER + TRAIN * 60)
    (folder / "adult-test.csv").write_text(HEADER + TEST * 40)
    return folder


def synth(
    table: Path,
    schema: Path,
    options: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> pd.DataFrame:
    """The synthetic CSV file of a whole run."""
    monkeypatch.chdir(schema.parent)
    made = schema.parent / "made"
    arguments = (
        "--schema",
        str(schema),
        "--out",
        str(made),
        "--format",
        "csv",
        "--yes",
        "--quiet",
        *options.split(),
    )
    done = in_process(monkeypatch, capsys, "synth", str(table), *arguments)
    assert done == Done(0, "", "")
    return pd.read_csv(made / "synthetic.csv")


@pytest.mark.parametrize("is_published", [False, True])
def test_raw_adult_on_the_command_line(
    raw: Path,
    is_published: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if is_published and not (PUBLISHED / "adult-train.csv").exists():
        pytest.skip(
            "the published files of UCI Adult are not beside this checkout, in shared/data/raw"
        )
    folder = PUBLISHED if is_published else raw
    files = [folder / "adult-train.csv", folder / "adult-test.csv"]
    before = pd.concat([pd.read_csv(file) for file in files])
    (tmp_path / "schema.yaml").write_text(SCHEMA.read_text())
    # a small ε: the noise puts values, and `?`, wherever the schema allows them
    options = "-e 0.5 --kway 1 --method independent"
    after = synth(folder / "adult-*.csv", tmp_path / "schema.yaml", options, monkeypatch, capsys)
    assert len(after) == len(before)
    assert after.dtypes.to_dict() == before.dtypes.to_dict()
    missing = (after == "?").any()
    assert set(missing[missing].index) <= {"workclass", "occupation", "native-country"}


def test_dates_and_nulls_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow.csv.write_csv(example(3000, seed=3), tmp_path / "private.csv")
    example_schema().save(tmp_path / "schema.yaml")
    before = pd.read_csv(tmp_path / "private.csv")
    # a large ε: where the noise takes the few nulls of an integer column away, pandas reads
    # integers instead of floats
    (tmp_path / "workload.yaml").write_text(
        "- [education, education_years]\n- [employment, occupation, hired]\n"
    )
    options = "-e 20 --workload workload.yaml --synthetic-rows 100"
    after = synth(tmp_path / "private.csv", tmp_path / "schema.yaml", options, monkeypatch, capsys)
    assert after.dtypes.to_dict() == before.dtypes.to_dict()


def test_raw_files_to_synthetic_file(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "synthetic.csv"
    options = [
        "--epsilon",
        "5",
        "--kway",
        "1",
        "--method",
        "independent",
        "--ledger",
        str(tmp_path / "adult.ledger"),
    ]
    monkeypatch.setattr("sys.argv", ["adult.py", str(raw), str(out), *options])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    synthetic = pd.read_csv(out)
    assert list(synthetic.columns) == HEADER.strip().split(",")
    assert len(synthetic) == 100
