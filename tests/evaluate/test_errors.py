from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, exact_fractions, small_codes

from dprap.errors import WorkloadError
from dprap.evaluate import evaluate, exact_answers, family_errors, published_answers
from dprap.mechanisms.result import MechanismResult
from dprap.queries import Custom, Marginal, Threshold
from dprap.relaxed.rows import RelaxedDataset, uniform_weights
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway


def onehot(codes):  # a relaxed data set that is the records
    rows = np.zeros((DOMAIN.onehot_size, codes.rows), np.float32)
    for name in DOMAIN.names:
        rows[DOMAIN.offset(name) + codes.column(name).astype(int), np.arange(codes.rows)] = 1
    return RelaxedDataset(DOMAIN, rows, uniform_weights(codes.rows))


def test_metrics_on_numbers_done_by_hand() -> None:
    codes = small_codes(100)
    workload = Workload(DOMAIN, (Marginal(("a",)), Marginal(("d",))))
    a, d = (exact_fractions(codes, (name,)) for name in "ad")
    found = evaluate(
        MemorySource(codes), workload, [a + np.array([0.1, -0.1]), d + np.array([0.3, 0.0])]
    )
    assert found.queries == 4
    assert found.max == pytest.approx(0.3)
    assert found.mean == pytest.approx(0.5 / 4)
    assert found.rmse == pytest.approx(np.sqrt(0.11 / 4))
    assert found.tv == pytest.approx((0.1 + 0.15) / 2)


def test_every_published_form_gives_the_same_errors() -> None:
    private, synthetic = small_codes(300, seed=0), small_codes(200, seed=1)
    workload = Workload(
        DOMAIN,
        (
            *all_kway(DOMAIN, 2).families,
            Threshold(("a", "b", "c"), 2),
            Custom("both", ("a", "d"), lambda row: row["a"][1] * row["d"][1]),
        ),
    )
    source = MemorySource(private)
    from_codes = evaluate(source, workload, synthetic)
    relaxed = onehot(synthetic)
    for published in (
        relaxed,
        MechanismResult(relaxed, None, ()),
        list(exact_answers(MemorySource(synthetic), workload.families)),
    ):
        found = evaluate(source, workload, published)
        assert found.max == pytest.approx(from_codes.max, abs=1e-6)
        assert found.tv == pytest.approx(from_codes.tv, abs=1e-6)
        assert found.rmse == pytest.approx(from_codes.rmse, abs=1e-6)
    assert evaluate(source, workload, private).max == 0


def test_tv_is_for_marginals_only() -> None:
    codes = small_codes(50)
    workload = Workload(DOMAIN, (Threshold(("a", "b"), 1),))
    assert evaluate(MemorySource(codes), workload, codes).tv is None


def test_answers_that_do_not_fit_are_refused() -> None:
    family = Marginal(("a",))
    with pytest.raises(WorkloadError, match="2 queries but 3"):
        family_errors([family], [np.zeros(2)], [np.zeros(3)])
    with pytest.raises(WorkloadError, match="0 arrays"):
        list(published_answers([], [family]))
    with pytest.raises(WorkloadError, match="neither"):
        list(published_answers(MechanismResult(None, None, ()), [family]))
