r"""Which marginals to measure, and how well: the best strategy over weighted marginals (HDMM's OPT_M).

Measure marginal S with a share \(s_S\) of the budget, so that its cells have variance \(\sigma^2/s_S\), and infer by least squares. Split
the space of tables into residual spaces, one for each subset R of columns: tables that depend on the columns of R and sum to
zero along each of them. The map from a table to its marginal over S, followed by its transpose, acts on the space R as the number
\(\prod_{i \notin S} n_i\) if \(R \subseteq S\) and as zero otherwise. So least squares decomposes, and the total variance over the
workload's cells is

\[ \sigma^2 \sum_R d_R \frac{\omega_R}{\lambda_R(s)}, \qquad \lambda_R(s) = \sum_{S \supseteq R} \frac{s_S}{n_S}, \quad
   \omega_R = \sum_{W \supseteq R} \frac{w_W}{n_W}, \quad d_R = \prod_{i \in R} (n_i - 1), \]

with \(n_S\) the number of cells of S (all numbers divided by the domain's size, which cancels). This is convex in the shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dprap.domain import Domain
from dprap.queries import Marginal
from dprap.workload import Workload


@dataclass(frozen=True)
class Strategy:
    """Marginals with their shares of the budget, and the total variance they give for a budget of noise variance one."""

    marginals: tuple[Marginal, ...]
    shares: tuple[float, ...]
    total_variance: float


def best_strategy(
    workload: Workload, *, total_is_known: bool, steps: int = 2000, smallest_share: float = 1e-3
) -> Strategy:
    """Minimise the total variance over shares of the marginals in the workload's downward closure.

    Multiplicative updates: at the optimum every marginal in use has the same marginal gain, so shares grow by the square root of
    their gain until they do. Marginals with less than `smallest_share` of an equal share are dropped at the end. A known number
    of records needs no measuring: its residual space (R empty) then has no variance.
    """
    domain = workload.domain
    candidates = workload.closure(smallest=0)
    below = residuals_below(candidates)
    cells = np.array([float(marginal.size(domain)) for marginal in candidates])
    dimensions = np.array([float(np.prod([n - 1.0 for n in domain.shape_of(m.columns)])) for m in candidates])
    if total_is_known:
        dimensions[0] = 0.0  # the closure starts with the empty marginal
    target = dict.fromkeys(candidates, 0.0)
    for family, weight in zip(workload.families, workload.weights, strict=True):
        target[_ordered(domain, family.columns)] += weight
    omega = below.T @ (np.array([target[marginal] for marginal in candidates]) / cells)
    shares = np.full(len(candidates), 1 / len(candidates))
    for _ in range(steps):
        information = below.T @ (shares / cells)
        gain = (below @ (dimensions * omega / information**2)) / cells
        updated = shares * np.sqrt(gain)
        updated /= updated.sum()
        moved = float(np.abs(updated - shares).sum())
        shares = updated
        if moved < 1e-9:
            break
    kept = shares > smallest_share / len(candidates)
    shares = np.where(kept, shares, 0.0) / shares[kept].sum()
    information = below.T @ (shares / cells)
    needed = dimensions * omega > 0
    variance = float((dimensions[needed] * omega[needed] / information[needed]).sum())
    chosen = np.flatnonzero(kept)
    return Strategy(
        tuple(candidates[place] for place in chosen), tuple(float(shares[place]) for place in chosen), variance
    )


def residuals_below(candidates: Sequence[Marginal]) -> Float[np.ndarray, "marginals residuals"]:
    """Which candidates' residual spaces each candidate informs: 1 where the column's set is a subset of the row's."""
    sets = [frozenset(marginal.columns) for marginal in candidates]
    return np.array([[float(residual <= outer) for residual in sets] for outer in sets])


def _ordered(domain: Domain, columns: Sequence[str]) -> Marginal:
    return Marginal(tuple(sorted(columns, key=domain.position)))
