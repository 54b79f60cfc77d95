"""Blocks of codes for prefixes: shares add up, and reconciling is least squares."""

import numpy as np

from dprap.accounting import Measurement
from dprap.domain import Domain
from dprap.mechanisms.adaptive.columns import ColumnMarginals, reconciled
from dprap.mechanisms.adaptive.rules import Rules
from dprap.queries import Marginal, Range
from dprap.workload import Workload

DOMAIN = Domain.of({"age": 100, "sex": 2, "income": 50})


def test_only_columns_with_prefixes_have_blocks():
    workload = Workload(
        DOMAIN, (Range.prefixes(("sex", "age"), ("age",)), Marginal(("sex", "income")))
    )
    found = ColumnMarginals.of(workload, (0.5, 0.2, 0.3), Rules())
    assert [str(block) for block in found.blocks] == ["age (10 groups)"]
    assert found.shares[0] == found.shares[3] > 0.25
    assert found.shares[1:3] == (0.2, 0.3)
    plain = ColumnMarginals.of(
        Workload(DOMAIN, (Marginal(("sex", "income")),)), (0.5, 0.2, 0.3), Rules()
    )
    assert plain.blocks == ()
    assert plain.shares == (0.5, 0.2, 0.3)


def test_reconciling_is_least_squares():
    rng = np.random.default_rng(0)
    counts, blocks = rng.normal(100, 10, 10), rng.normal(400, 10, 3).round()
    measured = Measurement(Marginal(("x",), ((0, 4, 8),)), blocks, 3.0, 1.0)
    rows = np.concatenate([np.eye(10) / 2.0, np.repeat(np.eye(3), [4, 4, 2], axis=0).T / 3.0])
    wanted, *_ = np.linalg.lstsq(rows, np.concatenate([counts / 2.0, blocks / 3.0]), rcond=None)
    assert np.allclose(reconciled(counts, 2.0, measured), wanted)
