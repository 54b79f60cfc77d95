from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.release.made import made_release

from dprap import Release, synthesize
from dprap.encoding import encode
from dprap.errors import DprapError, SettingsError
from dprap.release.answer_question import ask


def test_rows_satisfy_their_conditions_also_where_these_cut_bins() -> None:
    table = made_release().table(
        3000,
        where={
            "age": (2, 5),
            "state of birth": ["Oslo", "Rome", None],
            "hired": ("2020-03", date(2020, 4, 15)),
        },
        format="arrow",
    )
    assert table.num_rows == 3000
    assert set(table["age"].to_pylist()) == {2, 3, 4, 5}
    assert set(table["state of birth"].to_pylist()) == {"Oslo", "Rome", None}
    assert min(table["hired"].to_pylist()) >= date(2020, 3, 1)
    assert max(table["hired"].to_pylist()) <= date(2020, 4, 15)


def test_conditional_rows_have_the_conditional_distribution() -> None:
    release = made_release()
    rows = 20_000
    table = release.table(rows, where={"sex": "F", "age": (2, 9)}, format="pandas")
    given = ask(release, "sex = F and age in 2..9").share
    for question, share in {
        "smoker = true": table["smoker"].mean(),
        "age in 4..7": table["age"].between(4, 7).mean(),
        "'state of birth' = Oslo": (table["state of birth"] == "Oslo").mean(),
        "age in 2..3 and hired is null": (
            (table["age"].between(2, 3) & table["hired"].isna()).mean()
        ),
    }.items():
        expected = ask(release, f"sex = F and age in 2..9 and {question}").share / given
        # 5 standard errors of independent draws; stratified draws vary less. False alarm below one
        # in a million
        assert share == pytest.approx(expected, abs=5 * np.sqrt(0.25 / rows))


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ({"smoker": True}, {True}),
        ({"smoker": np.array([0]).astype(bool)[0]}, {False}),
        ({"age": np.int64(7)}, {7}),
        ({"age": 7.0}, {7}),
        ({"age": (None, 3)}, {0, 1, 2, 3}),
        ({"hired": None}, {None}),
        ({"hired": pd.Timestamp("2020-05-05").date()}, {date(2020, 5, 5)}),
        ({"state of birth": "elsewhere"}, {"elsewhere"}),
    ],
)
def test_conditions_take_python_numpy_and_pandas_values(
    condition: dict[str, object], values: set[object]
) -> None:
    (name,) = condition
    assert (
        set(made_release().table(200, where=condition, format="arrow")[name].to_pylist()) == values
    )


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"nope": 1}, "column 'nope' is not in the schema"),
        ({"age": 99}, "column 'age': nothing there lies in its declared domain"),
        ({"age": (1, 2, 3)}, "a range is (low, high)"),
        ({"sex": []}, "the list of values is empty"),
        ({"sex": ("F", "M")}, "column 'sex' has no order"),
        ({"sex": None}, "none can be null"),
    ],
)
def test_bad_conditions_are_refused(condition: dict[str, object], message: str) -> None:
    with pytest.raises(DprapError) as raised:
        made_release().table(10, where=condition)
    assert message in str(raised.value)


def related_release() -> Release:
    """A release whose x, in bins of ten, is at most y, and of which x and y add up to t."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 100, 600)
    y = np.minimum(x + rng.integers(0, 100, 600), 199)
    bins = {"type": "integer", "min": 0, "width": 10}
    schema = {
        "columns": {"x": bins | {"max": 99}, "y": bins | {"max": 199}, "t": bins | {"max": 299}},
        "constraints": [
            {"type": "order", "smaller": "x", "larger": "y"},
            {"type": "sum", "parts": ["x", "y"], "total": "t"},
        ],
    }
    return synthesize(
        pd.DataFrame({"x": x, "y": y, "t": x + y}),
        schema,
        epsilon=5.0,
        kway=2,
        method="independent",
        insecure_noise_seed=1,
        intervals=False,
    )


def test_constraints_hold_under_conditions() -> None:
    release = related_release()
    for where in ({"x": (60, 69)}, {"y": (40, None), "x": (None, 39)}, "x in 20..29"):
        table = release.table(200, where=where)
        assert (table["x"] <= table["y"]).all()
        assert (table["x"] + table["y"] == table["t"]).all()
    for where in ({"x": 69}, {"x": (60, 75)}, {"x": [*range(20, 30), 31]}, "t > 100"):
        with pytest.raises(SettingsError, match=r"column '[xt]': the condition cuts the bin \d+"):
            release.table(200, where=where)


def test_conditions_that_exclude_each_other_are_refused() -> None:
    release = made_release(relaxed_rows=1)
    assert release.relaxed is not None
    probabilities = np.array(release.relaxed.probabilities)
    probabilities[:3, 0] = [1, 0, 0]
    certain = type(release.relaxed)(
        release.relaxed.domain,
        pa.array(probabilities.ravel()).to_numpy().reshape(-1, 1),
        release.relaxed.weights,
    )  # type: ignore[arg-type]
    release = type(release)(**{**vars(release), "relaxed": certain})
    with pytest.raises(SettingsError, match="no synthetic row satisfies the conditions on age"):
        release.table(10, where={"age": (4, 11)})


def test_tables_have_the_asked_size_and_depend_on_the_seed_alone() -> None:
    release = made_release()
    tables = [release.table(50, format="arrow", seed=seed) for seed in (3, 3, 4)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
    assert release.table(format="arrow").num_rows == release.rows
    assert encode(tables[0], release.schema).rows == 50
    with pytest.raises(SettingsError, match="rows must be at least 1"):
        release.table(0)
    with pytest.raises(SettingsError, match="must be one of pandas, polars, arrow, not 'excel'"):
        release.table(5, format="excel")  # type: ignore[arg-type]
    assert len(release.table(5, format="polars")) == 5
