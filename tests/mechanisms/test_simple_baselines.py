"""The mechanisms that make no choices: independent, gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.mechanisms.small import DOMAIN, curator_on, exact_fractions, small_codes

from dprap.accounting import Relation
from dprap.errors import SettingsError, WorkloadError
from dprap.mechanisms import gaussian, independent
from dprap.queries import Custom, Marginal, Range, Threshold
from dprap.relaxed.marginals import answers
from dprap.relaxed.simplex import project_simplex
from dprap.workload import Workload, all_kway

RELATIONS = [Relation.REPLACE, Relation.ADD_REMOVE]


@settings(deadline=None)
@given(
    arrays(np.float64, st.integers(1, 8), elements=st.floats(-3, 3)),
    # the last two are lost in the last digit of values
    st.sampled_from([0.5, 1.0, 7.0, 1e-17, 1e-300]),
)
def test_projection_meets_the_conditions_of_optimality(values: np.ndarray, total: float) -> None:
    projected = project_simplex(values, total)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(total, rel=1e-6, abs=0)
    shift = (values - projected)[projected > 0]
    # what stays positive moved by the same amount
    assert np.ptp(shift) == pytest.approx(0, abs=1e-9)
    # what became zero would not be positive
    assert (values[projected == 0] <= shift.max() + 1e-9).all()


@pytest.mark.parametrize("relation", RELATIONS)
def test_independent_reproduces_one_way_marginals(relation: Relation) -> None:
    codes = small_codes()
    curator = curator_on(codes, epsilon=20.0, relation=relation)
    result = independent.run(
        curator, all_kway(DOMAIN, 2), independent.IndependentSettings(), seed=0
    )
    assert result.relaxed is not None
    assert result.relaxed.rows == 1
    for name in DOMAIN.names:
        assert np.asarray(result.relaxed.block(name))[:, 0] == pytest.approx(
            exact_fractions(codes, (name,)), abs=0.02
        )
    (pair,) = answers(result.relaxed, [Marginal(("a", "b"))])
    product = np.outer(exact_fractions(codes, ("a",)), exact_fractions(codes, ("b",))).ravel()
    assert pair == pytest.approx(product, abs=0.02)
    assert curator.remaining == 0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("per", ["marginal", "query"])
def test_gaussian_answers_every_family(relation: Relation, per: str) -> None:
    codes = small_codes()
    families = (Marginal(("a", "b")), Range.prefixes(("a", "b"), ("b",)), Threshold(("b", "c"), 1))
    curator = curator_on(codes, epsilon=20.0, relation=relation)
    settings = gaussian.GaussianSettings(per=per)  # type: ignore[arg-type]
    result = gaussian.run(curator, Workload(DOMAIN, families), settings, seed=0)
    assert result.answers is not None
    for family, got in zip(families, result.answers, strict=True):
        table = exact_fractions(codes, family.columns).reshape(DOMAIN.shape_of(family.columns))
        assert got == pytest.approx(family.answers(table).ravel(), abs=0.03)
    assert result.answers[0].sum() == pytest.approx(1)
    assert curator.remaining == 0
    # Marginals with the same columns are measured once.
    measured = [str(m.marginal) for m in result.measurements]
    total = ["total"] if relation is Relation.ADD_REMOVE else []
    assert measured == total + (["a×b", "b×c"] if per == "marginal" else [])


def test_gaussian_refuses_what_it_cannot_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="per must be"):
        gaussian.GaussianSettings(per="cell")  # type: ignore[arg-type]
    workload = Workload(DOMAIN, (Custom("first", ("a",), lambda row: row["a"][0]),))
    (first,) = gaussian.run(
        curator_on(small_codes(), epsilon=10.0), workload, gaussian.GaussianSettings(), seed=0
    ).answers
    assert abs(float(first[0]) - float(np.mean(small_codes().column("a") == 0))) < 0.05
    monkeypatch.setattr("dprap.queries.custom.MAX_TABLE_CELLS", 1)
    with pytest.raises(WorkloadError, match="custom"):
        gaussian.run(curator_on(small_codes(50)), workload, gaussian.GaussianSettings(), seed=0)


@pytest.mark.parametrize("per", ["marginal", "query"])
def test_gaussian_refuses_what_could_not_be_read_again_before_it_spends(
    per: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, settings = all_kway(DOMAIN, 2), gaussian.GaussianSettings(per=per)  # type: ignore[arg-type]
    curator = curator_on(small_codes(), epsilon=1.0, relation=Relation.ADD_REMOVE)
    monkeypatch.setattr(gaussian, "MOST_COUNTS", workload.queries - 1)
    with pytest.raises(WorkloadError, match="holds at most"):
        gaussian.run(curator, workload, settings, seed=0)
    assert curator.spent == 0
    with pytest.raises(WorkloadError, match="holds at most"):
        gaussian.outline(
            workload, settings, budget_rho=curator.rho, neighbors=curator.neighbors, rows=None
        )
