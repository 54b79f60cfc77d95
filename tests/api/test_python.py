from __future__ import annotations

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
