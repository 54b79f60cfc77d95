"""What people hand to a release in Python does what was meant, or is refused in a line that says
what to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.release.made import made_release

import dprap
from dprap.errors import DprapError, NotFittedError
from dprap.release import Release


@pytest.fixture(scope="module")
def release() -> Release:
    return made_release()


def two_columns(release: Release) -> tuple[str, str]:
    first, second, *_ = release.schema.columns
    return first, second


def test_marginals_are_named_in_any_way(release: Release) -> None:
    first, second = two_columns(release)
    wanted = release.shares([dprap.Marginal((first, second))])[0]
    for named in ((first, second), f"{first},{second}", f"{first} × {second}"):
        np.testing.assert_array_equal(
            release.answer(named)["share"].to_numpy(), wanted.astype(float)
        )
    np.testing.assert_array_equal(release.shares([(first, second)])[0], wanted)
    assert [len(each) for each in release.shares([first, second])] == [
        release.schema.domain.size(first),
        release.schema.domain.size(second),
    ]
    assert release.expected_stddev(first) == release.expected_stddev(dprap.Marginal((first,)))
    assert repr(release.ask("", by=None)) == repr(release.ask(""))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.answer(f"{two_columns(r)[0]}x"), "Did you mean"),
        (
            lambda r: r.answer(f"{two_columns(r)[0]} = 1"),
            "is a question, not a marginal. Ask it with `ask`",
        ),
        (lambda r: r.answer(None), "a marginal is named by its columns"),
        (lambda r: r.shares(5), "a marginal is named by its columns"),
        (lambda r: r.ask(5), "a question is text"),
        (lambda r: r.ask("", by=5), "by must be the name of a column"),
        (lambda r: r.ask("", level="0.95"), "must lie between 0.5 and 0.99"),
        (lambda r: r.sample("10"), "Write it without quotes"),
        (lambda r: r.sample(2.5), "rows must be a whole number, not 2.5"),
        (lambda r: r.sample(num_rows=True), "rows must be a whole number, not True"),
        (lambda r: r.sample(0), "rows must be at least 1; it is 0"),
        (lambda r: r.sample(10**12), "at most 1,000,000,000 rows"),
        (lambda r: r.table(5, seed=-1), "seed must be at least 0"),
        (lambda r: r.table(5, seed="x"), "seed must be a whole number"),
        (lambda r: r.table(5, where=["sex"]), "where must be text"),
        (lambda r: list(r.tables(m=1)), "m must be at least 2"),
        (lambda r: list(r.tables(m=2, columns=["nothing"])), "is not in the schema"),
        (lambda r: r.statistic_interval("mean age"), "the statistic is a function"),
        (lambda r: r.statistic_interval(lambda _: None), "must return a number, not NoneType"),
        (lambda r: r.statistic_interval(lambda _: "3"), "must return a number, not str"),
        (lambda r: r.statistic_interval(lambda _: np.ones(2)), "must return a number, not ndarray"),
        (lambda r: r.ask("", population="no"), "population must be true or false, not str"),
        (lambda r: r.answer("sex", population="no"), "population must be true or false, not str"),
        (lambda r: r.interval("sex", population=0), "population must be true or false, not int"),
        (
            lambda r: r.evaluate(r.table(format="arrow"), engin="memory"),
            "there is no option 'engin'. Did you mean engine",
        ),
        (
            lambda _: dprap.load("no-such-folder"),
            "no-such-folder is not a release: there is no such folder",
        ),
        (lambda _: dprap.load(__file__), "it is a file, and a release is a folder"),
        (lambda _: dprap.combine("ab", "cd"), "estimates and variances are numbers"),
        (lambda _: dprap.combine([[1, 2], [1]], [[1, 1], [1, 1]]), "as many from every table"),
        (lambda r: dprap.marginals(r.schema, "2"), "k must be a whole number"),
        (lambda r: dprap.Workload(r.schema, ["age"]), "schema.domain"),
        (lambda _: dprap.Neighbors("both"), "neighbours are replace or add-remove"),
        (
            lambda r: dprap.synthesize(r.schema, r.table(), epsilon=1.0),
            "The table comes first, then the schema",
        ),
        (
            lambda r: dprap.synthesize(r.table(), {"a": {"type": "boolean"}}, epsilon=1.0),
            'under the key "columns"',
        ),
        (
            lambda r: dprap.synthesize(r.table(), r.schema, epsilon="1"),
            "Write it without quotes: epsilon=1.",
        ),
        (
            lambda r: dprap.synthesize(r.table(), r.schema, epsilon=1.0, method="Adaptiv"),
            "Did you mean 'adaptive'?",
        ),
        (
            lambda r: dprap.synthesize(r.table(), r.schema, epsilon=1.0, workload="age,sex"),
            "marginals are listed",
        ),
        (
            lambda r: dprap.plan(r.schema, epsilon=1.0, records="100"),
            "records must be a whole number, not '100'",
        ),
    ],
)
def test_wrong_values_are_refused_in_a_line(
    release: Release, call: Callable[[Release], Any], words: str
) -> None:
    with pytest.raises(DprapError) as refused:
        call(release)
    assert words in str(refused.value)
    assert "--" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_schema_may_be_the_text_of_a_file() -> None:
    text = "columns:\n  a: {type: boolean}\n"
    assert dprap.marginals(text, 1).domain.names == ("a",)
    with pytest.raises(DprapError, match="the text of the schema"):
        dprap.marginals("columns:\n  a: [", 1)


def test_a_synthesizer_has_its_parameters_as_attributes() -> None:
    model = dprap.Synthesizer({"a": 2}, epsilon=1.0, kway=1)
    assert (model.epsilon, model.kway) == (1.0, 1)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = model.release_
    assert not hasattr(model, "release_")
    assert not hasattr(model, "nothing")
