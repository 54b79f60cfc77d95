"""What the pages do to files: the same as the command line, and nothing that was not asked for."""

import json
import shlex
import time

import pytest
from tests.docs.pages import DOCS
from tests.studio.conftest import Browser, said
from typer.testing import CliRunner

from dprap.cli.app import app
from dprap.datasets import example_schema
from dprap.runs.discover import plan_run
from dprap.runs.first_records import preview
from dprap.runs.options import RunOptions
from dprap.runs.outlook import beliefs, cell_outlook, weighted_workload
from dprap.runs.plan import make_plan
from dprap.runs.schema_files import ChangedMeanwhileError, change_schema, drop_column, version_of
from dprap.schema import Schema
from dprap.schema.files import suggestions_in
from dprap.schema.review import to_review
from dprap.studio import commands, forms, tasks
from dprap.studio.views import texts

SAID = texts()["forms"]


def schema_of(browser):
    return Schema.load(browser.folder / "people.schema.yaml")


def version(browser):
    return version_of(browser.folder / "people.schema.yaml")


def wait_for_task(browser):
    table = browser.workspace.table(browser.table.rpartition("/")[2])
    for _ in range(600):
        task = tasks.last_task(browser.workspace, table)
        if task is not None and not task.is_running:
            return
        time.sleep(0.1)
    raise AssertionError("the task goes on")


def as_draft(browser, names=None):
    """The example's schema as a draft would be: its bounds and values taken from the data."""
    mapping = example_schema().as_mapping()
    notes = {
        name: {
            "reason": "seen",
            "from_data": [key for key in ("min", "max", "values") if key in column],
        }
        for name, column in mapping["columns"].items()
        if names is None or name in names
    }
    notes["age"] |= {"question": "Is 99 a code?"}
    draft = Schema.of(mapping | {"draft": True, "draft_notes": notes})
    draft.save(
        browser.folder / "people.schema.yaml",
        suggestions=["- {type: order, smaller: age, larger: income}"],
    )


def column_form(browser, position=0, **fields):
    name = list(schema_of(browser).columns)[position]
    return {"name": name, "version": version(browser), "do": "save", **fields}


def test_a_draft_is_lifted_only_when_every_column_has_been_read(described):
    as_draft(described)
    table = described.table
    page = said(described.get(f"{table}/schema"))
    assert "14 of 14 columns" in page
    assert "1 of them have a question" in page
    assert "Question: Is 99 a code?" in page
    assert "from the data: min, max" in page
    assert (
        described.post(f"{table}/schema/accept", {"version": version(described)}).status_code == 422
    )
    assert (
        described.post(
            f"{table}/schema/vouch", {"version": version(described), "because": " "}
        ).status_code
        == 422
    )
    described.post(
        f"{table}/schema/vouch", {"version": version(described), "because": "a law", "by": "A. Lee"}
    )
    assert "Every column has been read" in said(described.get(f"{table}/schema"))
    assert schema_of(described).is_draft
    described.post(
        f"{table}/schema/accept", {"version": version(described)}, follow_redirects=False
    )
    schema = schema_of(described)
    assert not schema.is_draft
    assert not schema.draft_notes
    assert (
        schema.vouched["age"]
        .sentence("age")
        .startswith("A. Lee vouches that min, max of 'age' are public: a law")
    )


def test_the_review_is_that_of_the_command_line_and_either_goes_on_with_it(described):
    """The studio once kept who vouches in its own memory, without the settings, and forgot what a
    draft suggests.
    """
    as_draft(described, names=("age", "sex", "smoker"))
    path = described.folder / "people.schema.yaml"
    loaded = Schema.load(path)
    position = list(loaded.columns).index("age")
    column = loaded.as_mapping()["columns"]["age"]
    fields = {
        "type": "integer",
        "min": str(column["min"]),
        "max": "110",
        "binning": "each",
        "out_of_domain": "error",
    }
    form = column_form(described, position, **fields) | {
        "do": "vouch",
        "by": "A. Lee",
        "because": "a law",
    }
    answered = described.post(f"{described.table}/schema/{position}", form | {"because": ""})
    assert answered.status_code == 422
    assert f'id="c{position}-because-error"' in answered.text
    assert described.post(f"{described.table}/schema/{position}", form).status_code == 200
    first = Schema.load(path)
    assert first.vouched["age"].settings == ("min",)  # the person wrote the maximum
    assert to_review(first) == ["sex", "smoker"]
    assert suggestions_in(path) == ("- {type: order, smaller: age, larger: income}",)
    result = CliRunner().invoke(
        app, ["schema", "review", str(path), "--by", "B", "--because", "code book", "--accept-all"]
    )
    assert result.exit_code == 0
    finished = Schema.load(path)
    assert not finished.is_draft
    assert (finished.vouched["age"].by, finished.vouched["sex"].by) == ("A. Lee", "B")
    assert "Public because: a law (A. Lee" in said(described.get(f"{described.table}/schema"))


def test_constraints_are_declared_between_two_columns_or_taken_from_the_draft(described):
    as_draft(described, names=("age",))
    table, before = described.table, len(schema_of(described).constraints)
    assert "age is at most income" in said(described.get(f"{table}/schema"))
    described.post(f"{table}/schema/constraint", {"version": version(described), "suggestion": "0"})
    assert schema_of(described).constraints[-1].type == "order"
    assert suggestions_in(described.folder / "people.schema.yaml") == ()
    form = {"relation": "null_when", "column_a": "income", "column_b": "age", "values_b": "0..15"}
    answered = described.post(f"{table}/schema/constraint", form | {"version": version(described)})
    assert "income is missing where age = 0..15" in said(answered)
    missing = described.post(
        f"{table}/schema/constraint", form | {"values_b": "", "version": version(described)}
    )
    assert 'id="values_b-error"' in missing.text
    order = {"relation": "order", "column_a": "age", "column_b": "age"}
    answered = described.post(f"{table}/schema/constraint", order | {"version": version(described)})
    assert 'id="column_b-error"' in answered.text
    assert len(schema_of(described).constraints) == before + 2
    position = list(schema_of(described).columns).index("income")
    described.post(f"{table}/schema/{position}", column_form(described, position) | {"do": "drop"})
    assert "income" not in schema_of(described).columns
    assert all("income" not in str(each) for each in schema_of(described).constraints)


def test_metadata_of_other_tools_win_in_a_new_draft(described):
    book = b"column,type,min,max\nage,integer,0,120\n"
    assert (
        described.upload(
            "book.csv", b"column,type\nnobody,integer\n", path=f"{described.table}/schema/import"
        ).status_code
        == 422
    )
    answered = described.upload("book.csv", book, path=f"{described.table}/schema/import")
    assert answered.status_code == 200
    wait_for_task(described)
    drafted = schema_of(described)
    assert drafted.is_draft
    assert (drafted.columns["age"].min, drafted.columns["age"].max) == (0, 120)
    assert drafted.draft_notes["age"].reason.startswith("known from elsewhere")


def test_a_card_changes_what_it_asks_for_and_keeps_the_rest(described):
    fields = {
        "type": "integer",
        "min": "0",
        "max": "120",
        "binning": "width",
        "bin_value": "5",
        "out_of_domain": "clip",
    }
    assert (
        described.post(f"{described.table}/schema/0", column_form(described, **fields)).status_code
        == 200
    )
    changed = schema_of(described).as_mapping()
    assert changed["columns"]["age"] == {
        "type": "integer", "min": 0, "max": 120, "width": 5, "out_of_domain": "clip", "storage": "int32",
    }  # fmt: skip
    assert changed["constraints"] == example_schema().as_mapping()["constraints"]
    assert {**changed["columns"], "age": 0} == {
        **example_schema().as_mapping()["columns"],
        "age": 0,
    }


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"type": "integer", "min": "x", "max": "9"}, "min"),
        ({"type": "integer", "min": "0", "max": "1e999"}, "max"),
        ({"type": "integer", "min": "9", "max": "1"}, None),
        (
            {"type": "integer", "min": "0", "max": "9", "binning": "bins", "bin_value": "many"},
            "bin_value",
        ),
        (
            {"type": "number", "min": "0", "max": "9", "binning": "bins", "bin_value": "-1"},
            "bin_value",
        ),
        ({"type": "date", "min": "yesterday", "max": "2024-01-01"}, "min"),
        ({"type": "categorical", "values": ""}, "values"),
        ({"type": "complex"}, "type"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_is_saved(described, fields, field):
    before = version(described)
    answered = described.post(f"{described.table}/schema/0", column_form(described, **fields))
    assert answered.status_code == 422
    assert version(described) == before
    if field is not None:
        assert f'id="c0-{field}-error"' in answered.text


def test_a_window_that_is_behind_changes_nothing(described):
    path = described.folder / "people.schema.yaml"
    old = version(described)
    change_schema(path, old, drop_column("smoker"))
    with pytest.raises(ChangedMeanwhileError, match="elsewhere"):
        change_schema(path, old, drop_column("age"))
    fields = column_form(described, type="boolean") | {"version": old}
    assert described.post(f"{described.table}/schema/0", fields).status_code in (409, 422)
    assert "age" in schema_of(described).columns


def test_the_plan_needs_no_data_and_says_what_the_accounting_says(described):
    (described.folder / "people.csv").write_bytes(b"\x00 not a table")  # nobody reads it
    form = {"epsilon": "1", "records": "20000", "neighbors": "replace", "kway": "2"}
    words = said(described.post(f"{described.table}/plan/figures", form))
    plan = make_plan(example_schema(), RunOptions(epsilon=1.0, kway=2), records=20_000)
    assert f"ρ = {float(plan.budget.rho):.3g}" in words
    assert "73.2%" in words  # docs/epsilon.md: 50 % becomes at most 73.2 % at ε = 1
    assert "nothing was spent on this data set before" in words


def test_beliefs_are_those_of_the_documentation():
    page = (DOCS / "epsilon.md").read_text(encoding="utf-8")
    for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0):
        shown = dict(beliefs(epsilon))
        assert list(shown) == ["1%", "10%", "50%"]
        row = f"| {epsilon:g} | {shown['1%']} | {shown['50%']} |".replace("%", " %")
        assert row in page
        assert "100" not in shown.values()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": ""}, "epsilon"),
        ({"epsilon": "nan"}, ""),
        ({"delta": "2"}, "delta"),
        ({"records": "-3"}, "records"),
        ({"records": ""}, "delta"),
        ({"neighbors": "add-remove"}, "delta"),
        ({"max_rows_per_person": "0"}, ""),
        ({"method": "../x"}, ""),
        ({"rows": "0"}, "rows"),
        ({"ledger_cap_rho": "x"}, "ledger_cap_rho"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_its_field(described, fields, field):
    form = {"epsilon": "1", "records": "300", "neighbors": "replace"} | fields
    answered = described.post(f"{described.table}/plan", form, follow_redirects=False)
    assert answered.status_code == 422
    if field:
        assert f'id="{field}-error"' in answered.text


def test_the_command_that_runs_is_the_one_that_is_shown(described):
    form = {
        "epsilon": "0.5",
        "records": "300",
        "neighbors": "replace",
        "target": "income",
        "weight-1": "0",
    }
    described.post(f"{described.table}/plan", form | {"person_column": "--help; rm -rf ~"})
    page = described.get(f"{described.table}/run")
    table = described.workspace.tables()[0]
    options = {
        "epsilon": 0.5,
        "person_column": "--help; rm -rf ~",
        "neighbors": "replace",
        "workload": "./people.workload.yaml",
    }
    arguments = commands.synth(
        described.workspace, table, options, described.folder / "people-release"
    )
    assert shlex.split(commands.shown(arguments)) == ["dprap", *arguments]
    assert "--person-column=--help; rm -rf ~" in arguments  # one word, whatever it says
    assert "--epsilon=0.5" in page.text
    assert (described.folder / "people.workload.yaml").exists()
    # looking at figures writes nothing
    before = version_of(described.folder / "people.workload.yaml")
    described.post(f"{described.table}/plan/figures", form | {"weight-2": "4"})
    assert version_of(described.folder / "people.workload.yaml") == before


def test_a_run_starts_only_as_it_was_shown(described):
    form = {"epsilon": "0.5", "records": "300", "neighbors": "replace"}
    described.post(f"{described.table}/plan", form)
    shown = described.get(f"{described.table}/run").text
    digest = shown.partition('name="digest" value="')[2].partition('"')[0]
    described.post(f"{described.table}/plan", form | {"epsilon": "5"})
    assert (
        described.post(f"{described.table}/run", {"digest": digest, "agree": "yes"}).status_code
        == 409
    )
    assert described.post(f"{described.table}/run", {"digest": digest}).status_code == 422
    assert not list(described.folder.glob("*.private"))
    assert not list(described.folder.glob("*.dprap"))


def test_a_password_is_refused_and_never_shown_or_kept(browser):
    form = {
        "address": "postgresql://steward:HUSH@db/x",
        "database_table": "public.people",
        "name": "people",
    }
    answered = browser.post("/database", form)
    assert answered.status_code == 422
    assert "HUSH" not in answered.text
    assert [path.name for path in browser.folder.iterdir()] == [".dprap-studio"]
    answered = browser.post("/database", form | {"address": "postgresql://steward@db/x"})
    assert answered.status_code == 200
    (kept,) = browser.folder.glob("*/*.database.json")
    assert json.loads(kept.read_text())["table"] == "public.people"
    assert kept.stat().st_mode & 0o077 == 0


def test_nothing_private_is_in_titles(described):
    for page in ("table", "schema", "plan", "run", "release", "ledger"):
        text = described.get(f"{described.table}/{page}").text
        title = text.partition("<title>")[2].partition("</title>")[0]
        assert title == f"{page.capitalize()} · dprap studio"


def test_an_unexpected_failure_shows_and_logs_no_value(described, monkeypatch):
    from dprap.studio import serve
    from dprap.studio.pages import table as page

    monkeypatch.setattr(
        page, "preview", lambda *_: (_ for _ in ()).throw(RuntimeError("SECRET 42"))
    )
    answered = described.new_client(raise_server_exceptions=False).get(
        f"/?token={described.keys.token}"
    )
    quiet = described.new_client(raise_server_exceptions=False)
    quiet.cookies = described.client.cookies
    answered = quiet.get(f"{described.table}/table")
    assert answered.status_code == 500
    assert "SECRET" not in answered.text
    assert "SECRET" not in serve.where(RuntimeError("SECRET 42"))


def test_a_weighted_workload_keeps_every_column_in_the_table():
    plan = make_plan(example_schema(), RunOptions(epsilon=1.0, kway=2), records=20_000)
    workload = weighted_workload(plan, {"smoker": 0.0, "age": 2.0}, "income")
    by_columns = {
        family.columns: weight
        for family, weight in zip(workload.families, workload.weights, strict=True)
    }
    assert by_columns[("smoker",)] == 1.0
    assert by_columns[("age", "income")] == 8.0
    assert by_columns[("age", "sex")] == 2.0
    assert not any("smoker" in columns and len(columns) > 1 for columns in by_columns)
    assert cell_outlook(plan, ("age", "income")).verdict == "noise"
    assert cell_outlook(plan, ("sex",)).verdict == "good"


def test_a_look_at_a_long_file_reads_its_beginning(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + 'x,"y\nz"\n' * 60_000 + 'broken"quote\n')
    seen = preview(path, None, rows=2)
    assert seen.names == ("a", "b")
    assert seen.rows == (("x", "y\\nz"), ("x", "y\\nz"))
    assert [each.name for each in tmp_path.iterdir()] == ["long.csv"]


def test_a_column_of_a_form_round_trips():
    for column in example_schema().as_mapping()["columns"].values():
        how, value = forms.bins_of(column)
        form = {
            "type": column["type"],
            "values": "\n".join(map(str, column.get("values", []))),
            "binning": how,
            "bin_value": value,
            "out_of_domain": column.get("out_of_domain", "other" if "other" in column else "error"),
            "nullable": "yes" if column.get("nullable") else "",
            **{
                key: str(column[key])
                for key in ("min", "max", "unit", "timezone", "decimals", "other")
                if key in column
            },
        }
        again, errors = forms.column_of(form, column, SAID)
        assert errors == {}
        assert Schema.of({"columns": {"x": again}}) == Schema.of({"columns": {"x": column}})


def test_a_column_of_a_type_without_a_form_keeps_all_that_the_form_does_not_ask_for():
    column = {"type": "clock", "width": 60, "nullable": True}
    form = {"type": "clock", "description": "when", "out_of_domain": "clip"}
    again, errors = forms.column_of(form, column, SAID)
    assert errors == {}
    assert again == {"type": "clock", "width": 60, "description": "when", "out_of_domain": "clip"}
    assert forms.offered("clock")["types"] == (*forms.TYPES, "clock")
    assert forms.column_of(form, {"type": "integer"}, SAID)[1] == {"type": SAID["type"]}


def test_other_folders_are_refused(tmp_path):
    from dprap.errors import SettingsError

    with pytest.raises(SettingsError, match="not a folder"):
        Browser(tmp_path / "nowhere")


def test_domains_that_the_run_is_to_find_are_planned_and_confirmed_with_the_whole_budget(described):
    """Such a schema once had no plan in the studio."""
    path = described.folder / "people.schema.yaml"
    mapping = example_schema().as_mapping()
    columns = {
        "age": mapping["columns"]["age"],
        "region": {"type": "categorical", "domain": "discover"},
    }
    others = [name for name in mapping["columns"] if name not in columns]
    Schema.of({"columns": columns, "ignore_columns": others}).save(path)
    assert "region" in said(described.get(f"{described.table}/schema"))
    form = {"epsilon": "1", "records": "20000", "neighbors": "replace", "method": "independent"}
    words = said(described.post(f"{described.table}/plan/figures", form))
    assert "for 5.0% of ρ" in words
    assert "in 95% of all runs" in words
    whole = plan_run(Schema.load(path), RunOptions(epsilon=1.0), records=20_000).budget.whole_rho
    described.post(f"{described.table}/plan", form)
    assert f"{float(whole):.4g}" in said(described.get(f"{described.table}/run"))
