from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import dprap
from dprap.errors import DprapError
from dprap.queries import Marginal

GENERATOR = np.random.default_rng(0)
TABLE = pa.table({"a": GENERATOR.integers(0, 4, 500), "b": GENERATOR.integers(0, 9, 500)})
OPTIONS = {"epsilon": 1.0, "insecure_noise_seed": 0}


def test_measured_marginals_their_sums_and_the_rest() -> None:
    release = dprap.synthesize(TABLE, {"a": 4, "b": 9}, kway=2, method="gaussian", **OPTIONS)  # type: ignore[arg-type]
    (measured,) = release.measurements
    assert release.expected_stddev(Marginal(("b", "a"))) == measured.stddev_counts / 500
    assert release.expected_stddev(Marginal(("a",))) == pytest.approx(
        measured.stddev_counts * 3 / 500
    )
    with pytest.raises(DprapError):
        release.expected_stddev(Marginal(("nobody",)))
    with pytest.raises(DprapError, match="has groups"):
        release.expected_stddev(Marginal(("a",), ((0, 2),)))


def test_what_was_not_measured_has_the_bound_of_the_certificate_or_none() -> None:
    release = dprap.synthesize(TABLE, {"a": 4, "b": 9}, kway=2, method="independent", **OPTIONS)  # type: ignore[arg-type]
    assert release.certificate is not None
    bound = release.certificate.upper_bound_counts / 500
    assert release.expected_stddev(Marginal(("a", "b"))) == pytest.approx(bound)
    alone = dprap.synthesize(
        TABLE, {"a": 4, "b": 9}, kway=1, method="independent", certificate_share=0.0, **OPTIONS  # type: ignore[arg-type]
    )  # fmt: skip
    assert alone.expected_stddev(Marginal(("a", "b"))) == math.inf
