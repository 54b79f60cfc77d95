"""Drafts: proposed from data, refused until reviewed, good enough to encode the table they came
from.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import yaml

from dprap.datasets import example
from dprap.encoding import check, decode, draft_schema, encode
from dprap.encoding.draft import draft
from dprap.errors import DataError, SchemaError
from dprap.schema import Schema
from dprap.schema.review import accept, finish, to_review


def reviewed(draft: Schema) -> Schema:
    for name in to_review(draft):
        draft = accept(draft, name, by="A. Lee", because="code book", on=dt.date(2026, 1, 1))
    return finish(draft)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "csv"])
def test_a_draft_is_refused_until_reviewed_and_then_works(tmp_path: Path, kind: str) -> None:
    arrow = example(2_000, seed=3)
    path = tmp_path / "table.csv"
    pa.csv.write_csv(arrow, path)
    table = {"arrow": arrow, "pandas": arrow.to_pandas(), "csv": path}[kind]
    drafted = draft_schema(table)
    with pytest.raises(SchemaError, match="draft"):
        drafted.require_reviewed()
    assert not check(drafted, table).is_ready
    draft(table).save(tmp_path / "schema.yaml")
    text = (tmp_path / "schema.yaml").read_text()
    assert text.startswith("# DRAFT: the bounds and categories below were taken from the data.")
    # a deleted line is no review
    (tmp_path / "schema.yaml").write_text(text.replace("draft: true\n", ""))
    with pytest.raises(SchemaError, match="dprap schema review"):
        Schema.load(tmp_path / "schema.yaml")
    (tmp_path / "schema.yaml").write_text(text)
    accepted = reviewed(Schema.load(tmp_path / "schema.yaml"))
    assert check(accepted, table).is_ready
    codes = encode(table, accepted)
    again = encode(decode(codes, accepted, seed=0), accepted)
    assert all((a == b).all() for a, b in zip(codes.columns, again.columns, strict=True))


def test_types_are_recognised() -> None:
    table = pa.table(
        {
            "constant": ["x"] * 120,
            "id": [f"p{i}" for i in range(120)],
            "nothing": pa.nulls(120),
            "money": pa.array(
                [Decimal("12.34") * (i % 60) for i in range(120)], pa.decimal128(10, 2)
            ),
            "day": pa.array(
                [dt.datetime(2020, 1, 1 + i % 28) for i in range(120)],  # noqa: DTZ001
                pa.timestamp("ns"),
            ),
            "zoned": pa.array([i * 10**9 for i in range(120)], pa.timestamp("ms", "Europe/Berlin")),
            "count": pa.array([None, *(i % 70 for i in range(119))], pa.float64()),
            "tail": [0.5 + 1.7**i for i in range(30)] * 4,
            "small": pa.array([i % 3 for i in range(120)], pa.uint8()),
        }
    )
    drafted = draft_schema(table)
    assert drafted.ignore_columns == ("id", "nothing")
    described = {name: (column.type, column.storage) for name, column in drafted.columns.items()}
    assert described == {
        "constant": ("categorical", None),
        "money": ("number", "decimal128(10, 2)"),
        "day": ("date", "timestamp[ns]"),
        "zoned": ("datetime", "timestamp[ms]"),
        "count": ("integer", "float64"),
        "tail": ("number", None),
        "small": ("integer", "uint8"),
    }
    assert "powers of ten" in drafted.draft_notes["tail"].reason
    assert repr(0.5 + 1.7**29) not in str(drafted.as_mapping())
    accepted = reviewed(drafted)
    table_back = decode(encode(table, accepted), accepted, seed=1)
    assert table_back.schema.types == table.drop_columns(["id", "nothing"]).schema.types


def test_rare_categories_and_exact_extremes_are_not_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    income = rng.lognormal(10, 1, 5000).round(2)
    table = pa.table(
        {
            "disease": [*["flu"] * 3000, *["gout"] * 1981, *["Kuru"] * 19],
            "income": income,
            "age": pa.array([*rng.integers(18, 90, 4999), 107]),
        }
    )
    drafted = draft_schema(table)
    assert drafted.columns["disease"].label_texts.keys() == {"flu", "gout", "other"}  # type: ignore[union-attr]
    text = str(drafted.as_mapping())
    assert "Kuru" not in text
    assert "107" not in text
    assert repr(float(income.max())) not in text


def test_ambiguous_dates_are_asked_and_other_columns_decide(tmp_path: Path) -> None:
    days = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2024" for i in range(300)]
    sure = [f"{1 + i % 28:02d}/03/2024" for i in range(300)]
    pa.csv.write_csv(pa.table({"a": days, "n": ["1"] * 300}), tmp_path / "alone.csv")
    pa.csv.write_csv(pa.table({"a": days, "b": sure}), tmp_path / "both.csv")
    assert "01/02" in (draft_schema(tmp_path / "alone.csv").draft_notes["a"].question or "")
    both = draft_schema(tmp_path / "both.csv")
    assert both.draft_notes["a"].question is None
    assert both.as_mapping()["columns"]["a"]["format"] == "%d/%m/%Y"


def test_a_header_that_is_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("39,Private,Male\n" + "39,Private,Male\n50,Private,Female\n" * 30)
    with pytest.raises(DataError, match="no header"):
        draft_schema(path)


def test_values_beyond_the_sample_get_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dprap.encoding.draft_profile._MAX_SAMPLE_ROWS", 5_000)
    monkeypatch.setattr("dprap.encoding.draft_profile._MAX_DISTINCT", 50)
    numbers = [f"{i * 7 % 9973}.5" for i in range(40_000)]
    odd = [*numbers[:-1], "???"]
    path = tmp_path / "table.csv"
    pa.csv.write_csv(pa.table({"x": odd, "y": ["a", "b"] * 20_000}), path)
    accepted = reviewed(draft_schema(path))
    assert accepted.columns["x"].nullable
    assert encode(path, accepted).rows == 40_000


def test_constraints_are_suggested_as_comments(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    school = rng.integers(0, 4, 4000)
    start = rng.integers(0, 300, 4000)
    table = pa.table(
        {
            "school": np.array(["none", "low", "mid", "high"])[school],
            "years": school * 3 + 1,
            "first": start,
            "last": start + rng.integers(0, 40, 4000),
        }
    )
    drafted = draft(table)
    assert any(
        line.startswith("- {type: determines, from: school, to: years")
        for line in drafted.suggestions
    )
    assert "- {type: order, smaller: first, larger: last}" in drafted.suggestions
    drafted.save(tmp_path / "schema.yaml")
    assert "# - {type: determines" in (tmp_path / "schema.yaml").read_text()
    assert Schema.load(tmp_path / "schema.yaml").constraints == ()


def test_nothing_to_draft_from() -> None:
    with pytest.raises(DataError, match="no records"):
        draft_schema(pa.table({"x": pa.array([], pa.int64())}))
    with pytest.raises(SchemaError, match="no column"):
        draft_schema(pa.table({"x": pa.nulls(3)}))


def test_suggested_constraints_can_be_declared_as_they_stand() -> None:
    rng = np.random.default_rng(0)
    rows = 3000
    fare = rng.gamma(2, 9, rows).round(2)
    tip = np.where(rng.random(rows) < 0.4, 0, (fare * 0.2).round(2))
    came = np.datetime64("2020-01-01") + rng.integers(0, 500, rows).astype("m8[D]")
    ward, sex = rng.choice(["A", "B", "C", "D"], rows), rng.choice(["f", "m"], rows)
    table = pa.table(
        {
            "fare": fare,
            "tip": tip,
            "total": (fare + tip).round(2),
            "came": came,
            "left": came + rng.geometric(0.2, rows).astype("m8[D]"),
            "ward": ward,
            "site": np.array(["N", "N", "S", "W"])[np.searchsorted(["A", "B", "C", "D"], ward)],
            "sex": sex,
            "pregnant": np.where(sex == "m", "no", rng.choice(["no", "yes"], rows)),
        }
    )
    drafted = draft(table)
    constraints = yaml.safe_load("\n".join(drafted.suggestions))
    assert {each["type"] for each in constraints} == {"sum", "order", "determines", "forbid"}
    assert {"type": "sum", "parts": ["fare", "tip"], "total": "total"} in constraints
    assert {"type": "order", "smaller": "came", "larger": "left"} in constraints
    declared = Schema.of({**drafted.schema.as_mapping(), "constraints": constraints})
    assert check(reviewed(declared), table).is_ready
    assert not check(
        reviewed(declared), table.set_column(2, "total", [fare + 2 * tip + 1])
    ).is_ready


def test_a_name_that_stands_twice_is_named() -> None:
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["value", "value"])
    with pytest.raises(SchemaError, match="more than one column called 'value'"):
        draft(table)


def test_codes_that_look_like_money_stay_labels() -> None:
    rows = 400
    table = {
        "region": [f"R{i % 7:02d}" for i in range(rows)],
        "zone": [f"R{i % 5}" for i in range(rows)],
    }
    drafted = draft_schema(pa.table({**table, "pay": [f"R{i % 90}.50" for i in range(rows)]}))
    assert [column.type for column in drafted.columns.values()] == [
        "categorical",
        "categorical",
        "number",
    ]


@pytest.mark.parametrize(
    ("name", "first", "last", "years", "is_asked"),
    [
        ("Date of Birth", 1935, 2014, (1935, 2014), True),
        ("dob", 1935, 1965, (1935, 1965), True),
        ("opened", 2019, 2023, (2019, 2023), False),
        ("matures", 2026, 2056, (2026, 2056), True),
    ],
)
def test_years_of_two_digits_get_the_century_that_people_mean(
    tmp_path: Path, name: str, first: int, last: int, years: tuple[int, int], is_asked: bool
) -> None:
    """Births of 1935 once became births of 2035, since Python's century is 1969 to 2068."""
    days = [
        dt.date(first, 1, 1) + dt.timedelta(days=13 * n) for n in range((last + 1 - first) * 28)
    ]
    path = tmp_path / "t.csv"
    path.write_text(f"{name},x\n" + "".join(f"{day:%d.%m.%y},a\n" for day in days))
    drafted = draft_schema(path)
    column = drafted.columns[name]
    assert (column.min.year, column.max.year) == years
    assert (drafted.draft_notes[name].question is not None) == is_asked
    codes = encode(path, reviewed(drafted))
    again = [column.place(day) for day in days]
    assert codes.column(name).tolist() == again


def test_two_digits_tell_a_hundred_years_apart() -> None:
    wide = {
        "columns": {
            "d": {"type": "date", "min": "1900-01-01", "max": "2020-12-31", "format": "%d.%m.%y"}
        }
    }
    with pytest.raises(SchemaError, match="tell a hundred years apart"):
        Schema.of(wide)


def test_a_header_may_lack_the_name_of_its_row_numbers(tmp_path: Path) -> None:
    """The first record once became the header of a table of two columns."""
    path = tmp_path / "t.csv"
    path.write_text(",price\n" + "".join(f"{n},{n % 90}\n" for n in range(400)))
    assert list(draft_schema(path).columns) == ["price"]


def test_clocks_are_no_delimiters(tmp_path: Path) -> None:
    """Colons cut every line but the header into more fields than commas do."""
    path = tmp_path / "t.csv"
    path.write_text(
        "at,took,n\n" + "".join(f"0{n % 9}:15:00,{n % 7}:30:10,{n % 5}\n" for n in range(200))
    )
    assert list(draft_schema(path).columns) == ["at", "took", "n"]


def test_few_values_far_apart_are_listed_if_many_records_have_them() -> None:
    sizes = np.log(np.repeat([1, 2, 3, 5, 12], [200, 900, 500, 400, 10])).round(6)
    wide = np.repeat([10_115, 20_095, 99_998, 40_210], [700, 800, 500, 10])
    schema = draft_schema(pa.table({"log_size": sizes, "place": wide}))
    columns = schema.as_mapping()["columns"]
    assert columns["log_size"]["representatives"] == [0.0, 0.693147, 1.098612, 1.609438]
    assert columns["place"]["representatives"] == [10_115, 20_095, 99_998]
    assert "2.4849" not in str(columns)  # the values of ten people
    assert "40210" not in str(columns)
    assert schema.draft_notes["place"].from_data == ("edges", "representatives")
    known = draft_schema(
        pa.table({"place": wide}), known={"place": {"type": "integer", "min": 0, "max": 99_999}}
    )
    assert "representatives" not in known.as_mapping()["columns"]["place"]


def test_the_highest_of_few_decimals_keeps_its_place() -> None:
    """Bins of a tenth from 0.5 to 2.5 put 2.4 and 2.5 together, and half of all 2.5 came out as
    2.4.
    """
    fees = np.repeat([0.5, 1.0, 2.5], 200)
    schema = reviewed(draft_schema(pa.table({"fee": fees})))
    drawn = decode(encode(pa.table({"fee": fees}), schema), schema, seed=1)
    assert sorted(drawn.column("fee").to_pylist()) == fees.tolist()


@pytest.mark.slow
def test_values_that_many_records_share_are_no_identifiers_in_a_large_table() -> None:
    """Of a table beyond the sample it once looked as if nearly every record had a postcode of its
    own.
    """
    rng = np.random.default_rng(5)
    records = 1_000_000
    places = pa.array([f"{number:05d}x" for number in range(80_000)])
    table = pa.table(
        {
            "place": (
                pa.DictionaryArray.from_arrays(
                    rng.integers(0, 80_000, records).astype(np.int32), places
                ).cast("string")
            ),
            "mark": [f"m{number}" for number in range(records)],
            "sex": (
                pa.DictionaryArray.from_arrays(
                    rng.integers(0, 2, records).astype(np.int32), ["f", "m"]
                ).cast("string")
            ),
        }
    )
    notes = draft_schema(table).draft_notes
    assert notes["mark"].reason.startswith("looks like an identifier")
    assert notes["place"].reason.startswith("no value is shared by 20 of the records looked at")


def test_a_rare_top_list_is_no_column() -> None:
    """One value of 20 records among 1,000 different ones says nothing of the rest."""
    texts = [f"v{number} {number % 7}" for number in range(300) for _ in range(3)]
    drafted = draft_schema(pa.table({"kind": [*["often"] * 20, *texts], "x": [1, 2] * 460}))
    assert drafted.ignore_columns == ("kind",)
    assert "less than 10%" in drafted.draft_notes["kind"].reason


def test_points_are_thousands_only_where_commas_are_decimals(tmp_path: Path) -> None:
    lines = [f"{number}.{number % 900 + 100};{number % 90},5" for number in range(1, 400)]
    (tmp_path / "t.csv").write_text("cells;share\n" + "\n".join(lines) + "\n")
    drafted = draft_schema(tmp_path / "t.csv")
    assert drafted.columns["cells"].type == "integer"
    assert "thousands" in str(drafted.draft_notes["cells"].question)
    (tmp_path / "u.csv").write_text(
        "cells,share\n" + "\n".join(line.replace(",", ".").replace(";", ",") for line in lines)
    )
    assert draft_schema(tmp_path / "u.csv").columns["cells"].type == "number"


def test_values_over_many_orders_of_magnitude_get_bins_of_their_own_size() -> None:
    """A grid of equal steps up to 10^9 would make zeros of most of them."""
    sizes = np.random.default_rng(2).lognormal(5, 4, 2000).clip(0, 9e8)
    sizes[:200] = 0
    drafted = draft_schema(pa.table({"size": sizes.astype(np.int64)}))
    edges = drafted.columns["size"].edges
    assert edges[:3] == (0, 1, 2)
    assert all(later <= 2.5 * earlier for earlier, later in pairwise(edges[1:-1]))
    assert edges[-1] >= sizes.max()


def test_blanks_around_names_are_taken_off_every_field(tmp_path: Path) -> None:
    path = tmp_path / "padded.csv"
    rows = [f"{'ab'[i % 2]}{' ' * (i % 3)},{i % 7}" for i in range(200)]
    path.write_text("\n".join([" kind , size", *rows]) + "\n")
    drafted = draft_schema(path)
    assert list(drafted.columns) == ["kind", "size"]
    assert drafted.csv.strip
    assert drafted.as_mapping()["columns"]["kind"]["values"] == ["a", "b"]
    path.write_text("\n".join(["size, size", *(f"{i},{i % 7}" for i in range(200))]) + "\n")
    assert not draft_schema(path).csv.strip  # the blank tells two columns apart


def test_questions_name_blanks_and_units() -> None:
    towns = ["Kiel", " Kiel", "Husum", "husum", "Plön"] * 40
    heights = ["1.70m", "1.80m", "1.75m", "171 cm", "180 cm"] * 40
    notes = draft_schema(pa.table({"town": towns, "height": heights})).draft_notes
    said = str(notes["town"].question)
    assert "' Kiel' and 'Kiel', and 1 more such mean the same?" in said
    assert "csv: {strip: true}" in said
    assert "numbers with different signs (cm, m)" in str(notes["height"].question)


@pytest.mark.parametrize("often", [2, 5, 8])
@pytest.mark.parametrize("days", [12, 56, 900])
def test_dates_written_in_several_ways_are_no_categories(often: int, days: int) -> None:
    """Each day would stand in the list twice, or the column would be taken for an identifier."""
    when = [dt.date(2024, 1, 1) + dt.timedelta(days=row % days) for row in range(3000)]
    texts = [
        day.isoformat() if row * 7 % 11 < often else f"{day:%d.%m.%Y}"
        for row, day in enumerate(when)
    ]
    clocks = [f"{text} 1{row % 7}:30" for row, text in enumerate(texts)]
    drafted = draft_schema(pa.table({"x": np.arange(3000) % 7, "day": texts, "at": clocks}))
    assert drafted.ignore_columns == ("day", "at")
    for name, shape in (("day", "99.99.9999"), ("at", "99.99.9999 99:99")):
        reason = drafted.draft_notes[name].reason
        assert reason.startswith("dates are written in more than one way (")
        assert shape in reason
        assert shape[:0] + "9999-99-99" in reason


def test_names_with_brackets_and_commas_stay_names_in_suggestions(tmp_path: Path) -> None:
    low = np.random.default_rng(1).integers(0, 500, 3000)
    table = pa.table({"Betrag [€]": low, "{to, pay}": low + 7, "#part": low * 2 + 7})
    drafted = draft(table)
    assert any("type: order" in line for line in drafted.suggestions)
    assert any("type: sum" in line for line in drafted.suggestions)
    for line in drafted.suggestions:
        (rule,) = yaml.safe_load(line)
        named = {rule.get("smaller"), rule.get("larger"), rule.get("total"), *rule.get("parts", ())}
        assert named - {None} <= set(table.column_names)
        Schema.of({**drafted.schema.as_mapping(), "constraints": [rule]})


def test_nothing_is_suggested_that_the_schema_refuses() -> None:
    """Wall times cannot be compared with instants."""
    wall = pa.array(np.random.default_rng(1).integers(0, 10**9, 3000) * 10**6, pa.timestamp("us"))
    table = pa.table({"wall": wall, "at": wall.cast(pa.timestamp("us", "UTC"))})
    later = pa.compute.add(table["at"], pa.scalar(dt.timedelta(hours=1)))
    drafted = draft(table.append_column("later", later))
    assert drafted.suggestions == ("- {type: order, smaller: at, larger: later}",)


def test_rare_values_of_a_list_of_decimals_keep_their_place() -> None:
    """10.0 was read as 9.9, which no check could tell."""
    marks = np.concatenate([np.repeat(np.arange(1, 100) / 10, 40), [0.0] * 18, [10.0] * 19])
    drafted = draft_schema(pa.table({"mark": marks}))
    assert drafted.as_mapping()["columns"]["mark"]["representatives"] == [
        round(step / 10, 1) for step in range(101)
    ]
    schema = reviewed(drafted)
    drawn = decode(encode(pa.table({"mark": marks}), schema), schema, seed=1)
    assert drawn.column("mark").to_pylist() == marks.tolist()
    halves = np.concatenate([np.repeat(np.arange(1, 99) / 2, 40), [0.0] * 18, [50.0] * 19])
    assert draft_schema(pa.table({"mark": halves})).columns["mark"].representatives[-1] == 50
    gaps = np.log(np.repeat([1, 2, 3, 5, 12], [200, 900, 500, 400, 10])).round(6)
    reason = draft_schema(pa.table({"gap": gaps})).draft_notes["gap"].reason
    assert "rarer values are read as the listed one below" in reason


def test_negative_numbers_may_stand_in_brackets() -> None:
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 10_000, 3000) / 100
    texts = [f"({size:.2f})" if row % 4 == 0 else f"{size:.2f}" for row, size in enumerate(sizes)]
    drafted = draft_schema(pa.table({"balance": texts}))
    assert drafted.draft_notes["balance"].reason.endswith("written with a minus behind or brackets")
    schema = reviewed(drafted)
    assert schema.columns["balance"].place("(12.34)") == schema.columns["balance"].place("-12.34")
    assert check(schema, pa.table({"balance": texts})).is_ready
    notes = [f"({number})" for number in range(1, 10)] * 30
    assert draft_schema(pa.table({"note": notes})).columns["note"].type == "categorical"


@pytest.mark.parametrize("zeros", [0, 300])
@pytest.mark.parametrize(("low", "high"), [(-9, 3), (-12, -6), (-13, 5)])
def test_small_numbers_do_not_become_zeros(low: int, high: int, zeros: int) -> None:
    sizes = 10.0 ** np.random.default_rng(3).uniform(low, high, 3000)
    sizes[:zeros] = 0
    texts = [f"{size:.3e}" for size in sizes]
    drafted = draft_schema(pa.table({"size": texts}))
    schema = reviewed(drafted)
    drawn = decode(encode(pa.table({"size": texts}), schema), schema, seed=1)
    values = np.array([float(text) for text in drawn.column("size").to_pylist()])
    decimals = drafted.columns["size"].decimals
    # a zero of its own needs decimals, and a double holds 15 digits
    lost = (sizes < 10.0**-decimals) if zeros else sizes == 0
    assert (values == 0).sum() == lost.sum()
    assert decimals is None or decimals >= min(15, 14 - high)
    assert abs((values < 1e-8).sum() - (sizes < 1e-8).sum()) < 60
