"""A plan before anything is spent, from Python and from the command line alike."""

import json

import pandas as pd
import pytest
from tests.cli.driving import in_process

import dprap
from dprap.datasets import example_schema
from dprap.errors import BudgetError, SettingsError, WorkloadError

RAP = {
    "method": "rap",
    "kway": 2,
    "settings": {"rounds": 2, "queries_per_round": 3, "synthetic_rows": 20},
}


def test_python_and_the_command_line_plan_alike(tmp_path, monkeypatch, capsys):
    from dprap.runs.describe import plan_data

    example_schema().save(tmp_path / "s.yaml")
    shown = in_process(
        monkeypatch, capsys, "plan", str(tmp_path / "s.yaml"), "-e", "1", "--records", "900", "--method", "rap", "--kway",
        "2", "--rounds", "2", "--set", "queries-per-round=3", "--set", "synthetic_rows=20", "--json",
    )  # fmt: skip
    planned = dprap.plan(tmp_path / "s.yaml", epsilon=1.0, records=900, **RAP)
    assert json.loads(shown.out) == plan_data(planned)
    assert planned.forecast.steps[-1].label == "accuracy certificate"
    assert repr(planned).startswith("method      rap: ")
    assert "records     900" in repr(planned)


def test_what_a_plan_refuses_is_said_in_the_words_of_python():
    with pytest.raises(BudgetError, match="for example delta=1e-9"):
        dprap.plan(example_schema(), epsilon=1.0)
    with pytest.raises(SettingsError, match="records must be at least 1"):
        dprap.plan(example_schema(), epsilon=1.0, records=0)
    with pytest.raises(SettingsError, match="kway/marginals, not both"):
        dprap.plan(
            example_schema(),
            epsilon=1.0,
            records=9,
            kway=2,
            workload=dprap.marginals(example_schema(), 2),
        )
    with pytest.raises(
        SettingsError, match="workload must be a Workload, a list of marginals, or the path"
    ):
        dprap.plan(example_schema(), epsilon=1.0, records=9, workload=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rounds", "--set takes NAME=VALUE"),
        ("=3", "--set takes NAME=VALUE"),
        ("rounds=many", "setting rounds must be of the kind int, not str"),
        ("rounds=2.5", "setting rounds must be of the kind int, not float"),
        ("rounds=true", "setting rounds must be of the kind int, not bool"),
        ("noise_floor=[1]", "setting noise_floor must be of the kind float, not list"),
        ("magic=1", "no setting 'magic'"),
        ("rounds=0", "rounds must be at least 1"),
    ],
)
def test_settings_on_the_command_line_are_checked(tmp_path, monkeypatch, capsys, text, message):
    example_schema().save(tmp_path / "s.yaml")
    arguments = (
        "plan",
        str(tmp_path / "s.yaml"),
        "-e",
        "1",
        "--rows",
        "900",
        "--method",
        "rap",
        "--set",
        text,
    )
    done = in_process(monkeypatch, capsys, *arguments)
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert message in done.err
    twice = in_process(monkeypatch, capsys, *arguments[:-1], "rounds=2", "--rounds", "2")
    assert "is given twice" in twice.err


def test_small_tables_fall_back_to_marginals_that_fit():
    schema = {"a": 20, "b": 20, "c": 20}
    assert {len(m.columns) for m in dprap.plan(schema, epsilon=1.0, records=9000).workload} == {3}
    assert {len(m.columns) for m in dprap.plan(schema, epsilon=1.0, records=500).workload} == {2}
    assert {len(m.columns) for m in dprap.plan(schema, epsilon=1.0, records=30).workload} == {1}


def test_a_plan_says_that_it_fell_back():
    plan = dprap.plan({"a": 20, "b": 20, "c": 20}, epsilon=1.0, records=500, marginals=2)
    assert {len(m.columns) for m in plan.workload} == {2}
    assert "2-way instead of 3-way marginals: no 3-way marginal has at most 500 cells" in repr(plan)
    with pytest.raises(WorkloadError, match=r"2-way marginals by kway=2, raise .* max_cells=8000"):
        dprap.plan({"a": 20, "b": 20, "c": 20}, epsilon=1.0, records=500, kway=3)
    with pytest.raises(WorkloadError, match="max_cells=8000"):
        dprap.marginals(plan.schema, 3, max_cells=500)


def test_a_plan_bounds_the_queries_where_a_run_finds_intervals():
    columns = {
        "bill": {"type": "number", "min": 0, "max": 5000, "nullable": True},
        "kind": {"type": "categorical", "values": ["a", "b"]},
    }
    private = {"bill": [float(i % 70) for i in range(400)], "kind": ["a", "b"] * 200}
    given = {"epsilon": 1.0, "method": "independent", "kway": 2}
    plan = dprap.plan({"columns": columns}, records=400, **given)
    assert f"1 family, at most {plan.workload.queries:,} queries: fewer where" in repr(plan)
    release = dprap.synthesize(pd.DataFrame(private), {"columns": columns}, **given)
    assert release.workload.queries < plan.workload.queries
    declared = dprap.plan({"a": 20, "b": 20}, records=400, **given)
    assert "1 family, 400 queries" in repr(declared)


def test_a_tuple_of_names_is_no_workload():
    sizes = {"a": 2, "b": 3}
    with pytest.raises(
        WorkloadError, match=r"one marginal or 2. Write \[\('a', 'b'\)\] for one, \['a'"
    ):
        dprap.plan(sizes, epsilon=1.0, records=500, workload=("a", "b"))
    for given, queries in ((["a", "b"], 5), ([("a", "b")], 6), (("a",), 2)):
        plan = dprap.plan(sizes, epsilon=1.0, records=500, workload=given)
        assert plan.workload.queries == queries


def test_a_default_workload_asks_for_pairs_that_no_three_columns_leave_room_for():
    """2 · 30 · 40 cells are too many, and so are 5 · 30 · 40; 30 · 40 of them are not."""
    sizes = {"sex": 2, "ward": 5, "age": 30, "score": 40}
    schema = {name: {"type": "integer", "min": 0, "max": n - 1} for name, n in sizes.items()}
    planned = dprap.plan({"columns": schema}, epsilon=1.0, records=2_000)
    asked = [set(family.columns) for family in planned.workload]
    assert asked == [{"sex", "ward", "age"}, {"sex", "ward", "score"}, {"age", "score"}]
    assert "with at most 2,000 cells, and 1 2-way ones that are part of none" in " ".join(
        planned.notes
    )
    # what is asked for is what is answered
    asked_for = dprap.plan({"columns": schema}, epsilon=1.0, records=2_000, kway=3)
    assert [len(family.columns) for family in asked_for.workload] == [3, 3]
