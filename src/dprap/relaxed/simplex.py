"""The nearest distribution to numbers that are none, such as noisy shares."""

from __future__ import annotations

import numpy as np

from dprap.array_types import Float, Num


def project_simplex(
    values: Num[np.ndarray, " cells"], total: float = 1.0
) -> Float[np.ndarray, " cells"]:
    """The nearest point, in Euclidean distance, with non-negative entries that sum to `total`.

    The result is max(x − τ, 0) with τ such that the sum is `total`.

    Args:
        values: Any real numbers, at least one.
        total: What the entries of the result add up to; it must be positive.

    Returns:
        The projection, in float64.

    >>> project_simplex(np.array([0.9, 0.7, -0.3])).round(12).tolist()
    [0.6, 0.4, 0.0]

    """
    values = np.asarray(values, dtype=np.float64)
    # Distances from the maximum, so that a total far below the values' last digit is not lost in
    # them: the maximum itself always stays positive.
    below = values - values.max()
    # What lies `total` or more below the maximum cannot stay positive, so that most cells of a
    # noisy marginal need no sorting.
    descending = np.sort(below[below > -total])[::-1]
    excess = np.cumsum(descending) - total
    kept = np.flatnonzero(descending * np.arange(1, len(descending) + 1) > excess)[-1]
    projected: Float[np.ndarray, " cells"] = np.maximum(below - excess[kept] / (kept + 1), 0.0)
    return projected
