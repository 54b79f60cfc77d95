"""One vocabulary of array shapes, used in annotations everywhere. All of them are NumPy arrays.

Shapes are for readers and type checkers: while the code runs, `Float[np.ndarray, "rows"]` is
`np.ndarray`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import (
        Bool,
        Float,
        Float32,
        Float64,
        Int,
        Int32,
        Int64,
        Integer,
        Num,
        UInt,
        UInt64,
    )
else:

    class _Shaped:
        """An array type with the words of a shape, which importing jaxtyping would read: a tenth of
        `dprap answer`.
        """

        def __class_getitem__(cls, array_and_shape: tuple[type, str]) -> Any:
            return array_and_shape[0]

    Bool = Float = Float32 = Float64 = Int = Int32 = Int64 = Integer = Num = UInt = UInt64 = _Shaped

__all__ = [
    "Answers",
    "Bool",
    "CodeColumn",
    "Counts",
    "Float",
    "Float32",
    "Float64",
    "Int",
    "Int32",
    "Int64",
    "Integer",
    "NarrowCounts",
    "Num",
    "Relaxed",
    "UInt",
    "UInt64",
]

Relaxed: TypeAlias = Float[np.ndarray, "onehot rows"]
"""Relaxed rows, feature-major: column blocks of one-hot coordinates by synthetic rows."""

Answers: TypeAlias = Float[np.ndarray, " queries"]
"""Answers to queries, as counts or as fractions; the name of the variable says which."""

Counts: TypeAlias = Int64[np.ndarray, " cells"]
"""Integer counts of the cells of one marginal, exact or noisy."""

NarrowCounts: TypeAlias = Int32[np.ndarray, " cells"]
"""Exact counts that are small enough to be kept in half the memory."""

CodeColumn: TypeAlias = UInt[np.ndarray, " records"]
"""Codes of one column of an encoded table, in the smallest unsigned type that fits."""
