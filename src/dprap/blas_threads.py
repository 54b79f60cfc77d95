"""Matrix products of a run on one thread, unless the environment asks for more.

The matrices of a fit are small: a few hundred rows. OpenBLAS wakes its threads for each product,
and threads that wait for each other keep processors busy. On a machine with other work to do that
costs many times the products themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_ASKED = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply matrices on one thread meanwhile, unless the environment states a number."""
    if any(os.environ.get(name) for name in _ASKED):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
