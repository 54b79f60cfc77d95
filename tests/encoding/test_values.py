"""The meaning of single values, as docs/values.md states it, and the types and ids around them."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.privacy.hostile_values import BERLIN, HOSTILE, TOTAL_SCHEMA

from dprap.encoding import encode, encode_with_ids
from dprap.errors import DataError, SchemaError
from dprap.privacy.person_bound import records_within_bound
from dprap.schema import Schema
from dprap.schema.values import Unplaced

MISSING, UNREADABLE, OUTSIDE = Unplaced.MISSING, Unplaced.UNREADABLE, Unplaced.OUTSIDE
NOON = dt.datetime(2024, 3, 1, 12)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("column", "value", "position"),
    [
        *((name, value, MISSING) for name in TOTAL_SCHEMA.columns for value in (None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"))),
        *((name, value, UNREADABLE) for name in TOTAL_SCHEMA.columns for value in (b"7", [7], 7j, dt.timedelta(7), object())),
        ("integer", True, UNREADABLE), ("integer", 3.0, 8), ("integer", 2.5, UNREADABLE), ("integer", Decimal("1E+2"), 105),
        ("integer", 10**4000, OUTSIDE), ("integer", "1e2", UNREADABLE), ("integer", "9" * 5000, OUTSIDE), ("integer", -0.0, 5),
        ("clipped", 10**4000, 17), ("clipped", float("-inf"), 0), ("integer", float("inf"), OUTSIDE), ("integer", "7.0", 12),
        ("number", True, UNREADABLE), ("number", 7, 4), ("number", "1e400", OUTSIDE), ("number", "inf", UNREADABLE),
        ("number", Decimal("0.1"), 1), ("number", np.float32(0.1), 1), ("number", NOON, UNREADABLE),
        ("number", "\u0667", UNREADABLE), ("integer", "\u0667", UNREADABLE), ("integer", "\uff17", UNREADABLE),
        ("city", "Rome", 0), ("city", 7, UNREADABLE), ("city", "x", 7), ("city", "\ud800", OUTSIDE), ("city", True, UNREADABLE),
        ("code", 7.0, 2), ("code", "7", 2), ("code", "7.0", OUTSIDE), ("code", True, UNREADABLE), ("code", 2**63, OUTSIDE),
        ("flag", True, 1), ("flag", np.bool_(0), 0), ("flag", 1, UNREADABLE), ("flag", "1", 1), ("flag", "maybe", UNREADABLE),
        ("day", NOON, 2), ("day", dt.date(2024, 3, 1), 2), ("day", NOON.replace(tzinfo=BERLIN), UNREADABLE),
        ("day", "2024-02-30", UNREADABLE), ("day", "0000-01-01", UNREADABLE), ("day", np.datetime64("2024-03-01"), 2),
        ("day", np.datetime64("2024-03"), UNREADABLE), ("day", "2024-03-01T00:00:00", UNREADABLE),
        ("wall", NOON, 2023), ("wall", dt.date(2024, 3, 1), UNREADABLE), ("wall", "2024-03-01", 2023),
        ("wall", "2024-06-30 23:59:60", UNREADABLE), ("wall", "2024-03-01 24:00:00", UNREADABLE),
        ("wall", NOON.replace(tzinfo=BERLIN), UNREADABLE), ("wall", pd.Timestamp(NOON), 2023),
        ("zoned", NOON, UNREADABLE), ("zoned", "2024-01-01T00:30+01:00", 0), ("zoned", "2024-01-01T00:30", UNREADABLE),
        ("written", "01.03.2024", 60), ("written", "2024-03-01", UNREADABLE),
    ],
)  # fmt: skip
def test_one_meaning(column: str, value: Any, position: int) -> None:
    assert TOTAL_SCHEMA.columns[column].place(value) == position


def test_clocks_put_back() -> None:
    """Two zoned times that Python holds for equal are an hour apart, and mean two hours."""
    first, second = (dt.datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=BERLIN) for fold in (0, 1))
    assert first == second
    codes = (
        encode(pd.DataFrame({"x": pd.Series([first, second], dtype=object)}), alone("zoned"))
        .columns[0]
        .tolist()
    )
    assert codes[1] == codes[0] + 1


def alone(name: str) -> Schema:
    return Schema(columns={"x": TOTAL_SCHEMA.columns[name]})


@pytest.mark.parametrize("name", TOTAL_SCHEMA.columns)
@pytest.mark.parametrize(
    "array",
    [
        pa.array([b"7"], pa.binary_view()), pa.array([b"7"], pa.large_binary()), pa.array([[7]]), pa.array([["7"]], pa.large_list(pa.string())),
        pa.array([[7]], pa.list_view(pa.int64())), pa.array([{"a": 7}]), pa.array([7], pa.duration("s")), pa.array([7], pa.time64("us")),
        pa.array([[b"7"]], pa.list_(pa.binary())).flatten().dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)  # fmt: skip
def test_types_without_a_readable_value_are_refused_by_name(name: str, array: pa.Array) -> None:
    with pytest.raises(
        SchemaError, match=r"^column 'x': the table has .* where the schema says .*\.$"
    ):
        encode(pa.table({"x": array}), alone(name))


def test_ignored_columns_are_not_looked_at() -> None:
    schema = Schema(columns={"x": TOTAL_SCHEMA.columns["integer"]}, ignore_columns=("y",))
    objects = pd.DataFrame({"x": [7] * len(HOSTILE), "y": pd.Series(HOSTILE, dtype=object)})
    assert encode(objects, schema).rows == len(HOSTILE)
    columns = {"x": [7] * len(HOSTILE), "y": pl.Series(HOSTILE, dtype=pl.Object)}
    assert encode(pl.DataFrame(columns), schema).rows == len(HOSTILE)


def test_pandas_and_polars_types() -> None:
    seven = encode(pa.table({"x": [7]}), alone("integer")).columns[0].tolist()
    for dtype in (
        "int8",
        ">i4",
        "uint64",
        "float16",
        "float32",
        ">f8",
        "longdouble",
        "Int64",
        "Float32",
        "object",
        "category",
        "Sparse[int]",
    ):
        assert (
            encode(pd.DataFrame({"x": pd.Series([7]).astype(dtype)}), alone("integer"))
            .columns[0]
            .tolist()
            == seven
        ), dtype
    for kind in (pl.Int8, pl.Int128, pl.Float32, pl.Decimal(10, 2), pl.Object):
        assert (
            encode(
                pl.DataFrame(
                    {
                        "x": (
                            pl.Series([7]).cast(kind)
                            if kind != pl.Object
                            else pl.Series([7], dtype=kind)
                        )
                    }
                ),
                alone("integer"),
            )
            .columns[0]
            .tolist()
            == seven
        )
    rome = pd.Series(["Rome", None])
    for dtype in (
        "object",
        "str",
        "string[python]",
        "string[pyarrow]",
        "category",
        pd.ArrowDtype(pa.large_string()),
    ):
        assert encode(pd.DataFrame({"x": rome.astype(dtype)}), alone("city")).columns[
            0
        ].tolist() == [0, 8], dtype
    for kind in (pl.Categorical, pl.Enum(["Oslo", "Rome"])):
        assert encode(
            pl.DataFrame({"x": pl.Series(["Rome", None]).cast(kind)}), alone("city")
        ).columns[0].tolist() == [
            0,
            8,
        ]


class TestIds:
    SCHEMA = Schema(columns={"x": TOTAL_SCHEMA.columns["integer"]})

    def ids(self, values: list[Any]) -> pa.ChunkedArray:
        frame = pd.DataFrame({"x": [7] * len(values), "who": pd.Series(values, dtype=object)})
        return encode_with_ids(frame, self.SCHEMA, "who")[1]

    def test_among_objects_are_equal_if_written_alike(self) -> None:
        someone = uuid.UUID(int=7)
        kept = records_within_bound(
            self.ids([7, "7", np.int8(7), someone, str(someone), 10**5000, "\ud800"]), 1
        )
        assert kept.tolist() == [True, False, False, True, False, True, True]

    def test_missing_and_others_are_refused(self) -> None:
        assert self.ids([7, None, float("nan"), pd.NA]).null_count == 3
        for odd in (7.5, True, b"7", [7]):
            with pytest.raises(
                DataError, match="column 'who': person ids must be integers or text"
            ):
                self.ids(["a", odd])

    def test_types_that_are_no_ids(self) -> None:
        for kind in (pa.float64(), pa.decimal32(5, 2), pa.bool_(), pa.list_(pa.int8())):
            with pytest.raises(
                DataError, match="person ids must be integers or text, and the table has"
            ):
                records_within_bound(pa.nulls(2, kind), 1)

    def test_every_text_type(self) -> None:
        for kind in (
            pa.string(),
            pa.large_string(),
            pa.string_view(),
            pa.dictionary(pa.int8(), pa.string()),
        ):
            assert records_within_bound(pa.array(["a", "b", "a"]).cast(kind), 1).tolist() == [
                True,
                True,
                False,
            ]
