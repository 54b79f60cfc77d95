"""What a release does when it is used in Python: tables of answers, papers and comparisons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.release.made import made_release

import dprap
from dprap.datasets import example, example_schema
from dprap.errors import DprapError, SettingsError, WorkloadError


@pytest.mark.parametrize(
    "columns", ["age", ("sex", "age"), ["age", "hired"], dprap.Marginal(("smoker", "sex"))]
)
def test_an_answer_is_a_table_with_labels_in_the_marginals_own_order(columns: object) -> None:
    release = made_release()
    found = release.answer(columns)
    marginal = columns if isinstance(columns, dprap.Marginal) else dprap.queries.as_family(columns)
    assert list(found)[: len(marginal.columns)] == list(marginal.columns)
    np.testing.assert_allclose(found["share"], release.shares(marginal)[0], rtol=1e-6)
    np.testing.assert_allclose(found["count"], found["share"] * 1000)
    for _, line in found.iterrows():
        parts = [f"'{name}' {_written(line[name])}" for name in marginal.columns]
        assert release.ask(" and ".join(parts)).count == pytest.approx(line["count"], abs=1e-3)


def _written(label: str) -> str:
    if label == "missing":
        return "is null"
    return f"in {label}" if ".." in label else f"= '{label}'"


def test_answers_need_a_marginal_and_say_so() -> None:
    for wrong in (3, (), dprap.queries.Range.prefixes(("age", "smoker"), cumulative=("age",))):
        with pytest.raises(WorkloadError, match="marginal"):
            made_release().answer(wrong)
    with pytest.raises(DprapError, match="agee"):
        made_release().answer("agee")


def test_a_column_called_like_a_figure_is_not_overwritten() -> None:
    values = {"type": "categorical", "values": ["a", "b"]}
    names = ("count", "low", "mean", "records")
    number = {"type": "integer", "min": 0, "max": 3}
    rng = np.random.default_rng(0)
    table = {name: rng.choice(["a", "b"], 50) for name in names} | {"age": rng.integers(0, 4, 50)}
    release = dprap.synthesize(
        pd.DataFrame(table),
        {"columns": dict.fromkeys(names, values) | {"age": number}},
        epsilon=1.0,
        kway=1,
        method="independent",
        insecure_noise_seed=1,
        intervals=False,
    )
    for asked in (
        lambda: release.answer("count"),
        lambda: release.answer("age, low"),
        lambda: release.ask("age = 2", by="count").frame(),
        lambda: release.ask("mean age by records").frame(),
        lambda: release.ask("mean age", by="mean").frame(),
    ):
        with pytest.raises(
            WorkloadError, match=r"column '\w+': the table of an answer has a figure"
        ):
            asked()
    groups = release.ask("age = 2", by="count").as_data()["groups"]
    assert [group["values"] for group in groups] == [{"count": "a"}, {"count": "b"}]
    assert list(release.answer("mean")["mean"]) == ["a", "b"]


def test_questions_show_themselves_and_become_tables() -> None:
    release = made_release()
    answered = release.ask("age in 2..5", by="sex")
    assert repr(answered) == "\n".join(answered.lines())
    assert "&lt;" not in answered._repr_html_()
    frame = answered.frame()
    assert list(frame["sex"]) == ["F", "M"]
    assert frame["count"].sum() == pytest.approx(answered.count)
    means = release.ask("mean age by sex")
    assert list(means.frame()) == [
        "sex",
        "mean",
        "records",
        "standard_error",
        "low",
        "high",
        "basis",
    ]
    assert repr(means).splitlines()[0].startswith("sex")
    assert list(release.ask("histogram age").frame())[:2] == ["age", "histogram"]


def test_conditions_may_be_written_as_text() -> None:
    release = made_release()
    by_text = release.table(300, where="sex = F and age in 2..5", format="arrow")
    assert by_text.equals(release.table(300, where={"sex": "F", "age": (2, 5)}, format="arrow"))
    assert set(release.sample(50, where="sex = M")["sex"]) == {"M"}
    assert len(release.sample(7)) == 7
    with pytest.raises(SettingsError, match="has an or"):
        release.table(5, where="sex = F or age in 2..5")
    with pytest.raises(SettingsError, match="no record can satisfy"):
        release.table(5, where="sex = F and sex = M")
    with pytest.raises(DprapError, match="Did you mean"):
        release.table(5, where="sexx = F")


def test_papers_and_comparisons_are_methods(tmp_path: Path) -> None:
    table = example(300, seed=1)
    release = dprap.synthesize(
        table,
        example_schema(),
        epsilon=1.0,
        kway=1,
        method="independent",
        ledger=False,
        progress=False,
    )
    page = release.report(tmp_path / "page.html", language="de")
    assert "<html" in page.read_text(encoding="utf-8")
    papers = release.statement(tmp_path / "papers", title="Staff", curator="An office")
    assert all(path.exists() for path in papers)
    with pytest.raises(SettingsError, match="there is no entry 'titel'"):
        release.statement(tmp_path / "others", titel="Staff")
    found = release.evaluate(table, path=tmp_path / "NOT-PRIVATE.html")
    assert repr(found).startswith("NOT PRIVATE")
    assert 0 < found.errors["synthetic"].max < 1
    compared = (tmp_path / "NOT-PRIVATE.html").read_text(encoding="utf-8")
    assert "NOT PRIVATE" in compared
    assert found.tables is not None
    numbers = [each for each in found.tables.columns if each.kind in {"integer", "number"}]
    assert numbers
    for column in numbers:
        private, published = column.private, column.published
        assert private is not None
        assert published is not None
        assert f"{private.mean:,.6g} → {published.mean:,.6g}" in compared
        assert f"{private.stddev:,.6g} → {published.stddev:,.6g}" in compared
    json.dumps(found.as_plain())
