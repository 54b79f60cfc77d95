from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import dprap
from dprap.datasets import example, example_schema
from dprap.errors import DprapError, NotFittedError, SettingsError

TABLE = example(300, seed=1)
OPTIONS = {"epsilon": 1.0, "kway": 1, "method": "independent", "ledger": False}


def released() -> dprap.Release:
    return dprap.synthesize(TABLE, example_schema(), progress=False, **OPTIONS)


def test_the_package_lists_its_public_names_and_no_others() -> None:
    assert dir(dprap) == sorted(dprap.__all__)
    assert all(getattr(dprap, name) is not None for name in dir(dprap))


def test_a_release_shows_itself_in_five_lines() -> None:
    release = released()
    lines = repr(release).splitlines()
    assert len(lines) == 5
    assert "300 records in 14 columns" in lines[0]
    assert "differentially private" in lines[1]
    html = release._repr_html_()
    assert html.count("<br>") == 4
    assert "<script" not in html


def test_objects_show_themselves_in_terminals_and_notebooks() -> None:
    budget = dprap.Budget.of(epsilon=1.0, delta=1e-9)
    plan = dprap.plan(example_schema(), epsilon=1.0, records=300, kway=1)
    combined = dprap.combine([[1.0, 20.0], [1.2, 22.0]], [[0.04, 1.0], [0.04, 1.0]])
    shown = {
        "ε = 1, δ = 1e-09: ρ = ": budget,
        "14 columns": example_schema(),
        "guarantee": plan,
        "95% interval": combined,
    }
    for words, each in shown.items():
        assert words in repr(each)
        assert max(map(len, repr(each).splitlines())) <= 110
        assert each._repr_html_().startswith("<pre>")
    first, rest = budget.split(0.05, threshold_delta=1e-10)
    assert f"of {float(rest.whole_rho):.4g}" in repr(first)


def test_a_workload_shows_itself_in_a_line() -> None:
    shown = repr(dprap.marginals(SCHEMA, 2))
    assert shown.startswith("Workload of 91 families, ")
    assert shown.endswith(" queries: age×sex, age×region, age×education, …")


def test_a_release_shows_what_is_promised_and_not_who_vouches_for_it() -> None:
    from dataclasses import replace

    from dprap.schema.review_record import Vouch

    release = released()
    vouched = {"age": (Vouch(by="A", because="b", on="2026-01-01", settings=("min",)),)}
    schema = release.schema.model_copy(update={"vouched": vouched})
    promise = repr(replace(release, schema=schema)).splitlines()[1]
    assert promise.endswith("with respect to replacing one record")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dprap.Budget.of_rho("1", delta=1e-9), "rho must be a number, not str"),
        (lambda: dprap.Budget.of_rho(0.1, delta="x"), "delta must be a number, not str"),
        (
            lambda: dprap.Budget.of(epsilon=1.0, delta=1e-9).split([1], threshold_delta=0.0),
            "share must be a number, not list",
        ),
        (lambda: dprap.Schema.from_domain({"a": "5"}), "a whole number of codes"),
        (lambda: dprap.Schema.from_domain([("a", 5)]), "a whole number of codes"),
        (lambda: dprap.Schema.from_domain({"a": True}), "a whole number of codes"),
        (lambda: example_schema().label("agee", 1), "Did you mean 'age'"),
        (lambda: example_schema().label("age", 10**6), "has codes from 0 to 79"),
        (lambda: example_schema().label("age", -1), "code must be at least 0"),
        (lambda: example_schema().label("age", "1"), "code must be a whole number, not str"),
        (lambda: dprap.plan(example_schema(), epsilon=1.0, record=5), "Did you mean records"),
        (
            lambda: dprap.plan(
                example_schema(), epsilon=1.0, records=300, settings={"steps": "many"}
            ),
            "setting steps must be of the kind int, not str",
        ),
    ],
)
def test_what_python_hands_over_is_refused_in_one_line(call, says: str) -> None:
    with pytest.raises(DprapError, match=says) as raised:
        call()
    assert "\n" not in str(raised.value)
    assert "--" not in str(raised.value)


def test_a_synthesizer_keeps_the_contract_of_scikit_learn() -> None:
    from sklearn.base import clone  # takes two seconds to load

    model = dprap.Synthesizer(example_schema(), progress=False, **OPTIONS)
    with pytest.raises(NotFittedError, match="Call fit"):
        model.sample(3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy is not model
    assert len(model.fit(TABLE).sample(num_rows=7)) == 7
    assert not hasattr(clone(model), "release_")
    assert model.set_params(epsilon=2.0).get_params()["epsilon"] == 2.0
    with pytest.raises(SettingsError, match="there is no option 'epsilonn'"):
        dprap.Synthesizer(example_schema(), epsilon=1.0, epsilonn=3)
    # values are looked at when it is fitted
    wrong = dprap.Synthesizer(example_schema(), epsilon="1")
    with pytest.raises(SettingsError, match="epsilon must be a number, not str"):
        wrong.fit(TABLE)


@pytest.mark.parametrize(
    "workload",
    [
        [("age", "sex")],
        [["age", "sex"]],
        ["age", "sex"],
        dprap.Marginal(("age", "sex")),
        [dprap.Marginal(("age",))],
    ],
)
def test_columns_are_taken_wherever_a_workload_is_meant(workload: object) -> None:
    planned = dprap.plan(example_schema(), epsilon=1.0, records=300, workload=workload)
    assert 1 <= len(planned.workload) <= 2


@pytest.mark.parametrize("workload", [[("age", "sexx")], [()], [3], [(1, 2)]])
def test_a_workload_that_is_none_says_what_to_write(workload: object) -> None:
    with pytest.raises(DprapError) as caught:
        dprap.plan(example_schema(), epsilon=1.0, records=300, workload=workload)
    assert "--" not in str(caught.value)


def test_progress_is_a_choice() -> None:
    seen: list[object] = []
    dprap.synthesize(TABLE, example_schema(), progress=seen.append, **OPTIONS)
    assert seen
    dprap.synthesize(TABLE, example_schema(), progress=True, **OPTIONS)
    with pytest.raises(SettingsError, match="progress must be True, False or a function"):
        dprap.synthesize(TABLE, example_schema(), progress="yes", **OPTIONS)


def test_questions_take_one_column_or_several() -> None:
    release = released()
    assert release.ask("sex = female", by="region").by == ("region",)
    assert release.ask("sex = female", by=["region"]).by == ("region",)


SCHEMA = example_schema()
WRONG = {
    "load a number": (lambda _: dprap.load(5), "the folder of a release must be a path, not int"),  # type: ignore[arg-type]
    "load None": (lambda _: dprap.load(None), "must be a path, not NoneType"),  # type: ignore[arg-type]
    "load bytes": (lambda _: dprap.load(b"x"), "must be a path, not bytes"),  # type: ignore[arg-type]
    "load nothing": (lambda _: dprap.load(""), "must be a path, not an empty text"),
    "schema": (lambda _: dprap.Schema.load(5), "a schema's file must be a path"),  # type: ignore[arg-type]
    "save schema": (lambda _: SCHEMA.save(None), "a schema's file must be a path"),  # type: ignore[arg-type]
    "resume": (lambda _: dprap.resume(None), "must be a path, not NoneType"),  # type: ignore[arg-type]
    "save": (lambda release: release.save(5), "the folder to save to must be a path"),
    "report": (lambda release: release.report(5), "the report's file must be a path"),
    "papers": (lambda release: release.statement(5), "the folder of the papers must be a path"),
    "method": (
        lambda _: dprap.plan(SCHEMA, epsilon=1.0, records=300, method=len),
        "method must be the name of a method, not builtin_function_or_method",
    ),
    "out": (
        lambda _: dprap.synthesize(TABLE, SCHEMA, epsilon=1.0, out=5),  # type: ignore[arg-type]
        "out must be a path, not int",
    ),
    "epsilon": (
        lambda _: dprap.Budget.of(epsilon="1", delta=1e-6),  # type: ignore[arg-type]
        "epsilon must be a number, not str. Write it without quotes: epsilon=1.",
    ),
    "delta": (
        lambda _: dprap.Budget.of(epsilon=1.0, delta=None),  # type: ignore[arg-type]
        "delta must be a number, not NoneType",
    ),
    "accounting": (
        lambda _: dprap.Budget.of(epsilon=1.0, delta=1e-6, accounting="loose"),  # type: ignore[arg-type]
        "accounting must be one of exact, tight, paper",
    ),
    "rows": (lambda _: example("5"), "rows must be a whole number, not str"),  # type: ignore[arg-type]
    "rows below": (lambda _: example(-1), "rows must be at least 0"),
    "seed": (lambda _: example(5, seed="a"), "seed must be a whole number"),  # type: ignore[arg-type]
    "marginal": (lambda _: dprap.Marginal(5), "a marginal takes a tuple of columns"),  # type: ignore[arg-type]
    "numbers": (lambda _: dprap.Marginal([1]), "a marginal takes a tuple of columns"),  # type: ignore[arg-type, list-item]
    "one column": (lambda _: dprap.Marginal("age"), r"a tuple of columns: \('age',\)"),  # type: ignore[arg-type]
    "workload": (lambda _: dprap.Workload(SCHEMA.domain, 5), "a workload takes a list"),  # type: ignore[arg-type]
    "query": (
        lambda _: dprap.Custom("x", "age", len),  # type: ignore[arg-type]
        r"a custom query takes a tuple of columns: \('age',\)",
    ),
    "function": (lambda _: dprap.Custom("x", ("age",), 5), "a function of one row"),  # type: ignore[arg-type]
    "rho": (
        lambda _: dprap.Budget.of_rho(0.1, delta=1e-6, accounting=None),
        "accounting must be one",
    ),  # type: ignore[arg-type]
    "limit": (lambda _: dprap.marginals(SCHEMA, 1, max_cells="x"), "max_cells must be a whole"),  # type: ignore[arg-type]
    "small limit": (
        lambda _: dprap.Workload(SCHEMA.domain, (dprap.Marginal(("age",)),), max_cells=5),
        r"raise the limit \(max_cells\)",
    ),
    "weights": (
        lambda _: dprap.Workload(SCHEMA.domain, (dprap.Marginal(("age",)),), weights=["x"]),  # type: ignore[arg-type]
        "the weight of age must be a positive number",
    ),
    "no weights": (
        lambda _: dprap.Workload(SCHEMA.domain, (dprap.Marginal(("age",)),), weights=None),  # type: ignore[arg-type]
        "the weights of a workload are a list of numbers",
    ),
    "known": (lambda _: dprap.draft_schema(TABLE, known=5), "known must be a mapping, not int"),  # type: ignore[arg-type]
    "csv": (lambda _: dprap.draft_schema(TABLE, csv=[1]), "csv must be a mapping, not list"),  # type: ignore[arg-type]
    "label": (lambda _: SCHEMA.label([1], 1), "a column is named by a text, not list"),  # type: ignore[arg-type]
    "ledger": (
        lambda _: dprap.Ledger(None, neighbors=dprap.Neighbors()),  # type: ignore[arg-type]
        "the ledger's file must be a path, not NoneType",
    ),
    "neighbors": (lambda _: dprap.Ledger("l", neighbors=5), "neighbors must be dprap.Neighbors"),  # type: ignore[arg-type]
    "create": (
        lambda _: dprap.Ledger("l", neighbors=dprap.Neighbors(), create="no"),  # type: ignore[arg-type]
        "create must be true or false, not str",
    ),
    "cap": (
        lambda _: dprap.Ledger("l", neighbors=dprap.Neighbors(), cap_rho="1"),  # type: ignore[arg-type]
        "cap_rho must be a number, not str. Write it without quotes: cap_rho=1.",
    ),
    "language": (lambda release: release.report(language=[1]), "a language is its code"),
    "table format": (
        lambda release: release.table(format=[1]),
        "the format of a table must be one of pandas, polars, arrow, not list",
    ),
    "papers' table": (
        lambda release: release.statement("papers", table=5),
        "the file of the table must be a path, not int",
    ),
    "targets": (
        lambda release: release.evaluate(TABLE, targets=5),
        "targets must be the name of a column, or a list of names",
    ),
    "chunk rows": (lambda release: release.chunks(0), "rows must be at least 1"),
    "chunk seed": (lambda release: release.chunks(5, seed="x"), "seed must be a whole number"),
    "level": (lambda _: dprap.combine([1, 2], [1, 1], level="x"), "level must be a number"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_types_get_one_line_in_the_words_of_python(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(DprapError, match=message) as caught:
        call(released())
    assert "--" not in str(caught.value)


def test_numbers_of_numpy_have_all_digits_of_the_accounting() -> None:
    short = np.float32(0.1)
    for made in (dprap.Budget.of, lambda **k: dprap.Budget.of_rho(k["epsilon"], delta=k["delta"])):
        assert made(epsilon=short, delta=1e-9) == made(epsilon=float(short), delta=1e-9)


def test_yes_and_no_may_be_true_and_false() -> None:
    options = OPTIONS | {"kway": 1}
    without = dprap.synthesize(TABLE, SCHEMA, progress=False, intervals=False, **options)
    assert without.errors is None
    with pytest.raises(SettingsError, match="intervals must be one of yes, no"):
        dprap.synthesize(TABLE, SCHEMA, progress=False, intervals=1, **options)


def test_a_statistic_has_a_value_over_all_groups() -> None:
    release = released()
    means = release.ask("mean age by sex")
    assert means.all is not None
    assert means.value == means.all.value
    assert means.interval == means.all.interval
    assert release.ask("histogram of age").value is None


def test_a_name_with_spaces_is_asked_for_in_quotes_and_the_message_says_so() -> None:
    schema = dprap.Schema.of(
        {
            "columns": {
                "pay (EUR)": {"type": "integer", "min": 0, "max": 9},
                "sex": {"type": "categorical", "values": ["f", "m"]},
            }
        }
    )
    table = {"pay (EUR)": [1, 2, 3] * 40, "sex": ["f", "m", "f"] * 40}
    release = dprap.synthesize(pa.table(table), schema, progress=False, **OPTIONS)
    for question in ("pay (EUR) > 3", "mean pay (EUR) by sex", "sex = f and pay (EUR) = 2"):
        with pytest.raises(DprapError, match=r"needs it in quotes: 'pay \(EUR\)'"):
            release.ask(question)
    assert release.ask("'pay (EUR)' > 3").count >= 0
    assert release.ask("mean 'pay (EUR)' by sex").value is not None
    with pytest.raises(DprapError, match="expected"):
        release.ask("'pay (EUR)' >")
