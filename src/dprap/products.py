"""Matrix products of floats, which warn of wrong numbers and of nothing else.

BLAS libraries may compute with parts of their buffers that nobody has filled, and throw the results
away. The product is right, but what happened to lie in the buffers has set flags of the processor,
and NumPy warns of an invalid value. So a flag is looked into here: only a product that really holds
a number that is not finite is warned of.

Looking takes a few microseconds, as long as a small product. Where many products make one array, it
is that array that is looked into, once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def product(left: Any, right: Any, out: np.ndarray | None = None) -> Any:
    """`left @ right`, written to `out` if that is given.

    Arrays of JAX, which sets no flags, pass too.

    >>> product(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]))
    array([11.])
    """
    if not isinstance(left, np.ndarray):
        return left @ right
    flags: list[str] = []
    with np.errstate(all="call", call=lambda kind, _: flags.append(kind), under="ignore"):
        found = np.matmul(left, right, out=out)
    _look_into(found, flags)
    return found


unchecked_product = np.matmul
"""`product(left, right, out)` without a look at the result: for use in `checked_once` alone."""


@contextmanager
def checked_once(found: np.ndarray) -> Iterator[None]:
    """Look into `found` after many products, and elementwise steps between them, have made it."""
    flags: list[str] = []
    with np.errstate(all="call", call=lambda kind, _: flags.append(kind), under="ignore"):
        yield
    _look_into(found, flags)


def _look_into(found: np.ndarray, flags: list[str]) -> None:
    if flags and not np.isfinite(found).all():
        warnings.warn(
            "a matrix product holds numbers that are not finite", RuntimeWarning, stacklevel=3
        )
