from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dprap.errors import DataError, SchemaError
from dprap.evaluate.column_differences import kolmogorov_smirnov
from dprap.evaluate.models import compare_models, default_target
from dprap.evaluate.records_by_value import read_values
from dprap.evaluate.table_comparison import compare_tables
from dprap.schema import Schema

SCHEMA = Schema.of(
    {
        "columns": {
            "income": {
                "type": "number",
                "min": 0,
                "max": 1000,
                "width": 100,
                "nullable": True,
                "out_of_domain": "clip",
            },
            "born": {"type": "date", "min": "1970-01-01", "max": "1970-12-31", "width": 30},
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "rich": {"type": "boolean"},
        },
        "constraints": [{"type": "forbid", "where": {"sex": ["M"], "rich": [True]}}],
    }
)

OBJECTS = Schema.of(
    {
        "columns": {
            "income": {
                "type": "number",
                "min": 0,
                "max": 1000,
                "width": 100,
                "nullable": True,
                "out_of_domain": "null",
            },
            "born": {"type": "date", "min": "1970-01-01", "max": "1970-12-31", "width": 30},
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "rich": {"type": "boolean"},
        }
    }
)


def records(rows: int, seed: int, *, zeros: float = 0.5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(rows) < zeros, 0.0, rng.integers(1, 1000, rows))
    sex = rng.choice(["F", "M"], rows)
    born = pd.to_datetime("1970-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D")
    return pd.DataFrame(
        {"income": income, "born": born, "sex": sex, "rich": (income > 500) & (sex == "F")}
    )


def test_values_are_read_alike_from_every_container(tmp_path) -> None:
    frame = records(50, 0)
    frame["born"] = frame["born"].dt.date.astype("datetime64[s]")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    arrow = arrow.set_column(1, "born", arrow["born"].cast(pa.date32()))
    path = tmp_path / "t.csv"
    arrow.to_pandas(date_as_object=True).to_csv(path, index=False)
    one, other = read_values(arrow, SCHEMA), read_values(path, SCHEMA)
    assert one.numbers.keys() == other.numbers.keys() == {"income", "born"}
    for name in one.numbers:
        assert one.numbers[name].tolist() == other.numbers[name].tolist()
    assert one.numbers["income"].tolist() == frame["income"].tolist()


def test_objects_are_compared_by_value() -> None:
    frame = records(50, 0)
    frame.loc[3, "income"] = np.nan
    typed = read_values(frame.assign(born=frame["born"].astype("datetime64[s]")), OBJECTS)
    mixed = frame.assign(born=frame["born"].dt.date).astype({"income": object, "sex": "category"})
    mixed["kind"] = 1
    mixed.loc[5, "income"] = "many"
    mixed.loc[6, "income"] = 5000
    found = read_values(mixed, OBJECTS, ignored=["kind"])
    assert found.beyond == {"income": pytest.approx(2 / 50), "born": 0}
    same = np.delete(np.arange(50), [5, 6])
    for name, values in typed.numbers.items():
        np.testing.assert_array_equal(found.numbers[name][same], values[same])
    categories = mixed.astype({"income": "category"})
    again = read_values(categories, OBJECTS, ignored=["kind"])
    np.testing.assert_array_equal(again.numbers["income"], found.numbers["income"])
    assert again.codes.column("income").tolist() == found.codes.column("income").tolist()


def test_a_number_that_means_null_is_none_in_a_typed_column() -> None:
    schema = Schema.of(
        {
            "columns": {
                "age": {
                    "type": "integer",
                    "min": 0,
                    "max": 99,
                    "nullable": True,
                    "null_values": ["99"],
                }
            }
        }
    )
    found = read_values(pa.table({"age": [7, 99, 99]}), schema)
    assert found.numbers["age"].tolist() == pytest.approx([7, np.nan, np.nan], nan_ok=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_values_in_the_names_of_folders_are_read(tmp_path, ending: str) -> None:
    schema = Schema.of(
        {
            "columns": {
                "year": {"type": "integer", "min": 2000, "max": 2029, "nullable": True},
                "sex": {"type": "categorical", "values": ["F", "M"]},
            }
        }
    )
    for folder, sexes in (
        ("year=2021", ["F"]),
        ("year=2022", ["M", "F"]),
        ("year=__HIVE_DEFAULT_PARTITION__", ["M"]),
    ):
        (tmp_path / folder).mkdir()
        frame = pd.DataFrame({"sex": sexes, "person": 1})
        path = tmp_path / folder / f"a.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    found = read_values(tmp_path, schema, ignored=["person"])
    assert found.numbers["year"].tolist() == pytest.approx([2021, 2022, 2022, np.nan], nan_ok=True)
    assert found.codes.column("sex").tolist() == [0, 1, 0, 1]
    with pytest.raises(SchemaError, match="'person': is in the table and not in the schema"):
        read_values(tmp_path, schema)


def test_what_bins_and_policies_hide_is_seen() -> None:
    private = read_values(records(4000, 0, zeros=0.9), SCHEMA)
    within_bins = records(4000, 0, zeros=0.9)
    within_bins["income"] += 50 * (within_bins["income"] == 0)  # the same bins, other values
    found = compare_tables(private, read_values(within_bins, SCHEMA)).columns[0]
    assert found.code_tv == 0
    assert found.similarity < 0.2
    assert found.private.zeros == pytest.approx(0.9, abs=0.03)
    assert found.published.zeros == 0

    beyond = records(1000, 1)
    beyond["income"] = beyond["income"].astype(str)
    beyond.loc[:99, "income"] = "€ 12"
    beyond.loc[100:199, "income"] = "5000"
    frame = pa.Table.from_pandas(beyond.assign(born=beyond["born"].dt.date), preserve_index=False)
    assert read_values(frame, SCHEMA).beyond["income"] == pytest.approx(0.2)


def test_equal_tables_are_alike_and_broken_constraints_are_counted() -> None:
    private = read_values(records(2000, 0), SCHEMA)
    same = compare_tables(private, private)
    assert [column.similarity for column in same.columns] == [1, 1, 1, 1]
    assert all(pair.similarity == 1 for pair in same.pairs)
    assert same.overall_tv == 0
    assert same.broken_constraints == ((0, 0),)
    # one half of the records are those that they are compared with
    assert same.nearest.copies > 0.49
    broken = records(2000, 1)
    broken["rich"] = True
    assert compare_tables(private, read_values(broken, SCHEMA)).broken_constraints[0][1] > 0.4


def test_pairs_groups_and_correlations_name_what_was_lost() -> None:
    private = read_values(records(4000, 0), SCHEMA)
    shuffled = records(4000, 1)
    shuffled["rich"] = np.random.default_rng(0).permutation(shuffled["rich"])
    found = compare_tables(private, read_values(shuffled, SCHEMA))
    assert found.pairs[0].columns == ("income", "rich")
    assert (found.subgroups[0].column, found.subgroups[0].value) == ("rich", "true")
    assert found.subgroups[0].tv > 5 * found.overall_tv
    correlated = next(pair for pair in found.pairs if pair.columns == ("income", "born"))
    assert correlated.correlations == pytest.approx((0, 0), abs=0.1)


@pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None, reason="needs scikit-learn (dprap[evaluate])"
)
def test_models_see_what_the_published_table_keeps() -> None:
    private, published = (read_values(records(3000, seed), SCHEMA) for seed in (0, 1))
    assert default_target(private) == "rich"
    good = compare_models(private, published, ["rich"])[0]
    assert good.trained_on_published > 0.99
    assert good.trained_on_private > 0.99
    shuffled = records(3000, 1)
    shuffled["rich"] = np.random.default_rng(0).permutation(shuffled["rich"])
    assert (
        compare_models(private, read_values(shuffled, SCHEMA), ["rich"])[0].trained_on_published
        < 0.7
    )
    with pytest.raises(SchemaError, match="'age': is named as a target"):
        compare_models(private, published, ["age"])


def test_a_large_table_is_compared_by_a_random_part() -> None:
    values = read_values(records(5000, 0), SCHEMA, most_records=1000)
    assert values.codes.rows == 1000
    assert values.rows == 5000
    # six standard errors
    assert values.codes.column("rich").mean() == pytest.approx(0.125, abs=0.06)
    with pytest.raises(DataError, match="no records"):
        read_values(records(0, 0), SCHEMA)


def test_distance_of_distribution_functions() -> None:
    one, other = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, np.nan])
    assert kolmogorov_smirnov(one, other) == pytest.approx(0.5)
    assert kolmogorov_smirnov(one, np.array([np.nan])) == 1
