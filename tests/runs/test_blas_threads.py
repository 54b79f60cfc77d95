"""Matrix products of a run keep to one thread unless somebody asked for more."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dprap.blas_threads import one_blas_thread

ASKED = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS")


def blas_threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_products_of_a_run_are_made_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ASKED:
        monkeypatch.delenv(name, raising=False)
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("name", ASKED)
def test_what_the_environment_asks_for_is_left(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "3")
    before = blas_threads()
    with one_blas_thread():
        assert blas_threads() == before
