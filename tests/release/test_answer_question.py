from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.release.made import SCHEMA, brute_force_share, made_release

from dprap.accounting import QueryMeasurement
from dprap.errors import DprapError, WorkloadError
from dprap.queries import Marginal, Query
from dprap.release.answer_question import ask
from dprap.release.files import load

QUESTIONS = {
    "": lambda _: True,
    "age = 5": lambda r: r["age"] == 5,
    "age != 5": lambda r: r["age"] != 5,
    "age in 2..9 and sex = F": lambda r: 2 <= r["age"] <= 9 and r["sex"] == "F",
    "age >= 2 and age <= 3": lambda r: 2 <= r["age"] <= 3,
    "age<3 or age>8": lambda r: r["age"] < 3 or r["age"] > 8,
    "age in {1, 2, 10} AND NOT smoker = true": lambda r: r["age"] in (1, 2, 10) and not r["smoker"],
    "age in ..4": lambda r: r["age"] <= 4,
    "age in 5.. and sex = M": lambda r: r["age"] >= 5 and r["sex"] == "M",
    "age not in 4..7": lambda r: not 4 <= r["age"] <= 7,
    "'state of birth' = Oslo": lambda r: r["state of birth"] == "Oslo",
    '"state of birth" = north': lambda r: r["state of birth"] in ("Oslo", "Bergen"),
    "`state of birth` in {Rome, elsewhere}": lambda r: r["state of birth"] in ("Rome", "elsewhere"),
    "'state of birth' != Rome": lambda r: r["state of birth"] not in ("Rome", None),
    "not 'state of birth' = Rome": lambda r: r["state of birth"] != "Rome",
    "'state of birth' is null or sex <> F": lambda r: (
        r["state of birth"] is None or r["sex"] != "F"
    ),
    "'state of birth' is not null": lambda r: r["state of birth"] is not None,
    "hired = 2020": lambda r: r["hired"] is not None and r["hired"].startswith("2020"),
    "hired >= 2021-03": lambda r: r["hired"] is not None and r["hired"] >= "2021-03",
    "hired > 2021-03 or hired < 2020-02-01": lambda r: (
        r["hired"] is not None and (r["hired"] > "2021-03" or r["hired"] < "2020-02")
    ),
    "hired in 2020-11..2021-02-28": lambda r: (
        r["hired"] is not None and "2020-11" <= r["hired"] <= "2021-02"
    ),
    "not (age < 6 and (sex = F or smoker = true)) or hired is null": lambda r: (
        not (r["age"] < 6 and (r["sex"] == "F" or r["smoker"])) or r["hired"] is None
    ),
    "(age = 1 or sex = F) and (age = 2 or smoker = true) and (hired = 2021 or sex = M)": lambda r: (
        (r["age"] == 1 or r["sex"] == "F")
        and (r["age"] == 2 or r["smoker"])
        and ((r["hired"] or "").startswith("2021") or r["sex"] == "M")
    ),
    "age is not null": lambda _: True,
    "age = 1 and age = 2": lambda _: False,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_shares_agree_with_a_sum_over_every_record(question: str) -> None:
    release = made_release()
    expected = brute_force_share(release, QUESTIONS[question])
    answered = ask(release, question)
    assert answered.share == pytest.approx(expected, abs=1e-6)
    assert answered.count == pytest.approx(expected * release.rows, abs=1e-3)


def test_a_breakdown_adds_up_and_agrees_with_single_questions() -> None:
    release = made_release()
    whole = ask(release, "age in 2..9 or smoker = true")
    broken = ask(release, "age in 2..9 or smoker = true", by=("sex", "age"))
    assert sum(group.count for group in broken.groups) == pytest.approx(whole.count)
    for group in broken.groups:
        sex, age = group.values
        single = ask(release, f"(age in 2..9 or smoker = true) and sex = {sex} and age in {age}")
        assert group.share == pytest.approx(single.share, abs=1e-9)


def test_a_breakdown_leaves_out_what_the_question_excludes() -> None:
    answered = ask(made_release(), "sex = F", by=("sex",))
    assert [group.values for group in answered.groups] == [("F",)]


def test_the_standard_error_sums_the_cells_and_the_least_noisy_measurement_wins() -> None:
    release = made_release()
    # age alone: 2 cells with σ = 10 against 4 cells of sex×age with σ = 5
    measured = ask(release, "age in 0..7").groups[0].measured
    assert measured is not None
    assert (measured.count, measured.marginal) == (800, "sex×age")
    assert measured.standard_error == pytest.approx(5 * math.sqrt(4))
    # noise says nothing of where in a bin the records lie
    assert ask(release, "age in 0..1 and sex = F").groups[0].measured is None
    assert ask(release, "age in 0..1").cut == ("age",)


def test_a_single_query_of_groups_is_stored_and_not_taken_for_one_of_codes(tmp_path: Path) -> None:
    plain = made_release()
    query = Query(Marginal(("age", "smoker"), ((0, 2), None)), 0)  # age in 0..7 and not smoker
    release = replace(plain, measurements=(QueryMeasurement(query, 600.0, 0.1, 0.001),))
    release.save(tmp_path / "out")
    for each in (release, load(tmp_path / "out")):
        assert each.measurements[0].query == query  # type: ignore[union-attr]
        for question in ("age in 0..3 and smoker = false", "age in 0..7 and smoker = false"):
            assert ask(each, question).groups[0].measured is None


def test_a_coarse_measurement_speaks_of_the_columns_that_were_not_merged() -> None:
    release = made_release()
    measured = ask(release, "hired in 2020-01-01..2020-12-31").groups[0].measured
    assert measured is not None
    assert (measured.count, measured.marginal) == (500, "age (2 groups)×hired")
    assert measured.standard_error == pytest.approx(4 * math.sqrt(2))
    assert release.expected_stddev(Marginal(("hired",))) == pytest.approx(4 * math.sqrt(2) / 1000)
    assert (
        ask(release, "age in 0..3 and hired in 2020-01-01..2020-12-31").groups[0].measured is None
    )


def test_a_measured_query_speaks_of_its_own_cell_only() -> None:
    release = made_release()
    measured = ask(release, "sex = M and smoker = true").groups[0].measured
    assert measured is not None
    assert (measured.count, measured.standard_error) == (321.0, 2.0)
    assert ask(release, "sex = F and smoker = true").groups[0].measured is None
    by = ask(release, "smoker = true", by=("sex",))
    assert [group.measured is not None for group in by.groups] == [False, True]


@pytest.mark.parametrize(
    ("question", "certified"),
    [
        ("age in 0..3 and sex = F", True),
        ("age in 0..2 and sex = F", False),  # part of a cell
        ("age in 0..7 and sex = F", False),  # two cells
        ("sex = F and smoker = true", True),
        ("sex = F", False),  # not a query of the workload
        ("age <= 7 and smoker = true", True),  # a prefix
        ("age >= 4 and smoker = true", False),  # its complement is not
        ("age in 0..3 and sex = F or smoker = true", False),
    ],
)
def test_the_certificate_speaks_of_the_workload_alone(question: str, certified: bool) -> None:
    (group,) = ask(made_release(), question).groups
    assert group.certified_error == (40.0 if certified else None)


def test_methods_without_rows_answer_from_their_marginals() -> None:
    release = made_release(relaxed=False)
    assert release.workload_shares is not None
    table = release.workload_shares[0].reshape(3, 2)
    assert ask(release, "age in 0..5 and sex = M").share == pytest.approx(
        table[0, 1] + table[1, 1] / 2
    )
    by = ask(release, "age in 0..3", by=("sex",))
    assert [group.share for group in by.groups] == pytest.approx(table[0].tolist())
    with pytest.raises(WorkloadError, match="no marginal of it has all of"):
        ask(release, "age = 1 and smoker = true and sex = F")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("agee = 3", "column 'agee' is not in the schema. Did you mean 'age'?"),
        ("sex = X", "column 'sex' has no value 'X'. Its values are: F, M."),
        ("sex < F", "column 'sex' has no order: use =, != or in {…} instead of <."),
        ("sex is null", "column 'sex' is declared without missing values, so none can be null."),
        ("age = 12", "column 'age': nothing there lies in its declared domain, 0..11."),
        ("age = ten", "column 'age' holds whole numbers; 'ten' is none."),
        ("age = 1.5", "column 'age' holds whole numbers; '1.5' is none."),
        ("age in 9..3", "column 'age': the range 9..3 is empty. Put the smaller end first."),
        (
            "hired = 2020-13",
            "column 'hired' takes a date such as 2024-12-31, 2024-12 or 2024, not '2020-13'.",
        ),
        ("smoker = maybe", "column 'smoker' is true or false, not 'maybe'."),
        ("age = 3 sex = F", "cannot read the question at 'sex'"),
        ("age =", "cannot read the question at its end: expected a value for column 'age'"),
        ("age 3", "expected =, !=, <, <=, >, >=, in or is null after column 'age'"),
        ("age in 3", "expected a range such as age in 1..9"),
        ("(age = 3", "expected a closing parenthesis"),
        ("age in {1, 2", "expected a comma or a closing brace"),
        ("and", "expected a column"),
        ("age = 'x", "Is a quote left open?"),
        ("(" * 5000, "nested too deeply"),
    ],
)
def test_a_bad_question_gets_one_line_that_says_what_to_do(question: str, message: str) -> None:
    with pytest.raises(DprapError) as raised:
        ask(made_release(), question)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_question_with_too_many_cases_is_refused() -> None:
    tangled = " and ".join(
        f"(age = {a} or 'state of birth' = Oslo or smoker = true or hired = 2020-{a + 1:02d})"
        for a in range(11)
    )
    try:
        assert 0 <= ask(made_release(), tangled).share <= 1
    except WorkloadError as error:
        assert "cases" in str(error)  # noqa: PT017


def test_breakdowns_are_checked() -> None:
    with pytest.raises(WorkloadError, match="column 'nope' is not in the schema"):
        ask(made_release(), "", by=("nope",))
    with pytest.raises(WorkloadError, match="names a column twice"):
        ask(made_release(), "", by=("sex", "sex"))


def test_lines_and_data() -> None:
    answered = ask(made_release(), "age in 0..3", by=("sex",))
    lines = answered.lines()
    assert lines[0].split() == ["sex", "count", "share", "measured", "±", "s.e."]
    assert lines[1].startswith("F ")
    assert lines[3].startswith("all")
    assert any(
        line.startswith("certificate: with 95% confidence, each line is within 40.0")
        for line in lines
    )
    data = json.loads(json.dumps(answered.as_data()))
    assert data["groups"][0]["values"] == {"sex": "F"}
    assert data["groups"][0]["measured"]["standard_error"] == 5.0
    assert "not known" in ask(made_release(), "'state of birth' = elsewhere").lines()[-1]


def test_every_column_can_be_asked_for_by_its_labels() -> None:
    release = made_release()
    for name in SCHEMA.columns:
        assert sum(group.share for group in ask(release, "", by=(name,)).groups) == pytest.approx(
            1, abs=1e-5
        )


@pytest.mark.parametrize(
    "question",
    [
        "age = ٣",
        "age = ３",
        "age in 1..１0",
        "age = 1_0",
        "age = ' 3'",
        "hired = ٢٠٢٠",
        "hired = 2020-０1-01",
    ],
)
def test_digits_are_those_that_everybody_reads(question: str) -> None:
    with pytest.raises(WorkloadError):
        ask(made_release(), question)
