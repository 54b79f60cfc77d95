"""A CSV file with text, `?` for missing and a functional dependency, through its schema and
back.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dprap.encoding import check, decode, encode, write_table
from dprap.schema import Schema

HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income-per-year"
)
# made-up records in the form of the published file
RECORDS = """\
41,State-gov,77000,Bachelors,13,Never-married,Adm-clerical,Not-in-family,White,Male,2100,0,40,United-States,<=50K
27,?,183000,HS-grad,9,Never-married,?,Own-child,Black,Female,0,0,20,?,<=50K
58,Private,1600000,Doctorate,16,Married-civ-spouse,Prof-specialty,Husband,White,Male,99999,0,60,France,>50K
"""


def test_adult_schema(tmp_path: Path) -> None:
    schema = Schema.load(Path(__file__).parents[2] / "examples" / "adult-schema.yaml")
    nullable = {name for name, column in schema.columns.items() if column.nullable}
    # the noise puts nulls wherever they may be
    assert nullable == {"workclass", "occupation", "native-country"}
    raw = tmp_path / "adult.csv"
    raw.write_text(f"{HEADER}\n{RECORDS * 20}")
    assert check(schema, raw).problems == ()
    codes = encode(raw, schema)
    assert codes.column("workclass").tolist()[:3] == [5, 8, 0]
    assert codes.column("capital-gain").tolist()[:3] == [3, 0, 14]
    assert codes.column("fnlwgt").tolist()[2] == 15  # clipped into the last bin
    synthetic = tmp_path / "synthetic.csv"
    write_table(decode(codes, schema, seed=0), synthetic, schema)
    before, after = pd.read_csv(raw), pd.read_csv(synthetic)
    assert (before.dtypes == after.dtypes).all()
    assert (after["workclass"] == before["workclass"]).all()
