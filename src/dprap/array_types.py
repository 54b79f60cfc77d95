"""One vocabulary of array shapes, used in annotations everywhere. All of them are NumPy arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int64, UInt

Relaxed: TypeAlias = Float[np.ndarray, "onehot rows"]
"""Relaxed rows, feature-major: column blocks of one-hot coordinates by synthetic rows."""

Answers: TypeAlias = Float[np.ndarray, " queries"]
"""Answers to queries, as counts or as fractions; the name of the variable says which."""

Counts: TypeAlias = Int64[np.ndarray, " cells"]
"""Integer counts of the cells of one marginal, exact or noisy."""

CodeColumn: TypeAlias = UInt[np.ndarray, " records"]
"""Codes of one column of an encoded table, in the smallest unsigned type that fits."""
